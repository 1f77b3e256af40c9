import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { listLicenses } from "../../../src/desk/ledger/license-list.ts";
import { receiveReceipt } from "../../../src/desk/issuing/receive-receipt.ts";
import { expectOk, expectRefusal, openAppliance } from "../../support/appliance.ts";
import { AirgapSite, openAirgapSite } from "../../support/airgap-site.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../../support/desk-and-site.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { hoursLater, MONDAY } from "../../support/scenario.ts";
import { copyFolder } from "../../support/temp-folder.ts";
import { refusal } from "../../support/desk-refusal.ts";

const RETURNED = "was returned on 2026-03-02";

describe("a returned license", () => {
  async function returnLicense() {
    const { desk, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const first = await issueTestLicense(desk, request, { terms: { slots: 3 } });
    expectOk(await site.upload(first.document));
    const receipt = unwrap(await site.licensing.removeLicense(first.license_id, false, "test"));
    await receiveReceipt(desk, receipt, MONDAY);
    const lines = desk.ledger.issuedEntries().length;
    return { desk, site, request, first, lines };
  }

  test("cannot be renewed from the ledger", async () => {
    const { desk, first, lines } = await returnLicense();
    const reason = await refusal(
      issueTestLicense(desk, null, { renewLicenseId: first.license_id }),
    );
    expect(reason).toContain(`license ${first.license_id} ${RETURNED}`);
    expect(reason).toContain("ask the site for a new request");
    expect(desk.ledger.issuedEntries()).toHaveLength(lines);
  });

  test("cannot be renewed by a request with --license-id", async () => {
    const { desk, site, first, lines } = await returnLicense();
    const withId = { licenseId: first.license_id };
    const reason = await refusal(issueTestLicense(desk, await makeRequestFrom(site), withId));
    expect(reason).toContain(`license ${first.license_id} ${RETURNED}`);
    expect(reason).toContain("omit --license-id");
    expect(desk.ledger.issuedEntries()).toHaveLength(lines);
  });

  test("is not issued again for the request that it answered", async () => {
    const { desk, request } = await returnLicense();
    const reason = await refusal(issueTestLicense(desk, request, { terms: { slots: 3 } }));
    expect(reason).toContain(RETURNED);
    expect(reason).toContain("ask the site for a new request");
  });

  test.each([false, true])(
    "is followed by a new license for a new request (--new: %p)",
    async (isNew) => {
      const { desk, site, first } = await returnLicense();
      const next = await issueTestLicense(desk, await makeRequestFrom(site), { isNew });
      expect(next).toMatchObject({ serial: 1, terms: { slots: 1 } });
      expect(next.license_id).not.toBe(first.license_id);
      expectOk(await site.upload(next.document));
      expect(await issueTestLicense(desk, null, { renewLicenseId: next.license_id })).toMatchObject(
        {
          serial: 2,
        },
      );
    },
  );
});

describe("a request that lists a returned license as installed", () => {
  /** The receipt comes from a copy of the site's folder; the site still has the license. */
  async function receivedFromCopy() {
    const { desk, folder, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site), {
      terms: { slots: 3 },
    });
    expectOk(await site.upload(first.document));
    const earlier = await makeRequestFrom(site);
    const copy = await openAppliance({ folder: copyFolder(site.folder), licenses: {} });
    copy.clock.now = hoursLater(1);
    const receipt = unwrap(await copy.licensing.removeLicense(first.license_id, false, "test"));
    await receiveReceipt(desk, receipt, hoursLater(2));
    site.clock.now = hoursLater(3);
    return { desk, folder, site, first, earlier, now: hoursLater(3) };
  }

  test("is refused with the license, the day and the consequence", async () => {
    const { desk, site, first, now } = await receivedFromCopy();
    const lines = desk.ledger.issuedEntries().length;
    const reason = await refusal(issueTestLicense(desk, await makeRequestFrom(site), { now }));
    expect(reason).toContain(`license ${first.license_id} ${RETURNED}`);
    expect(reason).toContain("the site would grant its slots and those of a new license");
    expect(reason).toContain('--accept-fork "REASON" accepts it');
    expect(desk.ledger.issuedEntries()).toHaveLength(lines);
  });

  test("is refused also if the site uses a renewal that answers no request", async () => {
    const { desk, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site), {
      terms: { slots: 3 },
    });
    expectOk(await site.upload(first.document));
    const copy = await openAppliance({ folder: copyFolder(site.folder), licenses: {} });
    const renewal = await issueTestLicense(desk, null, { renewLicenseId: first.license_id });
    expectOk(await site.upload(renewal.document));
    const receipt = unwrap(await copy.licensing.removeLicense(first.license_id, false, "test"));
    await receiveReceipt(desk, receipt, MONDAY);
    const reason = await refusal(issueTestLicense(desk, await makeRequestFrom(site)));
    expect(reason).toContain(`license ${first.license_id} ${RETURNED}`);
  });

  test("is answered with --accept-fork, and the reason is recorded in the ledger", async () => {
    const { desk, folder, site, first, now } = await receivedFromCopy();
    const reason = "the copy was a drill";
    const next = await issueTestLicense(desk, await makeRequestFrom(site), {
      acceptForkReason: reason,
      now,
    });
    const ledger = readFileSync(join(folder, "ledger.jsonl"), "utf8");
    expect(ledger).toContain(`"type":"forked"`);
    expect(ledger).toContain(reason);
    expect(next.license_id).not.toBe(first.license_id);
  });

  test("is answered if the site created it before it returned the license", async () => {
    const { desk, earlier, first, now } = await receivedFromCopy();
    const next = await issueTestLicense(desk, earlier, { now });
    expect(next.license_id).not.toBe(first.license_id);
  });

  test("is answered after the site returned the license again", async () => {
    const { desk, site, first, now } = await receivedFromCopy();
    unwrap(await site.licensing.removeLicense(first.license_id, false, "test"));
    const next = await issueTestLicense(desk, await makeRequestFrom(site), { now });
    expectOk(await site.upload(next.document));
  });

  test("is answered if the license was installed again with a newer serial by code", async () => {
    const air = await openAirgapSite();
    const policy = await air.makePolicy();
    const license = { license_policy: policy, license_key: "MESH-0001", policy_id: "P-1" };
    const install = async (now: typeof MONDAY): Promise<number> => {
      const confirmation_code = await air.confirmAtDesk(policy, await air.requestActivationCode(), {
        now,
      });
      return expectOk(await air.addLicense({ ...license, confirmation_code })).id;
    };
    const id = await install(MONDAY);
    await receiveReceipt(
      air.desk,
      unwrap(await air.site.licensing.removeLicense(id, false, "test")),
      MONDAY,
    );
    expect(await install(hoursLater(1))).toBe(id);
    const product = air.desk.vendor.products[0] ?? "";
    const request = await makeRequestFrom(air.site, product);
    expect(request.licenses).toMatchObject([{ license_id: id, serial: 2 }]);
    expect(await issueTestLicense(air.desk, request, { isNew: true })).toMatchObject({ serial: 1 });
  });
});

