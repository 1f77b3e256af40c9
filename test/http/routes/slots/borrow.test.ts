import { describe, expect, test } from "bun:test";
import { contactReply } from "../../../../src/http/routes/slots/slot-reply.ts";
import { makeContact } from "../../../support/contact.ts";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  type License,
} from "../../../support/appliance.ts";

const LATEST = "2026-03-03T09:00:00.000Z";

test("borrow replies like register, and adds max_borrow_time", async () => {
  const site = await openAppliance();
  const contact = contactReply(makeContact({ hostname: "ws-17", ip: "::1" }));
  const ada = { product: "cad", user: "ada", ...contact };
  const fields = { ...ada, borrowed_until: "2026-03-02T20:00:00+01:00" };
  const { license_json, lease, ...slot } = expectOk(await site.borrow(fields));
  expect(lease).toBeString();
  expect(slot).toEqual({
    ...ada,
    license_id: 1,
    registered_at: "2026-03-02T09:00:00.000Z",
    expires_at: "2026-03-02T19:00:00.000Z",
    borrowed_until: "2026-03-02T19:00:00.000Z",
    is_borrowed: true,
    floating_timeout: 30,
    floating_users: 2,
    floating_slots_in_use: 1,
    max_borrow_time: 24,
  });
  expect(JSON.parse(license_json) as License).toMatchObject({
    can_borrow: true,
    max_borrow_time: 24,
    borrowed_until: "2026-03-02T19:00:00.000Z",
    is_borrowed: true,
    floating_in_use_devices: 1,
  });
});

test("borrow names the shorter limit of the license and of the site's rules", async () => {
  const site = await openAppliance();
  const longestWith = async (hours: number): Promise<number | null> => {
    const text = `[[rule]]\nproduct = "cad"\nborrow = { max_hours = ${hours} }\n`;
    await site.services.sharingRules.apply(text, "*", "open", "test");
    const slot = expectOk(await site.borrow({ product: "cad", user: "ada" }));
    return slot.max_borrow_time;
  };
  expect(await longestWith(5)).toBe(5);
  expect(await longestWith(100)).toBe(24);
});

describe("borrow grants the longest time allowed", () => {
  test.each([
    ["absent", {}],
    ["null", { borrowed_until: null }],
    ["empty", { borrowed_until: "" }],
    ["the zero time", { borrowed_until: "0001-01-01T00:00:00Z" }],
    ["the zero time with a fraction", { borrowed_until: "0001-01-01T00:00:00.000Z" }],
    ["60 s past the cap", { borrowed_until: "2026-03-03T09:01:00Z" }],
  ])("when borrowed_until is %s", async (_what, fields) => {
    const site = await openAppliance();
    expect(expectOk(await site.borrow({ user: "ada", ...fields })).borrowed_until).toBe(LATEST);
  });
});

describe("borrow is refused", () => {
  test.each([
    ["now", "2026-03-02T09:00:00Z"],
    ["the year 9999", "9999-12-31T23:59:59Z"],
  ])("until %s, and the message names the latest end allowed", async (_what, borrowed_until) => {
    const site = await openAppliance();
    const message = await expectRefusedUnchanged(site, 400, "borrow_until_not_valid", () =>
      site.borrow({ user: "ada", borrowed_until }),
    );
    expect(message).toContain(LATEST);
    expect(await site.listHolders()).toEqual([]);
  });

  test("where the license does not allow borrowing", async () => {
    const site = await openAppliance({ licenses: { 1: { borrowHours: null } } });
    await expectRefusedUnchanged(site, 400, "license_borrow_not_allowed", () =>
      site.borrow({ user: "ada" }),
    );
  });

  test("without a user", async () => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, "missing_parameters", () => site.borrow({}));
  });
});

describe("a license without early return", () => {
  const noEarlyReturn = { licenses: { 1: { earlyReturn: false } } };
  const UNTIL = "2026-03-02T19:00:00.000Z";

  test("lets the end of a borrow only move later", async () => {
    const site = await openAppliance(noEarlyReturn);
    expectOk(await site.borrow({ user: "ada", borrowed_until: UNTIL }));
    const message = await expectRefusedUnchanged(site, 400, "early_return_not_allowed", () =>
      site.borrow({ user: "ada", borrowed_until: "2026-03-02T18:59:59Z" }),
    );
    expect(message).toContain(UNTIL);
    expectOk(await site.borrow({ user: "ada", borrowed_until: "2026-03-02T19:00:01Z" }));
  });

  test("refuses to release a borrow before its end, also for an administrator", async () => {
    const site = await openAppliance(noEarlyReturn);
    expectOk(await site.borrow({ user: "ada", borrowed_until: UNTIL }));
    await expectRefusedUnchanged(site, 400, "early_return_not_allowed", () =>
      site.unregister({ user: "ada" }),
    );
    await expectRefusedUnchanged(site, 400, "early_return_not_allowed", () =>
      site.post("/api/admin/v1/registrations/release", { user: "ada" }),
    );
    expectOk(await site.get("/api/v4/unregister/all"));
    expect(await site.listHolders()).toEqual(["ada"]);
  });
});
