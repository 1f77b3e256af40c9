import { expect, test } from "bun:test";
import { expectOk, openAppliance, type Appliance, type License } from "../support/appliance.ts";
import { answerRequest } from "../support/vendor.ts";

const ADA = { product: "cad", user: "ada" };
const BOB = { product: "cad", user: "bob" };

/** Everything that can change in the license another caller is told of, one after the other. */
const CHANGES: readonly (readonly [string, (site: Appliance) => Promise<unknown>])[] = [
  ["somebody comes", async (site) => expectOk(await site.register(BOB))],
  [
    "a feature is taken",
    async (site) => expectOk(await site.featureRegister({ ...ADA, feature: "view" })),
  ],
  [
    "something is consumed",
    async (site) => expectOk(await site.addConsumption({ consumptions: "3" })),
  ],
  [
    "something of a feature is consumed",
    async (site) =>
      expectOk(await site.addFeatureConsumption({ feature: "plot", consumptions: "2" })),
  ],
  ["somebody goes", async (site) => expectOk(await site.unregister(BOB))],
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

test("what a heartbeat says of the license is what the license is, whatever changed", async () => {
  const site = await openAppliance();
  expectOk(await site.register(ADA));
  for (const [what, change] of CHANGES) {
    const before = await told(site);
    await change(site);
    const now = await told(site);
    expect([what, now]).toEqual([what, expectOk(await site.license("?product=cad"))]);
    expect([what, Bun.deepEquals(before, now)]).toEqual([what, false]);
  }
});

/** By one who holds a slot, without what is that caller's own. */
async function told(site: Appliance): Promise<License> {
  const { license_json } = expectOk(await site.register(ADA));
  return { ...(JSON.parse(license_json) as License), borrowed_until: null, is_borrowed: false };
}

test("one caller's borrow is not another's", async () => {
  const site = await openAppliance();
  expectOk(await site.borrow(ADA));
  const { license_json } = expectOk(await site.register(BOB));
  expect(JSON.parse(license_json)).toMatchObject({ borrowed_until: null, is_borrowed: false });
  const { license_json: own } = expectOk(await site.register(ADA));
  expect(JSON.parse(own)).toMatchObject({ is_borrowed: true });
});
