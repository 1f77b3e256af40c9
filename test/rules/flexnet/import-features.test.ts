import { expect, test } from "bun:test";
import { importOptions } from "../../../src/rules/flexnet/import-options.ts";

const OPTIONS = `GROUP sim ada
RESERVE 2 cad GROUP sim
MAX 3 mesh:VERSION=2.0 USER ALL_USERS
MAX_BORROW_HOURS cad 24
EXCLUDE render DISPLAY x:0
`;

test("an import lists every feature of the file once, also those without an equivalent", () => {
  const { features, unconverted } = importOptions(OPTIONS, new Map());
  expect(features).toEqual(["cad", "mesh:VERSION=2.0", "render"]);
  expect(unconverted.map(({ line }) => line)).toEqual([3, 5]);
});

test("an import lists the features of the file, not the products that they become", () => {
  const map = new Map([["cad", { product: "CAD", feature: null }]]);
  expect(importOptions(OPTIONS, map).features).toContain("cad");
  expect(importOptions(OPTIONS, map).features).not.toContain("CAD");
});
