import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../support/appliance.ts";

const send = (site: Appliance, body: string) =>
  site.send("POST", "/api/v4/register", { body, headers: { "content-type": "application/json" } });

describe("keys", () => {
  test.each([
    ["in another case", '{"Product":"cad","USER":"ada"}', "ada"],
    ["exact before another case", '{"USER":"bob","user":"ada","User":"cleo"}', "ada"],
    ["of two variants the first", '{"USER":"ada","User":"bob"}', "ada"],
    ["of two the same the last", '{"user":"bob","user":"ada"}', "ada"],
    ["escaped", '{"\\u0075ser":"ada"}', "ada"],
    ["that nobody knows", '{"user":"ada","hardware_id":7,"version":{"a":[1]},"users":[]}', "ada"],
    ["__proto__", '{"user":"ada","__proto__":{"user":"bob","product":"cam"}}', "ada"],
    ["constructor", '{"user":"ada","constructor":{"prototype":{"product":"cam"}}}', "ada"],
  ])("%s", async (_what, body, user) => {
    const site = await openAppliance();
    expectOk(await send(site, body));
    expect(await site.listHolders()).toEqual([user]);
    expect(({} as { product?: unknown }).product).toBeUndefined();
  });

  test("a user inside __proto__ is no user", async () => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, "missing_parameters", () =>
      send(site, '{"__proto__":{"user":"ada"}}'),
    );
  });

  test("every field is found in capitals", async () => {
    const site = await openAppliance();
    const said = {
      PRODUCT: "cad",
      USER: "ada",
      OS_HOSTNAME: "ws",
      IP_LOCAL: "::1",
      USER_INFO: "i",
      BORROWED_UNTIL: "2026-03-02T12:00:00Z",
      LICENSE_ID: 1,
    };
    expect(expectOk(await site.borrow(said))).toMatchObject({
      os_hostname: "ws",
      ip_local: "::1",
      user_info: "i",
      borrowed_until: "2026-03-02T12:00:00.000Z",
    });
    const counted = { CONSUMPTIONS: "12", MAX_OVERAGES: "1", Feature: "plot" };
    expectRefusal(await site.addConsumption(counted), 400, "license_not_enough_consumptions");
  });
});