describe("a license that is renewed from the ledger while the site returns it", () => {
  /** Serial 2 is installed and returned, and serial 3 was issued without a request. */
  async function renewDuringReturn() {
    const { desk, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site), {
      terms: { slots: 3 },
    });
    expectOk(await site.upload(first.document));
    const second = await issueTestLicense(desk, await makeRequestFrom(site));
    expectOk(await site.upload(second.document));
    const receipt = unwrap(await site.licensing.removeLicense(first.license_id, false, "test"));
    const renewal = await issueTestLicense(desk, null, { renewLicenseId: first.license_id });
    expect([second.serial, renewal.serial]).toEqual([2, 3]);
    return { desk, site, first, receipt, renewal };
  }

  test("counts as returned, because the site refuses the renewal", async () => {
    const { desk, site, first, receipt, renewal } = await renewDuringReturn();
    expectRefusal(await site.upload(renewal.document), 400, "request_unknown");
    await receiveReceipt(desk, receipt, MONDAY);
    expect(desk.ledger.isEnded(first)).toBe(true);
    expect(listLicenses(desk.ledger, MONDAY).map(({ serial, state }) => [serial, state])).toEqual([
      [3, "returned"],
      [2, "returned"],
      [1, "replaced"],
    ]);
    const again = await refusal(issueTestLicense(desk, null, { renewLicenseId: first.license_id }));
    expect(again).toContain(`license ${first.license_id} ${RETURNED}`);
    const next = await issueTestLicense(desk, await makeRequestFrom(site));
    expect(next.license_id).not.toBe(first.license_id);
    expectOk(await site.upload(next.document));
  });

  test("does not count as returned while a newer serial answers a request", async () => {
    const { desk, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site), {
      terms: { slots: 3 },
    });
    expectOk(await site.upload(first.document));
    const answer = await issueTestLicense(desk, await makeRequestFrom(site));
    const receipt = unwrap(await site.licensing.removeLicense(first.license_id, false, "test"));
    const reason = await refusal(receiveReceipt(desk, receipt, MONDAY));
    expect(reason).toContain(
      "the newest serial of this license is 2, but the receipt is for serial 1",
    );
    // The site deleted that request with the license; it accepts the answer to a new one.
    expectRefusal(await site.upload(answer.document), 400, "request_unknown");
    expect(reason).toContain("or the answer to a new request");
    const next = await issueTestLicense(desk, await makeRequestFrom(site));
    expect([next.license_id, next.serial]).toEqual([first.license_id, 3]);
    expectOk(await site.upload(next.document));
    const newer = unwrap(await site.licensing.removeLicense(first.license_id, false, "test"));
    await receiveReceipt(desk, newer, MONDAY);
    expect(desk.ledger.isEnded(first)).toBe(true);
  });
});

describe("a returned license by code", () => {
  async function returnLicense() {
    const air: AirgapSite = await openAirgapSite();
    const policy = await air.makePolicy();
    const activation = await air.requestActivationCode();
    const confirmation_code = await air.confirmAtDesk(policy, activation);
    const license = { license_policy: policy, license_key: "MESH-0001", policy_id: "P-1" };
    const { id } = expectOk(await air.addLicense({ ...license, confirmation_code }));
    const receipt = unwrap(await air.site.licensing.removeLicense(id, false, "test"));
    await receiveReceipt(air.desk, receipt, MONDAY);
    return { air, policy, activation, license };
  }

  test("is not confirmed again for the same activation code", async () => {
    const { air, policy, activation } = await returnLicense();
    for (const serial of [null, 7]) {
      const reason = await refusal(air.confirmAtDesk(policy, activation, { serial }));
      expect(reason).toContain(RETURNED);
      expect(reason).toContain("ask the site to create a new activation code");
    }
    expect(air.desk.ledger.issuedEntries()).toHaveLength(1);
  });

  test("is confirmed for a new activation code, with the next serial", async () => {
    const { air, policy, license } = await returnLicense();
    const now = hoursLater(1);
    const confirmation_code = await air.confirmAtDesk(policy, await air.requestActivationCode(), {
      now,
    });
    expectOk(await air.addLicense({ ...license, confirmation_code }));
    expect(air.desk.ledger.issuedEntries().map(({ serial }) => serial)).toEqual([2, 1]);
  });
});
