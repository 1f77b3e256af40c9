import { expect, test } from "bun:test";
import { memoize } from "../../src/platform/memoize.ts";

test("memoize computes a text once, and again after more texts than it remembers", () => {
  const computed: string[] = [];
  const measure = memoize((text) => {
    computed.push(text);
    return text.length;
  }, 2);
  expect(["a", "a", "bb", "a"].map(measure)).toEqual([1, 1, 2, 1]);
  expect(computed).toEqual(["a", "bb"]);
  expect(["ccc", "a"].map(measure)).toEqual([3, 1]);
  expect(computed).toEqual(["a", "bb", "ccc", "a"]);
});

test("memoize remembers null and false", () => {
  let count = 0;
  const compute = memoize((text): boolean | null => {
    count += 1;
    return text === "" ? null : false;
  }, 2);
  expect([compute(""), compute(""), compute("x"), compute("x")]).toEqual([
    null,
    null,
    false,
    false,
  ]);
  expect(count).toBe(2);
});

test("memoize does not keep long texts", () => {
  let count = 0;
  const compute = memoize(() => (count += 1), 2);
  const long = "x".repeat(129);
  expect([compute(long), compute(long)]).toEqual([1, 2]);
});
