import { expect, test } from "bun:test";
import { findNearest } from "../../src/cli/nearest.ts";

const KNOWN = ["status", "slots", "serve", "license list", "tls init", "man"];

test.each([
  ["stauts", "status"],
  ["staus", "status"],
  ["statuses", "status"],
  ["slot", "slots"],
  ["licence lst", "license list"],
  ["nam", null],
  ["x", null],
  ["", null],
  ["status of everything", null],
])("%s: %p", (typed, meant) => {
  expect(findNearest(typed, KNOWN)).toBe(meant);
});

test("a word of any length is compared at once, or not at all", () => {
  expect(findNearest("s".repeat(100_000), KNOWN)).toBeNull();
});
