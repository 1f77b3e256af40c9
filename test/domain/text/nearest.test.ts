import { expect, test } from "bun:test";
import { findNearest } from "../../../src/domain/text/nearest.ts";

const CANDIDATES = ["status", "slots", "serve", "license list", "tls init", "man"];

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
])("findNearest(%p) returns %p", (typed, meant) => {
  expect(findNearest(typed, CANDIDATES)).toBe(meant);
});

test("findNearest returns null for a very long word", () => {
  expect(findNearest("s".repeat(100_000), CANDIDATES)).toBeNull();
});
