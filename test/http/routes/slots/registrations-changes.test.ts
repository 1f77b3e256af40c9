import { describe, expect, test } from "bun:test";
import { later, MINUTE } from "../../../../src/domain/time.ts";
import { rfc3339 } from "../../../../src/platform/rfc3339.ts";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";
import { featureTerms, hoursLater, minutesLater } from "../../../support/scenario.ts";
import { answerRequest } from "../../../support/vendor.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { RegistrationList, sorted } from "./registration-list.ts";

const VIEW = featureTerms("view", { floating: { slots: 9, timeoutMinutes: 10 } });
const TERMS = { slots: 9, timeoutMinutes: 30, borrowHours: 24, features: [VIEW] };

async function openListedSite(...users: readonly string[]) {
  const site = await openAppliance({ licenses: { 1: TERMS } });
  for (const user of users) expectOk(await site.register({ user }));
  // A heartbeat in the same millisecond as the reading would be reported once more.
  site.clock.now = later(site.clock.now, 1);
  const list = new RegistrationList();
  expect((await list.update(site)).reload).toBe(true);
  return { site, list };
}

const NOTHING = { reload: false, changed: [], removed: [], renewed: [] };

async function expectSameList(site: Appliance, list: RegistrationList): Promise<void> {
  expect(list.rows).toEqual(sorted(expectOk(await site.registrations())));
}

describe("registrations/changes", () => {
  test("says at the beginning that the list must be read, and then that nothing changed", async () => {
    const { site, list } = await openListedSite("ada");
    expect(await list.update(site)).toMatchObject(NOTHING);
    expect(list.reloads).toBe(1);
  });

  test("returns a slot that was taken as changed, and one that was released as removed", async () => {
    const { site, list } = await openListedSite("ada");
    site.clock.now = minutesLater(1);
    expectOk(await site.unregister({ user: "ada" }));
    expectOk(await site.register({ user: "bob" }));
    const reply = await list.update(site);
    expect(reply).toMatchObject({ removed: [{ license_id: 1, user: "ada" }], renewed: [] });
    expect(reply.changed.map(({ user }) => user)).toEqual(["bob"]);
    await expectSameList(site, list);
  });

  test("returns a heartbeat as a renewal only", async () => {
    const { site, list } = await openListedSite("ada", "bob");
    site.clock.now = minutesLater(5);
    expectOk(await site.register({ user: "bob" }));
    expect(await list.update(site)).toMatchObject({
      changed: [],
      removed: [],
      renewed: [
        {
          license_id: 1,
          user: "bob",
          last_seen_at: rfc3339(minutesLater(5)),
          expires_at: rfc3339(minutesLater(35)),
        },
      ],
    });
    await expectSameList(site, list);
  });

  test("returns a slot as removed at its end, although its expiry is not written yet", async () => {
    const { site, list } = await openListedSite("ada");
    site.clock.now = minutesLater(29);
    expect(await list.update(site)).toMatchObject(NOTHING);
    site.clock.now = minutesLater(30);
    const seq = site.lastSeq();
    expect(await list.update(site)).toMatchObject({ removed: [{ license_id: 1, user: "ada" }] });
    expect(site.lastSeq()).toBe(seq);
    site.clock.now = minutesLater(31);
    expect(await list.update(site)).toMatchObject(NOTHING);
  });

  test("returns a slot as changed when its feature slot ends", async () => {
    const { site, list } = await openListedSite("ada");
    expectOk(await site.featureRegister({ user: "ada", feature: "view" }));
    expect((await list.update(site)).changed[0]?.features).toEqual(["view"]);
    site.clock.now = minutesLater(11);
    expect((await list.update(site)).changed[0]?.features).toEqual([]);
    await expectSameList(site, list);
  });

  test("returns when a borrowed slot was last seen", async () => {
    const { site, list } = await openListedSite("ada");
    const borrowed_until = rfc3339(hoursLater(8));
    expectOk(await site.borrow({ user: "ada", borrowed_until }));
    await list.update(site);
    site.clock.now = minutesLater(90);
    expectOk(await site.register({ user: "ada" }));
    await list.update(site);
    expect(list.rows[0]).toMatchObject({
      last_seen_at: rfc3339(minutesLater(90)),
      expires_at: borrowed_until,
    });
    await expectSameList(site, list);
  });

  test("keeps when a borrowed slot was last seen over a restart", async () => {
    const { site } = await openListedSite("ada");
    expectOk(await site.borrow({ user: "ada" }));
    site.clock.now = minutesLater(90);
    expectOk(await site.register({ user: "ada" }));
    const before = expectOk(await site.registrations());
    await site.stop();
    const next = await openAppliance({ folder: site.folder, licenses: {} });
    next.clock.now = site.clock.now;
    expect(expectOk(await next.registrations())).toEqual(before);
    expect(before[0]?.last_seen_at).toBe(rfc3339(minutesLater(90)));
  });

  test.each([
    ["a restart", false],
    ["a renewal of the license with another timeout", true],
  ])("says after %s that the list must be read again", async (_what, isRenewal) => {
    const { site, list } = await openListedSite("ada");
    let current = site;
    if (isRenewal) {
      const request = await site.makeRequestDocument();
      const renewed = await answerRequest(
        request,
        1,
        { ...TERMS, timeoutMinutes: 60 },
        { serial: 2 },
      );
      unwrap(await site.licensing.installLicense(renewed, "test"));
    } else {
      await site.stop();
      current = await openAppliance({ folder: site.folder, licenses: {} });
    }
    expect((await list.update(current)).reload).toBe(true);
    await expectSameList(current, list);
    expect((await list.update(current)).reload).toBe(false);
  });

  test("says that the list must be read again after more than 2,000 changes", async () => {
    const site = await openAppliance({ licenses: { 1: { ...TERMS, slots: 3_000 } } });
    const list = new RegistrationList();
    await list.update(site);
    const takeSlots = async (from: number, to: number) => {
      for (let index = from; index < to; index += 1)
        expectOk(await site.register({ user: `user ${index}` }));
    };
    await takeSlots(0, 2_000);
    expect((await list.update(site)).changed.length).toBe(2_000);
    site.clock.now = minutesLater(1);
    await takeSlots(0, 2_000);
    site.clock.now = later(site.clock.now, 1);
    expect((await list.update(site)).renewed.length).toBe(2_000);
    site.clock.now = minutesLater(2);
    await takeSlots(0, 2_001);
    site.clock.now = later(site.clock.now, 1);
    expect((await list.update(site)).reload).toBe(true);
    site.clock.now = minutesLater(3);
    expect((await list.update(site)).reload).toBe(false);
    site.clock.now = minutesLater(90);
    expect((await list.update(site)).reload).toBe(true);
    expect(list.rows).toEqual([]);
  });

  test("refuses a cursor that it did not return, and reloads for one of another start", async () => {
    const { site } = await openListedSite();
    const path = "/api/admin/v1/registrations/changes?since=";
    for (const cursor of ["x", "1", "0123456789ab-1", "0123456789ab--1-2", "0123456789AB-1-2"]) {
      const message = expectRefusal(await site.get(path + cursor), 400, "invalid_parameter");
      expect(message).toContain("since must be the value of next in the last reply");
    }
    const unknown = await site.get(`${path}0123456789ab-0-${minutesLater(0) + MINUTE}`);
    expect(expectOk(unknown)).toMatchObject({ reload: true });
  });
});
