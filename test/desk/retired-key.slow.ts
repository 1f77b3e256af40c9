// A stolen issuing key that the root retires: what its holder can still sign for a site.
import { describe, expect, test } from "bun:test";
import { createSignatureCheck } from "../../src/operations/folder/folder-checks.ts";
import { err } from "../../src/domain/result.ts";
import { DAY, instant, SECOND } from "../../src/domain/time.ts";
import { keyIdOf } from "../../src/license/documents/keys.ts";
import { decodeTimeCode, signTimeDocument } from "../../src/license/documents/time-document.ts";
import { signTrustDocument } from "../../src/license/documents/trust.ts";
import { signCertificate } from "../../src/license/documents/certificate.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { replay } from "../../src/store/journal/replay.ts";
import {
  confirmActivation,
  createPolicy,
  USUAL_CONFIRMATION,
} from "../../src/desk/issuing/airgap.ts";
import { Desk } from "../../src/desk/desk.ts";
import { inspectDocument } from "../../src/desk/inspect-document.ts";
import { findLicensesToReissue } from "../../src/desk/ledger/license-list.ts";
import { expectOk, openAppliance, type Appliance } from "../support/appliance.ts";
import { replaceKey, signNextTrust } from "../support/desk-keys.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../support/desk-and-site.ts";
import { copyFolder } from "../support/temp-folder.ts";
import { unwrap } from "../support/licensed-store.ts";
import { MONDAY } from "../support/scenario.ts";
import { catchDeskRefusal } from "../support/desk-refusal.ts";

const refusalOf = ({ vendor, issuing }: Desk) =>
  err({
    code: "retired_key" as const,
    vendor: vendor.name,
    key: keyIdOf(issuing.key),
  });

/** A site with a license, and a desk with another key; `thief` has a copy of it from before. */
async function openWithStolenKey() {
  const { desk: before, folder, site } = await openDeskAndSite();
  const first = await issueTestLicense(before, await makeRequestFrom(site), {
    terms: { slots: 1 },
  });
  unwrap(await site.licensing.installLicense(first.document, "test"));
  const thief = await Desk.open(realDisk, copyFolder(folder), null);
  await replaceKey(folder);
  const { trust } = await signNextTrust(folder, { retired: [keyIdOf(thief.issuing.key)] });
  const desk = await Desk.open(realDisk, folder, null);
  return { thief, desk, folder, site, first, document: trust.document };
}

const refusal = async (attempt: Promise<unknown>): Promise<string> =>
  (await catchDeskRefusal(attempt)).message;

/** Installs at the site what the thief signed. */
type Attack = () => Promise<unknown>;

/** Everything that a stolen key can sign for a site, dated before the retirement. */
const ATTACKS: Readonly<Record<string, (site: Appliance, thief: Desk) => Promise<Attack>>> = {
  async "a license that answers a request"(site, thief) {
    const license = await issueTestLicense(thief, await makeRequestFrom(site, "ray"), {
      now: instant(MONDAY - 300 * DAY),
    });
    return () => site.licensing.installLicense(license.document, "test");
  },
  async "a renewal"(site, thief) {
    const [issued] = thief.ledger.issuedEntries();
    const renewLicenseId = issued?.license_id ?? 0;
    const license = await issueTestLicense(thief, null, {
      renewLicenseId,
      now: instant(MONDAY - 300 * DAY),
    });
    return () => site.licensing.installLicense(license.document, "test");
  },
  async "a policy with its confirmation code"(site, thief) {
    const activation = unwrap(await site.services.airgap.createActivationCode("K-1", "", "test"));
    const policy = await createPolicy(thief, "P", { product: "sim", valid_until: null }, MONDAY);
    const { confirmation_code } = await confirmActivation(thief, {
      ...USUAL_CONFIRMATION,
      policy,
      licenseKey: "K-1",
      activationCode: activation.code,
      now: MONDAY,
    });
    const request = { licenseKey: "K-1", policyId: "P", code: confirmation_code, peer: "test" };
    return () => site.services.airgap.installLicense({ policy, ...request });
  },
  async "a time document"(site, thief) {
    const reply = await site.post<{ code: string }>("/api/admin/v1/clock/request", {});
    const request = decodeTimeCode(expectOk(reply).code);
    if (request === null) throw new Error("not a clock code");
    const iat = Math.floor(site.clock.now / SECOND) - 60;
    const time = await signTimeDocument(
      { iss: thief.vendor.vendor, iat, ...request },
      thief.issuing,
    );
    return () => site.services.timekeeping.applyTimeDocument(time, "test");
  },
};

async function prepareAttack(name: string, site: Appliance, thief: Desk): Promise<Attack> {
  const sign = ATTACKS[name];
  if (sign === undefined) throw new Error(`unknown attack: ${name}`);
  return sign(site, thief);
}

const attack = async (name: string, site: Appliance, thief: Desk): Promise<unknown> =>
  (await prepareAttack(name, site, thief))();

