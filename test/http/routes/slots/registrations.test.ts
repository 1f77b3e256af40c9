import { describe, expect, test } from "bun:test";
import { expectOk, expectRefusal, openAppliance } from "../../../support/appliance.ts";
import { minutesLater } from "../../../support/scenario.ts";

describe("GET /api/admin/v1/registrations", () => {
  test("lists the present slot holders of one product or of all, oldest first", async () => {
    const site = await openAppliance({ licenses: { 1: {}, 2: { product: "cam" } } });
    expectOk(await site.register({ user: "gone", product: "cad" }));
    site.clock.now = minutesLater(29);
    expectOk(await site.register({ user: "bob", product: "cam" }));
    expectOk(await site.register({ user: "ada", product: "cad" }));
    site.clock.now = minutesLater(30);
    const users = async (query: string): Promise<string[]> =>
      expectOk(await site.registrations(query)).map(({ user }) => user);
    expect(await users("")).toEqual(["bob", "ada"]);
    expect(await users("?product=cad")).toEqual(["ada"]);
    expect(await users("?Product=cam")).toEqual(["bob"]);
    expect(await users("?product=")).toEqual(["bob", "ada"]);
  });

  test("is refused for an unknown product", async () => {
    const site = await openAppliance();
    expectRefusal(await site.registrations("?product=cam"), 400, "unknown_product");
  });
});
