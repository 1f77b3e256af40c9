import { expect, test } from "bun:test";
import { FAULT_MESSAGES } from "../../src/http/fault-messages.ts";
import { reasonOf } from "../../src/web/texts/refusals.ts";

test("a refusal is told in plain words", () => {
  expect(reasonOf("floating_not_available")).toBe("no free slot");
  expect(reasonOf("license_expired")).toBe("license ended");
});

test("no two refusals are told alike", () => {
  const told = Object.keys(FAULT_MESSAGES).map(reasonOf);
  expect(told.length).toBeGreaterThan(30);
  expect(new Set(told).size).toBe(told.length);
});

test("one that nobody has put in words is told by its code", () => {
  expect(reasonOf("brand_new")).toBe("brand_new");
  expect(reasonOf("constructor")).toBe("constructor");
});