describe("a retired key", () => {
  test.each(Object.keys(ATTACKS))(
    "cannot sign %s for a site that has the retirement",
    async (name) => {
      const { site, thief, document } = await openWithStolenKey();
      unwrap(await site.vendorTrust.trustVendor(document, "test"));
      expect(await attack(name, site, thief)).toEqual(refusalOf(thief));
    },
  );

  test.each(Object.keys(ATTACKS))(
    "can sign %s for a site that does not have the retirement yet",
    async (name) => {
      const { site, thief } = await openWithStolenKey();
      expect(await attack(name, site, thief)).toMatchObject({ ok: true });
    },
  );

  test("cannot sign a trust document or a certificate, with or without a retirement", async () => {
    for (const knowsIt of [false, true]) {
      const { site, thief, desk, document } = await openWithStolenKey();
      if (knowsIt) unwrap(await site.vendorTrust.trustVendor(document, "test"));
      const { key } = thief.issuing;
      for (const vendor of [thief.vendor, desk.vendor]) {
        const forged = await signTrustDocument({ ...vendor, version: 9 }, key);
        expect((await site.vendorTrust.trustVendor(forged, "test")).ok).toBe(false);
      }
      const content = { ...(thief.keys[0]?.certificate ?? fail()), until: 9_999_999_999 };
      const cert = await signCertificate(content, key);
      const renamed = await signCertificate({ ...content, iss: keyIdOf(key) }, key);
      for (const forged of [cert, renamed]) {
        const issuing = { key, cert: forged };
        const iat = Math.floor(site.clock.now / SECOND);
        const time = await signTimeDocument(
          { iss: thief.vendor.vendor, iat, appliance: "0123456789ABCDEF", nonce: "00" },
          issuing,
        );
        expect((await site.services.timekeeping.applyTimeDocument(time, "test")).ok).toBe(false);
      }
    }
  });

  test.each(Object.keys(ATTACKS))(
    "signs %s that is installed before the retirement or not at all, if both arrive together",
    async (name) => {
      const types = "VendorTrusted,LicenseInstalled,ClockSetBack";
      // A little later in each round: in some rounds the signature is checked before the retirement
      // takes effect, and the document is installed after it.
      for (let round = 0; round < 40; round += 1) {
        const { site, thief, document } = await openWithStolenKey();
        const install = await prepareAttack(name, site, thief);
        const trusting = site.vendorTrust.trustVendor(document, "test");
        for (let tick = 0; tick < round; tick += 1) await Promise.resolve();
        await Promise.all([trusting, install()]);
        const [, page] = await site.get(`/api/admin/v1/audit?type=${types}&limit=1`);
        expect(page).toMatchObject({ events: [{ type: "VendorTrusted" }] });
      }
    },
  );

  test("is named in the site's audit log", async () => {
    const { site, thief, document } = await openWithStolenKey();
    unwrap(await site.vendorTrust.trustVendor(document, "test"));
    const [, text] = await site.get("/api/admin/v1/audit?type=VendorTrusted");
    expect(JSON.stringify(text)).toContain(keyIdOf(thief.issuing.key));
  });

  test("leaves installed licenses valid, after a restart and when they are installed again", async () => {
    const { site, document, first } = await openWithStolenKey();
    unwrap(await site.vendorTrust.trustVendor(document, "test"));
    expect(unwrap(await site.licensing.installLicense(first.document, "test")).id).toBe(
      first.license_id,
    );
    await site.stop();
    const replayed = await replay(realDisk, site.folder);
    if (replayed === null) throw new Error("the folder is empty");
    expect(replayed.state.licenses.size).toBe(1);
    expect(await createSignatureCheck(null)(replayed.state)).toBeNull();
  });

  test("is still refused after the site restarts", async () => {
    const { site, thief, document } = await openWithStolenKey();
    unwrap(await site.vendorTrust.trustVendor(document, "test"));
    await site.stop();
    const next = await openAppliance({ folder: site.folder, licenses: {} });
    expect(await attack("a renewal", next, thief)).toEqual(refusalOf(thief));
  });

  test("can be followed by renewals with the new key, which the site installs at once", async () => {
    const { site, folder, first } = await openWithStolenKey();
    const desk = await Desk.open(realDisk, folder, null);
    expect(findLicensesToReissue(desk, MONDAY).map(({ license_id }) => license_id)).toEqual([
      first.license_id,
    ]);
    const renewal = await issueTestLicense(desk, null, { renewLicenseId: first.license_id });
    expect(renewal.terms).toEqual(first.terms);
    unwrap(await site.licensing.installLicense(renewal.document, "test"));
    expect(findLicensesToReissue(desk, MONDAY)).toEqual([]);
  });

  test("is learned from the certificate of a key that was made after the retirement", async () => {
    const { site, folder, document, first } = await openWithStolenKey();
    await replaceKey(folder);
    const desk = await Desk.open(realDisk, folder, null);
    const renewal = await issueTestLicense(desk, null, { renewLicenseId: first.license_id });
    expect(await site.licensing.installLicense(renewal.document, "test")).toMatchObject({
      ok: false,
      fault: { code: "trust_outdated", version: 2 },
    });
    unwrap(await site.vendorTrust.trustVendor(document, "test"));
    unwrap(await site.licensing.installLicense(renewal.document, "test"));
  });

  test("makes the desk refuse to repeat an answer that it signed", async () => {
    const { desk: thief, folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    await issueTestLicense(thief, request);
    await replaceKey(folder);
    await signNextTrust(folder, { retired: [keyIdOf(thief.issuing.key)] });
    const desk = await Desk.open(realDisk, folder, null);
    expect(await refusal(issueTestLicense(desk, request))).toContain(
      "answered with a key that is now retired",
    );
  });

  test("is shown as retired when the desk inspects a document that it signed", async () => {
    const { desk, first, thief } = await openWithStolenKey();
    const signer = keyIdOf(thief.issuing.key);
    const { verified, verdict } = await inspectDocument(first.document, desk);
    expect([verified, verdict]).toEqual([true, `verified, signed by ${signer}, a retired key`]);
    expect((await inspectDocument(first.document, thief)).verdict).toBe(
      `verified, signed by ${signer}`,
    );
  });
});

const fail = (): never => {
  throw new Error("the desk has no key");
};
