import { expect, test } from "bun:test";
import { trustFacts } from "../../src/cli/trust-facts.ts";

const KNOWN = {
  vendor: "0123456789ABCDEF",
  name: "Acme",
  version: 1,
  products: ["CAD", "CAM"],
  fingerprint: "AAAAA-BBBBB",
};

test("the facts of a new vendor's trust document name no earlier one", () => {
  expect(trustFacts(KNOWN, null)).toEqual([
    ["vendor", "Acme"],
    ["products", "CAD, CAM"],
    ["fingerprint", "AAAAA-BBBBB"],
    ["version", "1"],
  ]);
});

test("the facts of a newer trust document name what it changes", () => {
  const newer = { ...KNOWN, version: 3, products: ["CAD", "CAE"], fingerprint: "CCCCC-DDDDD" };
  expect(trustFacts({ ...newer, name: "Acme AG" }, KNOWN)).toEqual([
    ["vendor", "Acme AG (was Acme)"],
    ["products", "CAD, CAE; added: CAE; removed: CAM"],
    ["fingerprint", "CCCCC-DDDDD (was AAAAA-BBBBB)"],
    ["version", "3 (was 1)"],
  ]);
});

test("the facts of a trust document name the keys that it retires, with their day", () => {
  const retired = [
    { key: "FEDCBA9876543210", from: "2027-01-02T00:00:00.000Z" },
    { key: "0123456789ABCDEF", from: null },
  ];
  expect(trustFacts({ ...KNOWN, retired }, KNOWN).slice(4)).toEqual([
    ["retired", "FEDCBA9876543210 (from 2027-01-02)"],
    ["retired", "0123456789ABCDEF (immediately)"],
  ]);
});
