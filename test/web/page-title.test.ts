import { expect, test } from "bun:test";
import { pageTitle } from "../../src/web/page-title.ts";

test.each([
  ["Slots", "Plant 4", 2, "(2) Slots · Plant 4 · Berth"],
  ["Slots", "Plant 4", 0, "Slots · Plant 4 · Berth"],
  ["Sign in", "", 0, "Sign in · Berth"],
])("pageTitle(%p, %p, %p) is %p", (view, site, findings, title) => {
  expect(pageTitle(view, site, findings)).toBe(title);
});
