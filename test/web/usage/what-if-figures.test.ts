import { describe, expect, test } from "bun:test";
import { chooseSlots, isSlotRange, shareText } from "../../../src/web/usage/what-if-figures.ts";

describe("the numbers of slots to try", () => {
  test("begin a little below the usual use, and with at least one slot", () => {
    expect(chooseSlots({ p95: 10 })).toEqual({ from: 7, to: 26 });
    expect(chooseSlots({ p95: 0 })).toEqual({ from: 1, to: 20 });
  });

  test.each<[number, number, boolean]>([
    [1, 100, true],
    [1, 101, false],
    [0, 5, false],
    [5, 4, false],
    [1.5, 3, false],
    [999_999, 1_000_000, true],
    [999_999, 1_000_001, false],
  ])("%d to %d is a valid range: %p", (from, to, isValid) => {
    expect(isSlotRange({ from, to })).toBe(isValid);
  });
});

test("a share is never rounded up to 100 %", () => {
  expect(shareText(9_999, 10_000)).toBe("99.9 %");
  expect(shareText(10, 10)).toBe("100.0 %");
  expect(shareText(0, 0)).toBe("–");
});
