import { describe, expect, test } from "bun:test";
import { contactReply } from "../../../../src/http/routes/slots/slot-reply.ts";
import { makeContact } from "../../../support/contact.ts";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type License,
} from "../../../support/appliance.ts";
import { justBefore, hoursLater, minutesLater } from "../../../support/scenario.ts";

const ADA = {
  product: "cad",
  user: "ada",
  ...contactReply(makeContact({ hostname: "ws-17", ip: "10.0.0.17", info: "second floor" })),
};

test("register replies with every field of the contract and no other", async () => {
  const site = await openAppliance();
  const { license_json, ...slot } = expectOk(await site.register(ADA));
  expect(slot).toEqual({
    ...ADA,
    license_id: 1,
    registered_at: "2026-03-02T09:00:00.000Z",
    expires_at: "2026-03-02T09:30:00.000Z",
    borrowed_until: null,
    is_borrowed: false,
    floating_timeout: 30,
    floating_users: 2,
    floating_slots_in_use: 1,
    lease: null,
  });
  expect(license_json).toBeString();
});

test("register replies with license_json, the license as a string that counts the caller's slot", async () => {
  const site = await openAppliance();
  const { license_json } = expectOk(await site.register(ADA));
  const license = JSON.parse(license_json) as License;
  expect(license).toEqual(expectOk(await site.license()));
  expect(license.floating_in_use_devices).toBe(1);
});

test("register stores the caller's fields and the address of the peer", async () => {
  const site = await openAppliance();
  site.peer = "10.0.0.99";
  expectOk(await site.register(ADA));
  site.peer = "127.0.0.1";
  expect(expectOk(await site.registrations())).toEqual([
    {
      ...ADA,
      license_id: 1,
      peer: "10.0.0.99",
      registered_at: "2026-03-02T09:00:00.000Z",
      last_seen_at: "2026-03-02T09:00:00.000Z",
      expires_at: "2026-03-02T09:30:00.000Z",
      borrowed_until: null,
      features: [],
      home: null,
    },
  ]);
});

test("register needs only the user while one product is installed", async () => {
  const site = await openAppliance();
  const slot = expectOk(await site.register({ user: "ada" }));
  expect(slot).toMatchObject({ product: "cad", os_hostname: "", ip_local: "", user_info: "" });
  expect(expectOk(await site.register({ user: "bob", product: "" })).product).toBe("cad");
});

describe("register by the same user again", () => {
  test("keeps the slot and renews its end", async () => {
    const site = await openAppliance();
    expectOk(await site.register(ADA));
    site.clock.now = minutesLater(20);
    const again = expectOk(await site.register(ADA));
    expect(again).toMatchObject({
      registered_at: "2026-03-02T09:00:00.000Z",
      expires_at: "2026-03-02T09:50:00.000Z",
      floating_slots_in_use: 1,
    });
    expect(await site.listHolders()).toEqual(["ada"]);
  });

  test("succeeds when all slots are taken, while another user is refused", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    site.clock.now = minutesLater(1);
    expectOk(await site.register({ user: "bob" }));
    const message = await expectRefusedUnchanged(site, 400, "floating_not_available", () =>
      site.register({ user: "cleo" }),
    );
    expect(message).toBe("all 2 slots are in use");
    expect(expectOk(await site.register({ user: "ada" })).floating_slots_in_use).toBe(2);
    expect(await site.listHolders()).toEqual(["ada", "bob"]);
  });
});

describe("register is refused", () => {
  test("with the names of all missing fields", async () => {
    const site = await openAppliance({ licenses: { 1: {}, 2: { product: "cam" } } });
    const message = await expectRefusedUnchanged(site, 400, "missing_parameters", () =>
      site.register({}),
    );
    expect(message).toBe("user and product must be given");
    expect(expectRefusal(await site.register({ user: "ada" }), 400, "missing_parameters")).toBe(
      "product must be given",
    );
  });

  test.each(["", null])("for an empty user (%p)", async (user) => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, "missing_parameters", () => site.register({ user }));
  });

  test("where no license is installed", async () => {
    const site = await openAppliance({ licenses: {} });
    await expectRefusedUnchanged(site, 400, "license_not_found", () =>
      site.register({ user: "ada" }),
    );
  });

  test.each(["CAD", "cad ", "__proto__", "constructor", "toString"])(
    "for the unknown product %p",
    async (product) => {
      const site = await openAppliance();
      await expectRefusedUnchanged(site, 400, "unknown_product", () =>
        site.register({ user: "ada", product }),
      );
    },
  );

  test("before the start of the license, with that start", async () => {
    const site = await openAppliance({ licenses: { 1: { start: minutesLater(1) } } });
    const message = await expectRefusedUnchanged(site, 400, "license_not_active", () =>
      site.register({ user: "ada" }),
    );
    expect(message).toContain("2026-03-02T09:01:00.000Z");
    site.clock.now = minutesLater(1);
    expectOk(await site.register({ user: "ada" }));
  });

  test("from the end of the grace period on, also for a heartbeat", async () => {
    const site = await openAppliance({
      licenses: { 1: { validUntil: hoursLater(1), graceHours: 1, timeoutMinutes: 600 } },
    });
    expectOk(await site.register({ user: "ada" }));
    site.clock.now = justBefore(hoursLater(2));
    expectOk(await site.register({ user: "ada" }));
    site.clock.now = hoursLater(2);
    const message = await expectRefusedUnchanged(site, 400, "license_expired", () =>
      site.register({ user: "ada" }),
    );
    expect(message).toContain("2026-03-02T11:00:00.000Z");
  });

  test("where the license is disabled", async () => {
    const site = await openAppliance({ licenses: { 1: { enabled: false } } });
    await expectRefusedUnchanged(site, 400, "license_not_enabled", () =>
      site.register({ user: "ada" }),
    );
  });
});
