import { expect, test } from "bun:test";
import {
  expectOk,
  openAppliance,
  type Appliance,
  type License,
} from "../../../support/appliance.ts";
import { answerRequest } from "../../../support/vendor.ts";

const ADA = { product: "cad", user: "ada" };
const BOB = { product: "cad", user: "bob" };

/** Everything that can change the license in another caller's reply, one after the other. */
const CHANGES: readonly (readonly [string, (site: Appliance) => Promise<unknown>])[] = [
  ["another user registers", async (site) => expectOk(await site.register(BOB))],
  [
    "a feature's slot is taken",
    async (site) => expectOk(await site.featureRegister({ ...ADA, feature: "view" })),
  ],
  [
    "consumption is added",
    async (site) => expectOk(await site.addConsumption({ consumptions: "3" })),
  ],
  [
    "feature consumption is added",
    async (site) =>
      expectOk(await site.addFeatureConsumption({ feature: "plot", consumptions: "2" })),
  ],
  ["the other user unregisters", async (site) => expectOk(await site.unregister(BOB))],
  [
    "the license is renewed",
    async (site) =>
      expectOk(
        await site.upload(
          await answerRequest(
            await site.makeRequestDocument("cad"),
            1,
            { slots: 9 },
            { serial: 2 },
          ),
        ),
      ),
  ],
];

test("license_json of a heartbeat is the present license after every kind of change", async () => {
  const site = await openAppliance();
  expectOk(await site.register(ADA));
  for (const [what, change] of CHANGES) {
    const before = await readLicenseJson(site);
    await change(site);
    const now = await readLicenseJson(site);
    expect([what, now]).toEqual([what, expectOk(await site.license("?product=cad"))]);
    expect([what, Bun.deepEquals(before, now)]).toEqual([what, false]);
  }
});

/** The license in the reply to a slot holder, without the fields about that caller's borrow. */
async function readLicenseJson(site: Appliance): Promise<License> {
  const { license_json } = expectOk(await site.register(ADA));
  return { ...(JSON.parse(license_json) as License), borrowed_until: null, is_borrowed: false };
}

test("license_json shows a borrow only to the user who borrowed", async () => {
  const site = await openAppliance();
  expectOk(await site.borrow(ADA));
  const { license_json } = expectOk(await site.register(BOB));
  expect(JSON.parse(license_json)).toMatchObject({ borrowed_until: null, is_borrowed: false });
  const { license_json: adaJson } = expectOk(await site.register(ADA));
  expect(JSON.parse(adaJson)).toMatchObject({ is_borrowed: true });
});
