import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { ExpiryIndex, type ExpiringItem } from "../../src/domain/expiry-index.ts";
import { instant } from "../../src/domain/time.ts";

const ending = (end: number, slot: number): ExpiringItem => ({ end: instant(end), slot });
const slots = (items: readonly ExpiringItem[]): number[] => items.map(({ slot }) => slot);
const filled = (...items: readonly ExpiringItem[]): ExpiryIndex<ExpiringItem> => {
  const index = new ExpiryIndex<ExpiringItem>();
  for (const item of items) index.add(item);
  return index;
};

describe("the expiry index", () => {
  test("empty, has nothing ended and nothing to come", () => {
    const index = filled();
    expect(index.countEnded(instant(0))).toBe(0);
    expect(index.ended(instant(0), 9)).toEqual([]);
    expect(index.nthEnd(1, instant(0))).toBeNull();
  });

  test("counts what has ended also where the next chunk begins with what has not", () => {
    const items = Array.from({ length: 2_000 }, (_, i) => ending(i, i));
    const index = filled(...items);
    // Wherever a chunk ends, some of these fall right behind it.
    for (const { end } of items) expect(index.countEnded(end)).toBe(end + 1);
  });

  test("counts as ended what ends now, and not what ends a millisecond later", () => {
    const index = filled(ending(10, 1), ending(11, 2));
    expect(index.countEnded(instant(9))).toBe(0);
    expect(index.countEnded(instant(10))).toBe(1);
    expect(slots(index.ended(instant(10), 9))).toEqual([1]);
    expect(index.nthEnd(1, instant(9))).toBe(instant(10));
    expect(index.nthEnd(1, instant(10))).toBe(instant(11));
    expect(index.nthEnd(1, instant(11))).toBeNull();
  });

  test("gives the longest gone first, ties by slot, and no more than asked for", () => {
    const index = filled(ending(5, 3), ending(5, 2), ending(4, 9), ending(6, 1));
    expect(slots(index.ended(instant(9), 9))).toEqual([9, 2, 3, 1]);
    expect(slots(index.ended(instant(9), 2))).toEqual([9, 2]);
    expect(index.ended(instant(9), 0)).toEqual([]);
  });

  test("counts thousands that end at one instant, and at that instant", () => {
    const index = filled(...Array.from({ length: 3_000 }, (_, slot) => ending(10, slot)));
    expect(index.countEnded(instant(9))).toBe(0);
    expect(index.countEnded(instant(10))).toBe(3_000);
    expect(index.ended(instant(10), Infinity)).toHaveLength(3_000);
    expect(index.nthEnd(1, instant(9))).toBe(instant(10));
    expect(index.nthEnd(1, instant(10))).toBeNull();
  });

  test("throws when told to remove what is not inside", () => {
    const inside = ending(5, 1);
    const index = filled(inside);
    expect(() => index.remove(ending(5, 2))).toThrow("not where it belongs");
    expect(() => index.remove(ending(5, 1))).toThrow("not where it belongs");
    expect(() => index.remove(ending(9, 1))).toThrow("not where it belongs");
    index.remove(inside);
    expect(() => index.remove(inside)).toThrow("not where it belongs");
  });
});

/** The same, as slow and as plain as it can be. */
class Model {
  #items: ExpiringItem[] = [];

  add(items: readonly ExpiringItem[]): void {
    this.#items.push(...items);
    this.#items.sort((a, b) => a.end - b.end || a.slot - b.slot);
  }

  /** Removes a stretch and says what it was. */
  cut(from: number, count: number): ExpiringItem[] {
    return this.#items.splice(Math.floor(from * this.#items.length), count);
  }

  ended(now: number): ExpiringItem[] {
    return this.#items.filter(({ end }) => end <= now);
  }

  nthEnd(n: number, now: number): ExpiringItem["end"] | null {
    return this.#items.filter(({ end }) => end > now)[n - 1]?.end ?? null;
  }
}

const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const SPAN = 400;

/** Enough at once to split and to empty chunks, and few enough ends that many fall together. */
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ add: fc.integer({ min: 1, max: 900 }), stride: fc.nat(SPAN) }),
  },
  { weight: 2, arbitrary: fc.record({ cut: fc.integer({ min: 1, max: 1_200 }), from: share }) },
);

test("the expiry index answers like a sorted list, whatever comes and goes", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), fc.nat(SPAN), (steps, now) => {
      const index = filled();
      const model = new Model();
      let slot = 0;
      for (const todo of steps) {
        if ("cut" in todo) for (const item of model.cut(todo.from, todo.cut)) index.remove(item);
        else {
          const items = Array.from({ length: todo.add }, (_, i) =>
            ending((i * todo.stride) % SPAN, (slot += 1)),
          );
          for (const item of items) index.add(item);
          model.add(items);
        }
        for (const at of [now, 0, SPAN]) {
          expect(index.countEnded(instant(at))).toBe(model.ended(at).length);
          for (const n of [1, 2, 600, 1_700]) {
            expect(index.nthEnd(n, instant(at))).toBe(model.nthEnd(n, at));
          }
        }
        expect(slots(index.ended(instant(now), 700))).toEqual(
          slots(model.ended(now).slice(0, 700)),
        );
        expect(slots(index.ended(instant(SPAN), Infinity))).toEqual(slots(model.ended(SPAN)));
      }
    }),
    { numRuns: 60 },
  );
});
