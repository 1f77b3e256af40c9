import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { LargeMap } from "../../../src/domain/index/large-map.ts";
import { NO_ROW, RowTable } from "../../../src/domain/index/row-table.ts";
import { hashString } from "../../../src/domain/index/string-hash.ts";

interface Entry {
  readonly key: string;
  readonly value: number;
}

const makeMap = (): LargeMap<Entry> => new LargeMap<Entry>(({ key }) => key);

describe("LargeMap", () => {
  test("sets, gets, counts and deletes values like a map", () => {
    const map = makeMap();
    expect([map.size, map.get("ada")]).toEqual([0, undefined]);
    for (const key of ["ada", "", "\u{1f600}"]) map.set({ key, value: 1 });
    map.set({ key: "ada", value: 2 });
    expect([map.size, map.get("ada")?.value, map.get("")?.value]).toEqual([3, 2, 1]);
    expect(map.get("\u{1f600}")).toEqual({ key: "\u{1f600}", value: 1 });
    for (const key of ["ada", "ada", "bob"]) map.delete(key);
    expect([map.size, map.get("ada"), map.get("toString")]).toEqual([2, undefined, undefined]);
  });

  test("adds a value only if there is none with the same key, and returns that one", () => {
    const map = makeMap();
    const first = { key: "ada", value: 1 };
    const second = { key: "ada", value: 2 };
    expect([map.addIfAbsent(first), map.addIfAbsent(second)]).toEqual([undefined, first]);
    expect([map.size, map.get("ada")]).toEqual([1, first]);
  });

  test("has the same values as a map after any changes", () => {
    const step = fc.record({
      first: fc.nat(3_000),
      count: fc.nat(2_000),
      isDeletion: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const map = makeMap();
        const model = new Map<string, Entry>();
        for (const [value, { first, count, isDeletion }] of steps.entries()) {
          for (let number = first; number < first + count; number += 1) {
            const entry = { key: `user-${number}`, value };
            if (isDeletion) map.delete(entry.key);
            else map.set(entry);
            if (isDeletion) model.delete(entry.key);
            else model.set(entry.key, entry);
          }
        }
        expect(map.size).toBe(model.size);
        for (let number = 0; number < 5_001; number += 1)
          expect(map.get(`user-${number}`)).toBe(model.get(`user-${number}`));
      }),
      { numRuns: 60 },
    );
  });
});

describe("RowTable", () => {
  const listRows = (table: RowTable, hash: number): number[] => {
    const rows: number[] = [];
    let place = table.firstPlace(hash);
    for (; table.rowAt(place) !== NO_ROW; place = table.nextPlace(place))
      if (table.hashAt(place) === hash) rows.push(table.rowAt(place));
    return rows.toSorted((a, b) => a - b);
  };

  const findPlace = (table: RowTable, hash: number, row: number): number => {
    let place = table.firstPlace(hash);
    while (table.rowAt(place) !== row) place = table.nextPlace(place);
    return place;
  };

  test("finds all rows of a hash after any changes, at equal and at neighboring places", () => {
    // Around zero: the last places of the table and its first ones are neighbors.
    const hash = fc.integer({ min: -12, max: 12 });
    const steps = fc.array(fc.record({ hash, isRemoval: fc.boolean() }), { maxLength: 200 });
    fc.assert(
      fc.property(steps, (steps) => {
        const table = new RowTable();
        const model = new Map<number, number[]>();
        for (const [row, { hash, isRemoval }] of steps.entries()) {
          const rows = model.get(hash) ?? [];
          const removed = isRemoval ? rows.shift() : undefined;
          if (removed !== undefined) table.removeAt(findPlace(table, hash, removed));
          if (!isRemoval) table.add(hash, row);
          model.set(hash, isRemoval ? rows : [...rows, row]);
        }
        for (let hash = -12; hash <= 12; hash += 1)
          expect(listRows(table, hash)).toEqual(model.get(hash) ?? []);
      }),
      { numRuns: 500 },
    );
  });
});

describe("hashString", () => {
  test.each([
    ["", 0x5814c896],
    ["\u0100", 0xbc4b0e30],
    ["\u0100\u0302", 0x7e059ea6],
    ["\u0100\u0302\u0504", 0xa0080b65],
    ["\u0100\u0302\u0504\u0706\u0908", 0xe4fa32cf],
  ])("is HalfSipHash-1-3, by the published values (%j)", (text, expected) => {
    expect(hashString(text, 0x03020100, 0x07060504) >>> 0).toBe(expected);
  });

  test("gives another hash in another process", () => {
    const path = join(import.meta.dir, "../../../src/domain/index/string-hash.ts");
    const program = `console.log((await import(${JSON.stringify(path)})).hashString("ada"))`;
    const { stdout } = Bun.spawnSync([process.execPath, "-e", program]);
    expect(Number(stdout.toString())).not.toBe(hashString("ada"));
    expect(stdout.toString()).toMatch(/^-?\d+\n$/);
  });
});
