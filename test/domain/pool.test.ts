import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { SlotPool, type SlotHolder } from "../../src/domain/pool.ts";
import { ShardedMap } from "../../src/domain/sharded-map.ts";
import { instant } from "../../src/domain/time.ts";

const held = (user: string, slot: number, end = slot): SlotHolder => ({
  user,
  slot,
  end: instant(end),
});

describe("a pool", () => {
  test("knows its holders by user, by slot and by their end", () => {
    const pool = new SlotPool<SlotHolder>();
    const [ada, bob, eve] = [held("ada", 1, 30), held("bob", 2, 20), held("eve", 5, 10)];
    for (const one of [bob, eve, ada]) pool.add(one);
    expect(pool.size).toBe(3);
    expect(pool.get("bob")).toBe(bob);
    expect([...pool.inSlotOrder()]).toEqual([ada, bob, eve]);
    expect([...pool.inSlotOrder(1)]).toEqual([bob, eve]);
    expect([...pool.inSlotOrder(2)]).toEqual([eve]);
    expect([...pool.inSlotOrder(5)]).toEqual([]);
    expect(pool.expiryIndex.ended(instant(20), 9)).toEqual([eve, bob]);
  });

  test("lends one slot to one user", () => {
    const pool = new SlotPool<SlotHolder>();
    pool.add(held("ada", 1));
    expect(() => pool.add(held("ada", 2))).toThrow("twice");
    expect([pool.size, ...pool.inSlotOrder()]).toEqual([1, held("ada", 1)]);
  });

  test("removes nobody who is not there", () => {
    const pool = new SlotPool<SlotHolder>();
    pool.add(held("ada", 1));
    expect(() => pool.remove(held("ada", 1))).toThrow("not where it belongs");
    expect(pool.size).toBe(1);
  });

  test("holds what a list of its holders would, whoever comes and goes", () => {
    const step = fc.record({ who: fc.nat(3_000), until: fc.nat(500), many: fc.nat(900) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const pool = new SlotPool<SlotHolder>();
        const model = new Map<string, SlotHolder>();
        let slot = 0;
        for (const { who, until, many } of steps) {
          for (let user = who; user < who + many; user += 1) {
            const name = `user-${user}`;
            const there = model.get(name);
            if (there === undefined) {
              const fresh = held(name, (slot += 1), until);
              pool.add(fresh);
              model.set(name, fresh);
            } else if ((user + until) % 3 === 0) {
              pool.remove(there);
              model.delete(name);
            } else pool.changeEnd(there, instant(until + user));
          }
        }
        const all = [...model.values()].toSorted((a, b) => a.slot - b.slot);
        expect(pool.size).toBe(all.length);
        expect([...pool.inSlotOrder()]).toEqual(all);
        expect([...pool.inSlotOrder(slot >> 1)]).toEqual(all.filter((one) => one.slot > slot >> 1));
        expect(pool.expiryIndex.countEnded(instant(600))).toBe(
          all.filter(({ end }) => end <= 600).length,
        );
        for (const [name, one] of model) expect(pool.get(name)).toBe(one);
      }),
      { numRuns: 60 },
    );
  });
});

describe("a map in shards", () => {
  test("is a map", () => {
    const map = new ShardedMap<number>();
    expect([map.size, map.get("ada")]).toEqual([0, undefined]);
    map.set("ada", 1);
    map.set("ada", 2);
    map.set("", 3);
    map.set("\u{1f600}", 4);
    expect([map.size, map.get("ada"), map.get(""), map.get("\u{1f600}")]).toEqual([3, 2, 3, 4]);
    map.delete("ada");
    map.delete("ada");
    map.delete("bob");
    expect([map.size, map.get("ada"), map.get("toString")]).toEqual([2, undefined, undefined]);
  });
});
