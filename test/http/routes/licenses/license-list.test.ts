import { describe, expect, test } from "bun:test";
import { expectOk, openAppliance } from "../../../support/appliance.ts";

describe("GET /api/admin/v1/licenses", () => {
  test("shows every license as GET /api/v4/license does", async () => {
    const site = await openAppliance({ licenses: { 1: {}, 2: { product: "cam" } } });
    const licenses = expectOk(await site.licenses());
    expect(licenses).toEqual([
      expectOk(await site.license("?product=cad")),
      expectOk(await site.license("?product=cam")),
    ]);
  });

  test("is an empty list when no license is installed", async () => {
    const site = await openAppliance({ licenses: {} });
    expect(expectOk(await site.licenses())).toEqual([]);
  });
});
