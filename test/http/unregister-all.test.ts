import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../support/appliance.ts";

const PATH = "/api/v4/unregister/all";

async function occupied(): Promise<Appliance> {
  const site = await openAppliance({ licenses: { 1: {}, 2: { product: "cam" } } });
  expectOk(await site.register({ user: "ada", product: "cad" }));
  expectOk(await site.borrow({ user: "bob", product: "cad" }));
  expectOk(await site.register({ user: "cleo", product: "cam" }));
  return site;
}

describe("every slot is given back, with an empty reply", () => {
  test.each<[string, (site: Appliance) => Promise<readonly [Response, unknown]>]>([
    ["by GET", (site) => site.get(PATH)],
    ["by POST of {}", (site) => site.post(PATH, {})],
    ["by POST of nothing at all", (site) => site.send("POST", PATH)],
    ["by POST of an empty body", (site) => site.send("POST", PATH, { body: "" })],
    ["for an empty product", (site) => site.post(PATH, { product: "" })],
    ["for no product in the query", (site) => site.get(`${PATH}?product=`)],
  ])("%s", async (_what, act) => {
    const site = await occupied();
    expect(expectOk(await act(site))).toBe("");
    expect(await site.listHolders()).toEqual([]);
  });
});

describe("one product's slots alone are given back", () => {
  test.each<[string, (site: Appliance) => Promise<readonly [Response, unknown]>]>([
    ["by GET", (site) => site.get(`${PATH}?product=cad`)],
    ["by GET, in another case", (site) => site.get(`${PATH}?PRODUCT=cad`)],
    ["by POST", (site) => site.post(PATH, { product: "cad" })],
  ])("%s", async (_what, act) => {
    const site = await occupied();
    expectOk(await act(site));
    expect(await site.listHolders()).toEqual(["cleo"]);
  });
});

test("with nobody registered it is done all the same, and nothing is written", async () => {
  const site = await openAppliance();
  const before = site.lastSeq();
  expectOk(await site.get(PATH));
  expect(site.lastSeq()).toBe(before);
});

test("an unknown product is refused and frees nobody", async () => {
  const site = await occupied();
  await expectRefusedUnchanged(site, 400, "unknown_product", () =>
    site.post(PATH, { product: "CAD" }),
  );
  await expectRefusedUnchanged(site, 400, "unknown_product", () => site.get(`${PATH}?product=CAD`));
});

test("a body that is there must still be JSON", async () => {
  const site = await occupied();
  await expectRefusedUnchanged(site, 415, "unsupported_media_type", () =>
    site.send("POST", PATH, { body: "product=cad" }),
  );
  await expectRefusedUnchanged(site, 400, "body_not_object", () =>
    site.send("POST", PATH, { body: "[]", headers: { "content-type": "application/json" } }),
  );
});
