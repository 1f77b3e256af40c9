import { expect, test } from "bun:test";
import { FAULTS } from "../../../src/faults/catalog.ts";
import { reasonOf } from "../../../src/faults/rule-reasons.ts";

test("reasonOf returns a short reason for an error code", () => {
  expect(reasonOf("floating_not_available")).toBe("no free slot");
  expect(reasonOf("license_expired")).toBe("license expired");
});

test("reasonOf returns a different reason for every error code", () => {
  const reasons = Object.keys(FAULTS).map(reasonOf);
  expect(reasons.length).toBeGreaterThan(30);
  expect(new Set(reasons).size).toBe(reasons.length);
});

test("reasonOf returns an unknown code unchanged", () => {
  expect(reasonOf("brand_new")).toBe("brand_new");
  expect(reasonOf("constructor")).toBe("constructor");
});
