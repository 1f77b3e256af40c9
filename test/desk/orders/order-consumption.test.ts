import { describe, expect, test } from "bun:test";
import type { Desk } from "../../../src/desk/desk.ts";
import { changeOrders } from "../../../src/desk/orders/orders.ts";
import { expectOk, type Appliance } from "../../support/appliance.ts";
import { makeRequestFrom, openDeskAndSite } from "../../support/desk-and-site.ts";
import {
  addOrder,
  answer,
  answerAndInstall,
  codesOf,
  issueByHand,
  openSiteOf,
  returnLicense,
} from "../../support/orders.ts";
import { MONDAY } from "../../support/scenario.ts";

const CONSUMPTION = { max: 100, overages: 0, negative: false, period: null };

const addCountingOrder = (desk: Desk, differing: object = {}) =>
  addOrder(desk, { terms: { consumption: CONSUMPTION }, moves: 5, ...differing });

const takePlace = async (desk: Desk, site: Appliance, key: string): Promise<number> => {
  const request = await makeRequestFrom(site, "sim", key);
  return (await answerAndInstall(desk, site, request)).license_id ?? 0;
};

const consume = async (site: Appliance, consumptions: number): Promise<void> => {
  expectOk(await site.addConsumption({ product: "sim", consumptions }));
};

const maxOf = (desk: Desk): number | null | undefined =>
  desk.ledger.issuedEntries()[0]?.terms.consumption?.max;

/** A site that consumed 30 of 100 and returned its license, and another one that follows. */
async function returnAfter30(differing: object = {}) {
  const { desk, site } = await openDeskAndSite();
  const { license_key } = await addCountingOrder(desk, differing);
  const license = await takePlace(desk, site, license_key);
  await consume(site, 30);
  await returnLicense(desk, site, license);
  const next = await openSiteOf(desk);
  return { desk, site, next, license_key };
}

describe("consumption without a period", () => {
  test("is issued automatically once, and a person decides at the next place", async () => {
    const { desk, next, license_key } = await returnAfter30();
    const refused = await answer(desk, await makeRequestFrom(next, "sim", license_key));
    expect(refused.obstacles).toEqual([
      {
        code: "consumption_again",
        text: "consumption without a period was already issued to a place that was used before",
        hint: "berth vendor issue --request FILE decides it",
      },
    ]);
  });

  test("is issued again less what the receipt says, and renewals keep that", async () => {
    const { desk, next, license_key } = await returnAfter30();
    const issued = await issueByHand(desk, await makeRequestFrom(next, "sim", license_key));
    expect(issued).toMatchObject({ used_before: 30, use: "move" });
    expect(maxOf(desk)).toBe(70);
    const renewal = await answer(desk, await makeRequestFrom(next, "sim", license_key));
    expect([renewal.outcome, maxOf(desk)]).toEqual(["answered", 70]);
    await issueByHand(desk, null, { renewLicenseId: issued.license_id });
    expect(maxOf(desk)).toBe(70);
    const changes = { terms: { consumption: { max: 200 } } };
    await changeOrders(desk, [{ licenseKey: license_key, changes }], MONDAY);
    await answer(desk, await makeRequestFrom(next, "sim", license_key));
    expect([maxOf(desk), desk.ledger.issuedEntries()[0]?.used_before]).toEqual([170, 30]);
  });

  test("that gets a period later is issued in full each time", async () => {
    const { desk, next, license_key } = await returnAfter30();
    await issueByHand(desk, await makeRequestFrom(next, "sim", license_key));
    const changes = { terms: { consumption: { period: "monthly" as const } } };
    await changeOrders(desk, [{ licenseKey: license_key, changes }], MONDAY);
    await answer(desk, await makeRequestFrom(next, "sim", license_key));
    expect(maxOf(desk)).toBe(100);
  });

  test("is what a person says, if the person names a maximum", async () => {
    const { desk, next, license_key } = await returnAfter30();
    const request = await makeRequestFrom(next, "sim", license_key);
    const issued = await issueByHand(desk, request, { terms: { consumption: { max: 95 } } });
    expect([issued.used_before, maxOf(desk)]).toEqual([5, 95]);
  });

  test("of a lost machine is taken off as the desk saw it last", async () => {
    const { desk, site } = await openDeskAndSite();
    const { license_key } = await addCountingOrder(desk);
    await takePlace(desk, site, license_key);
    await consume(site, 40);
    await answer(desk, await makeRequestFrom(site, "sim", license_key));
    await consume(site, 20);
    const request = await makeRequestFrom(await openSiteOf(desk), "sim", license_key);
    const writeOff = { appliance: site.services.identity.id, reason: "the disk died" };
    await issueByHand(desk, request, { writeOff });
    expect(maxOf(desk)).toBe(60);
  });

  test("is issued automatically to each place for the first time", async () => {
    const { desk, site } = await openDeskAndSite();
    const { license_key } = await addCountingOrder(desk, { appliances: 2 });
    await takePlace(desk, site, license_key);
    await consume(site, 30);
    await takePlace(desk, await openSiteOf(desk), license_key);
    expect(maxOf(desk)).toBe(100);
  });

  test("that other holders may still use is left to them", async () => {
    const { desk, site } = await openDeskAndSite();
    const { license_key } = await addCountingOrder(desk, { appliances: 2 });
    const license = await takePlace(desk, site, license_key);
    await takePlace(desk, await openSiteOf(desk), license_key);
    await consume(site, 30);
    await returnLicense(desk, site, license);
    const next = await openSiteOf(desk);
    await issueByHand(desk, await makeRequestFrom(next, "sim", license_key));
    // 200 were sold: 30 were used, and the other holder may use 100.
    expect(maxOf(desk)).toBe(70);
  });

  test("is nothing at the next place once all of it was used", async () => {
    const { desk, site } = await openDeskAndSite();
    const { license_key } = await addCountingOrder(desk);
    const license = await takePlace(desk, site, license_key);
    await consume(site, 100);
    await returnLicense(desk, site, license);
    const next = await openSiteOf(desk);
    await issueByHand(desk, await makeRequestFrom(next, "sim", license_key));
    expect(maxOf(desk)).toBe(0);
  });

  test("of a feature needs a person at the next place as well", async () => {
    const terms = { features: [{ code: "MESH", consumption: { max: 5 } }] };
    const { desk, site } = await openDeskAndSite();
    const { license_key } = await addOrder(desk, { terms });
    const license = await takePlace(desk, site, license_key);
    await returnLicense(desk, site, license);
    const request = await makeRequestFrom(await openSiteOf(desk), "sim", license_key);
    expect(codesOf(await answer(desk, request))).toEqual(["consumption_again"]);
  });
});

describe("consumption that is issued again in full", () => {
  test.each([
    ["that begins anew each month", { ...CONSUMPTION, period: "monthly" as const }],
    ["without a maximum", { ...CONSUMPTION, max: null }],
  ])("is consumption %s", async (_, consumption) => {
    const { desk, next, license_key } = await returnAfter30({ terms: { consumption } });
    const answered = await answer(desk, await makeRequestFrom(next, "sim", license_key));
    expect([answered.outcome, maxOf(desk)]).toEqual(["answered", consumption.max]);
    expect(desk.ledger.issuedEntries()[0]).not.toHaveProperty("used_before");
  });
});
