import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";

const PATH = "/api/v4/unregister/all";

async function openOccupiedSite(): Promise<Appliance> {
  const site = await openAppliance({ licenses: { 1: {}, 2: { product: "cam" } } });
  expectOk(await site.register({ user: "ada", product: "cad" }));
  expectOk(await site.borrow({ user: "bob", product: "cad" }));
  expectOk(await site.register({ user: "cleo", product: "cam" }));
  return site;
}

describe("unregister/all releases every slot, with an empty reply,", () => {
  test.each<[string, (site: Appliance) => Promise<readonly [Response, unknown]>]>([
    ["by GET", (site) => site.get(PATH)],
    ["by POST of {}", (site) => site.post(PATH, {})],
    ["by POST without a body", (site) => site.send("POST", PATH)],
    ["by POST of an empty body", (site) => site.send("POST", PATH, { body: "" })],
    ["for an empty product", (site) => site.post(PATH, { product: "" })],
    ["for an empty product in the query", (site) => site.get(`${PATH}?product=`)],
  ])("%s", async (_what, call) => {
    const site = await openOccupiedSite();
    expect(expectOk(await call(site))).toBe("");
    expect(await site.listHolders()).toEqual([]);
  });
});

describe("unregister/all releases the slots of one product only", () => {
  test.each<[string, (site: Appliance) => Promise<readonly [Response, unknown]>]>([
    ["by GET", (site) => site.get(`${PATH}?product=cad`)],
    ["by GET with the parameter in another case", (site) => site.get(`${PATH}?PRODUCT=cad`)],
    ["by POST", (site) => site.post(PATH, { product: "cad" })],
  ])("%s", async (_what, call) => {
    const site = await openOccupiedSite();
    expectOk(await call(site));
    expect(await site.listHolders()).toEqual(["cleo"]);
  });
});

test("unregister/all succeeds without registrations and writes nothing", async () => {
  const site = await openAppliance();
  const before = site.lastSeq();
  expectOk(await site.get(PATH));
  expect(site.lastSeq()).toBe(before);
});

test("unregister/all refuses an unknown product and releases no slot", async () => {
  const site = await openOccupiedSite();
  await expectRefusedUnchanged(site, 400, "unknown_product", () =>
    site.post(PATH, { product: "CAD" }),
  );
  await expectRefusedUnchanged(site, 400, "unknown_product", () => site.get(`${PATH}?product=CAD`));
});

test("unregister/all refuses a body that is not a JSON object", async () => {
  const site = await openOccupiedSite();
  await expectRefusedUnchanged(site, 415, "unsupported_media_type", () =>
    site.send("POST", PATH, { body: "product=cad" }),
  );
  await expectRefusedUnchanged(site, 400, "body_not_object", () =>
    site.send("POST", PATH, { body: "[]", headers: { "content-type": "application/json" } }),
  );
});
