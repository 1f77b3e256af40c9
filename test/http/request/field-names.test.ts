import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../../support/appliance.ts";

const send = (site: Appliance, body: string) =>
  site.send("POST", "/api/v4/register", { body, headers: { "content-type": "application/json" } });

describe("the field names of a request body", () => {
  test.each([
    ["a name in another case", '{"Product":"cad","USER":"ada"}', "ada"],
    [
      "the exact name before one in another case",
      '{"USER":"bob","user":"ada","User":"cleo"}',
      "ada",
    ],
    ["the first of two names in another case", '{"USER":"ada","User":"bob"}', "ada"],
    ["the last of two equal names", '{"user":"bob","user":"ada"}', "ada"],
    ["an escaped name", '{"\\u0075ser":"ada"}', "ada"],
    [
      "unknown names are ignored",
      '{"user":"ada","hardware_id":7,"version":{"a":[1]},"users":[]}',
      "ada",
    ],
    ["__proto__ is ignored", '{"user":"ada","__proto__":{"user":"bob","product":"cam"}}', "ada"],
    [
      "constructor is ignored",
      '{"user":"ada","constructor":{"prototype":{"product":"cam"}}}',
      "ada",
    ],
  ])("are read by the rules: %s", async (_what, body, user) => {
    const site = await openAppliance();
    expectOk(await send(site, body));
    expect(await site.listHolders()).toEqual([user]);
    expect(({} as { product?: unknown }).product).toBeUndefined();
  });

  test("do not include a user inside __proto__", async () => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, "missing_parameters", () =>
      send(site, '{"__proto__":{"user":"ada"}}'),
    );
  });

  test("are all understood in capitals", async () => {
    const site = await openAppliance();
    const fields = {
      PRODUCT: "cad",
      USER: "ada",
      OS_HOSTNAME: "ws",
      IP_LOCAL: "::1",
      USER_INFO: "i",
      BORROWED_UNTIL: "2026-03-02T12:00:00Z",
      LICENSE_ID: 1,
    };
    expect(expectOk(await site.borrow(fields))).toMatchObject({
      os_hostname: "ws",
      ip_local: "::1",
      user_info: "i",
      borrowed_until: "2026-03-02T12:00:00.000Z",
    });
    const countFields = { CONSUMPTIONS: "12", MAX_OVERAGES: "1", Feature: "plot" };
    expectRefusal(await site.addConsumption(countFields), 400, "license_not_enough_consumptions");
  });
});
