import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { ExpiryIndex, type ExpiringItem } from "../../../src/domain/index/expiry-index.ts";
import { instant } from "../../../src/domain/time.ts";

const itemEnding = (end: number, slot: number): ExpiringItem => ({ end: instant(end), slot });
const slots = (items: readonly ExpiringItem[]): number[] => items.map(({ slot }) => slot);
const indexOf = (...items: readonly ExpiringItem[]): ExpiryIndex<ExpiringItem> => {
  const index = new ExpiryIndex<ExpiringItem>();
  for (const item of items) index.add(item);
  return index;
};

describe("ExpiryIndex", () => {
  test("has no ended item and no next end when it is empty", () => {
    const index = indexOf();
    expect(index.countEnded(instant(0))).toBe(0);
    expect(index.ended(instant(0), 9)).toEqual([]);
    expect(index.nthEnd(1, instant(0))).toBeNull();
  });

  test("counts ended items right where one chunk ends and the next begins", () => {
    const items = Array.from({ length: 2_000 }, (_, i) => itemEnding(i, i));
    const index = indexOf(...items);
    // Wherever a chunk ends, some of these instants fall right after it.
    for (const { end } of items) expect(index.countEnded(end)).toBe(end + 1);
  });

  test("counts an item as ended at its end, and not a millisecond before", () => {
    const index = indexOf(itemEnding(10, 1), itemEnding(11, 2));
    expect(index.countEnded(instant(9))).toBe(0);
    expect(index.countEnded(instant(10))).toBe(1);
    expect(slots(index.ended(instant(10), 9))).toEqual([1]);
    expect(index.nthEnd(1, instant(9))).toBe(instant(10));
    expect(index.nthEnd(1, instant(10))).toBe(instant(11));
    expect(index.nthEnd(1, instant(11))).toBeNull();
  });

  test("lists the earliest ends first, equal ends by slot, up to the limit", () => {
    const index = indexOf(itemEnding(5, 3), itemEnding(5, 2), itemEnding(4, 9), itemEnding(6, 1));
    expect(slots(index.ended(instant(9), 9))).toEqual([9, 2, 3, 1]);
    expect(slots(index.ended(instant(9), 2))).toEqual([9, 2]);
    expect(index.ended(instant(9), 0)).toEqual([]);
  });

  test("counts thousands of items that end at the same instant", () => {
    const index = indexOf(...Array.from({ length: 3_000 }, (_, slot) => itemEnding(10, slot)));
    expect(index.countEnded(instant(9))).toBe(0);
    expect(index.countEnded(instant(10))).toBe(3_000);
    expect(index.ended(instant(10), Infinity)).toHaveLength(3_000);
    expect(index.nthEnd(1, instant(9))).toBe(instant(10));
    expect(index.nthEnd(1, instant(10))).toBeNull();
  });

  test("samples at even distances what has not ended, or all of it if that is less", () => {
    const index = indexOf(...Array.from({ length: 3_000 }, (_, i) => itemEnding(i, i)));
    expect(slots(index.sample(9_000, instant(2_989)))).toEqual(
      Array.from({ length: 10 }, (_, i) => 2_990 + i),
    );
    const sampled = slots(index.sample(100, instant(999)));
    expect(sampled).toHaveLength(100);
    expect(sampled).toEqual(Array.from({ length: 100 }, (_, i) => 1_010 + 20 * i));
    expect(index.sample(5, instant(3_000))).toEqual([]);
  });

  test("throws when an item to remove is not in the index", () => {
    const item = itemEnding(5, 1);
    const index = indexOf(item);
    expect(() => index.remove(itemEnding(5, 2))).toThrow("not in the list");
    expect(() => index.remove(itemEnding(5, 1))).toThrow("not in the list");
    expect(() => index.remove(itemEnding(9, 1))).toThrow("not in the list");
    index.remove(item);
    expect(() => index.remove(item)).toThrow("not in the list");
  });
});

/** The same answers from a sorted list, slow and simple. */
class SortedListModel {
  #items: ExpiringItem[] = [];

  add(items: readonly ExpiringItem[]): void {
    this.#items.push(...items);
    this.#items.sort((a, b) => a.end - b.end || a.slot - b.slot);
  }

  /** Removes items and returns them; `from` is a fraction of the list. */
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

const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const TIME_RANGE = 400;

/**
 * Adds enough at once to split and empty chunks, with so few different ends that many are equal.
 */
const stepArbitrary = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ add: fc.integer({ min: 1, max: 900 }), stride: fc.nat(TIME_RANGE) }),
  },
  { weight: 2, arbitrary: fc.record({ cut: fc.integer({ min: 1, max: 1_200 }), from: fraction }) },
);

test("ExpiryIndex answers like a sorted list after any additions and removals", () => {
  fc.assert(
    fc.property(fc.array(stepArbitrary, { maxLength: 12 }), fc.nat(TIME_RANGE), (steps, now) => {
      const index = indexOf();
      const model = new SortedListModel();
      let slot = 0;
      for (const step of steps) {
        if ("cut" in step) for (const item of model.cut(step.from, step.cut)) index.remove(item);
        else {
          const items = Array.from({ length: step.add }, (_, i) =>
            itemEnding((i * step.stride) % TIME_RANGE, (slot += 1)),
          );
          for (const item of items) index.add(item);
          model.add(items);
        }
        for (const at of [now, 0, TIME_RANGE]) {
          expect(index.countEnded(instant(at))).toBe(model.ended(at).length);
          for (const n of [1, 2, 600, 1_700]) {
            expect(index.nthEnd(n, instant(at))).toBe(model.nthEnd(n, at));
          }
        }
        expect(slots(index.ended(instant(now), 700))).toEqual(
          slots(model.ended(now).slice(0, 700)),
        );
        expect(slots(index.ended(instant(TIME_RANGE), Infinity))).toEqual(
          slots(model.ended(TIME_RANGE)),
        );
      }
    }),
    { numRuns: 60 },
  );
});

test("ExpiryIndex has the same items after adding all at once as after adding each", () => {
  const farEnd = fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 });
  const end = fc.oneof(farEnd, fc.integer({ min: 0, max: 99 }));
  fc.assert(
    fc.property(fc.array(end, { maxLength: 300 }), fc.array(end), (ends, earlierEnds) => {
      const earlier = earlierEnds.map((instant, slot) => itemEnding(instant, -1 - slot));
      const items = ends.map(itemEnding);
      const index = indexOf(...earlier);
      index.addAll(items);
      expect([...index.all()]).toEqual([...indexOf(...earlier, ...items).all()]);
    }),
  );
});
