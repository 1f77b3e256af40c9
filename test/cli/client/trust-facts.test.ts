import { expect, test } from "bun:test";
import { trustFacts } from "../../../src/cli/client/trust-facts.ts";

const TRUSTED = {
  vendor: "0123456789ABCDEF",
  name: "Acme",
  version: 1,
  products: ["CAD", "CAM"],
  fingerprint: "AAAAA-BBBBB",
  retired: [],
};

test("trustFacts shows no earlier values for a new vendor", () => {
  expect(trustFacts(TRUSTED, null)).toEqual([
    ["vendor", "Acme"],
    ["products", "CAD, CAM"],
    ["fingerprint", "AAAAA-BBBBB"],
    ["version", "1"],
  ]);
});

test("trustFacts shows what a newer trust document changes", () => {
  const newer = { ...TRUSTED, version: 3, products: ["CAD", "CAE"], fingerprint: "CCCCC-DDDDD" };
  expect(trustFacts({ ...newer, name: "Acme AG" }, TRUSTED)).toEqual([
    ["vendor", "Acme AG (was Acme)"],
    ["products", "CAD, CAE; added: CAE; removed: CAM"],
    ["fingerprint", "CCCCC-DDDDD (was AAAAA-BBBBB)"],
    ["version", "3 (was 1)"],
  ]);
});

test("trustFacts shows the keys that a trust document retires", () => {
  const retired = ["FEDCBA9876543210", "0123456789ABCDEF"];
  expect(trustFacts({ ...TRUSTED, retired }, TRUSTED).slice(4)).toEqual([
    ["retired key", "FEDCBA9876543210"],
    ["retired key", "0123456789ABCDEF"],
  ]);
});
