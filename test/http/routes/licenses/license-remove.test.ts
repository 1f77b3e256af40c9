// How licenses are returned to their vendor.
import { describe, expect, test } from "bun:test";
import { keyIdOf, publicPart } from "../../../../src/license/documents/keys.ts";
import { verifyReceipt } from "../../../../src/license/documents/receipt.ts";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { rfc3339 } from "../../../../src/platform/rfc3339.ts";
import { minutesLater, MONDAY } from "../../../support/scenario.ts";
import { answerRequest, VENDOR_KEY } from "../../../support/vendor.ts";

const RETURN_LICENSE = "/api/admin/v1/licenses/remove";

describe("licenses/remove", () => {
  const returnLicense = async (site: Appliance, fields: object): Promise<string> =>
    expectOk(await site.post<{ receipt: string }>(RETURN_LICENSE, { ...fields })).receipt;

  test("returns a receipt that the vendor can check, and ends the license", async () => {
    const site = await openAppliance();
    const { identity } = site.services;
    expectOk(await site.addConsumption({ consumptions: "4" }));
    site.clock.now = minutesLater(5);
    const receipt = await returnLicense(site, { license_id: "1" });
    expect(unwrap(await verifyReceipt(receipt))).toEqual({
      appliance: identity.id,
      jwk: publicPart(identity.key),
      license_id: 1,
      serial: 1,
      vendor: keyIdOf(VENDOR_KEY),
      product: "cad",
      removed_at: "2026-03-02T09:05:00.000Z",
      total_consumptions: 4,
      borrows: [],
    });
    await expectRefusedUnchanged(site, 400, "license_not_found", () =>
      site.register({ user: "ada" }),
    );
    expect(expectOk(await site.licenses())).toEqual([]);
  });

  test("returns the same receipt again, also after a restart", async () => {
    const site = await openAppliance();
    const receipt = await returnLicense(site, { license_id: 1 });
    site.clock.now = minutesLater(99);
    const written = site.lastSeq();
    expect(await returnLicense(site, { license_id: 1 })).toBe(receipt);
    expect(site.lastSeq()).toBe(written);
    await site.stop();
    const next = await openAppliance({ folder: site.folder, licenses: {} });
    expect(await returnLicense(next, { license_id: 1 })).toBe(receipt);
  });

  test("is refused while slots are borrowed, unless with_borrows is true", async () => {
    const site = await openAppliance();
    expectOk(await site.borrow({ user: "ada" }));
    expectOk(await site.register({ user: "bob" }));
    for (const with_borrows of [undefined, "false", false, ""]) {
      await expectRefusedUnchanged(site, 400, "slots_borrowed", () =>
        site.post(RETURN_LICENSE, { license_id: "1", with_borrows }),
      );
    }
    const receipt = await returnLicense(site, { license_id: "1", with_borrows: true });
    expect(unwrap(await verifyReceipt(receipt)).borrows).toEqual(["ada"]);
  });

  test("is permanent: the same file and its renewal without a new request are refused", async () => {
    const site = await openAppliance({ licenses: {} });
    const returnedMessage = `license 7 was returned on ${rfc3339(MONDAY)}; create a new request`;
    const file = await answerRequest(await site.makeRequestDocument(), 7);
    expectOk(await site.upload(file));
    await returnLicense(site, { license_id: "7" });
    const message = await expectRefusedUnchanged(site, 400, "stale_license", () =>
      site.upload(file),
    );
    expect(message).toBe(returnedMessage);
    const renewal = await answerRequest(
      await site.makeRequestDocument(),
      7,
      {},
      { serial: 2, request_id: null, nonce: null },
    );
    expect(
      await expectRefusedUnchanged(site, 400, "request_unknown", () => site.upload(renewal)),
    ).toBe(returnedMessage);
    const sameSerial = await answerRequest(await site.makeRequestDocument(), 7);
    await expectRefusedUnchanged(site, 400, "stale_license", () => site.upload(sameSerial));
    expectOk(
      await site.upload(
        await answerRequest(await site.makeRequestDocument(), 7, {}, { serial: 2 }),
      ),
    );
  });

  test.each(["borrow", "addConsumption", "addFeatureConsumption"] as const)(
    "makes %s with an earlier Idempotency-Key refused instead of replayed",
    async (call) => {
      const site = await openAppliance();
      const request = { user: "ada", product: "cad", feature: "plot" };
      const withKey = { "idempotency-key": "k-1" };
      expectOk<unknown>(await site[call](request, withKey));
      await returnLicense(site, { license_id: "1", with_borrows: true });
      await expectRefusedUnchanged(site, 400, "license_not_found", () =>
        site[call](request, withKey),
      );
      expectOk(await site.get("/api/v4/health"));
    },
  );

  test.each([
    ["missing_parameters", {}],
    ["license_not_found", { license_id: "3" }],
    ["invalid_number", { license_id: "one" }],
    ["invalid_boolean", { license_id: "1", with_borrows: "yes" }],
  ])("is refused with %s for %j", async (code, fields) => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, code, () => site.post(RETURN_LICENSE, fields));
  });
});
