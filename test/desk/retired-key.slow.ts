import { describe, expect, test } from "bun:test";
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { createSignatureCheck } from "../../src/operations/folder/folder-checks.ts";
import { err } from "../../src/domain/result.ts";
import { DAY, instant, later, SECOND } from "../../src/domain/time.ts";
import { keyIdOf, generateKey, publicPart } from "../../src/license/documents/keys.ts";
import { decodeTimeCode, signTimeDocument } from "../../src/license/documents/time-document.ts";
import { signTrustDocument } from "../../src/license/documents/trust.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { replay } from "../../src/store/journal/replay.ts";
import { confirmActivation, createPolicy } from "../../src/desk/issuing/airgap.ts";
import { Desk, type KeyRetirement } from "../../src/desk/desk.ts";
import { inspectDocument } from "../../src/desk/inspect-document.ts";
import { findLicensesToReissue } from "../../src/desk/ledger/license-list.ts";
import { expectOk, openAppliance, type Appliance } from "../support/appliance.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../support/desk-and-site.ts";
import { unwrap } from "../support/licensed-store.ts";
import { MONDAY } from "../support/scenario.ts";
import { catchDeskRefusal } from "../support/desk-refusal.ts";

const REFUSAL = err({
  code: "invalid_license_file" as const,
  problem: { wrong: "retired_key" as const },
});

const AT_ONCE: KeyRetirement = { from: null };

/** A site with a license, and a desk that rotated its key; `thief` has the earlier key. */
async function openWithStolenKey(retirement: KeyRetirement) {
  const { desk: thief, folder, site } = await openDeskAndSite();
  const first = await issueTestLicense(thief, await makeRequestFrom(site), { terms: { slots: 1 } });
  unwrap(await site.licensing.installLicense(first.document, "test"));
  const desk = await thief.rotateKey(realDisk, folder, null, retirement);
  const document = readFileSync(join(folder, "successor-2.jwt"), "utf8");
  return { thief, desk, folder, site, first, document };
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
    const policy = await createPolicy(thief, "P", { product: "sim" }, MONDAY);
    const { confirmation_code } = await confirmActivation(thief, {
      policy,
      licenseKey: "K-1",
      activationCode: activation.code,
      initializationCode: "",
      validUntil: null,
      serial: null,
      allowWeakBinding: false,
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
    const time = await signTimeDocument({ iss: thief.vendor.vendor, iat, ...request }, thief.key);
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

describe("a key that is retired at once", () => {
  test.each(Object.keys(ATTACKS))(
    "cannot sign %s for a site that has the retirement",
    async (name) => {
      const { site, thief, document } = await openWithStolenKey(AT_ONCE);
      unwrap(await site.vendorTrust.trustVendor(document, "test"));
      expect(await attack(name, site, thief)).toEqual(REFUSAL);
    },
  );

  test.each(Object.keys(ATTACKS))(
    "can sign %s for a site that does not have the retirement yet",
    async (name) => {
      const { site, thief } = await openWithStolenKey(AT_ONCE);
      expect(await attack(name, site, thief)).toMatchObject({ ok: true });
    },
  );

  test("cannot sign a trust document, not even one that revokes the retirement", async () => {
    const { site, thief, document, desk } = await openWithStolenKey(AT_ONCE);
    unwrap(await site.vendorTrust.trustVendor(document, "test"));
    const newKey = publicPart(await generateKey());
    const { retired: _, ...unretired } = desk.vendor;
    for (const vendor of [
      { ...thief.vendor, version: 9 },
      { ...unretired, version: 9 },
      { ...desk.vendor, version: 9, keys: [newKey, ...desk.vendor.keys] },
    ]) {
      const forged = await signTrustDocument(vendor, thief.key);
      expect(await site.vendorTrust.trustVendor(forged, "test")).toEqual(REFUSAL);
    }
    const again = await site.vendorTrust.trustVendor(document, "test");
    expect(again).toMatchObject({ ok: true, value: { version: 2 } });
  });

  test.each(Object.keys(ATTACKS))(
    "signs %s that is installed before the retirement or not at all, if both arrive together",
    async (name) => {
      const types = "VendorTrusted,LicenseInstalled,ClockSetBack";
      // A little later in each round: in some rounds the signature is checked before the retirement
      // takes effect, and the document is installed after it.
      for (let round = 0; round < 40; round += 1) {
        const { site, thief, document } = await openWithStolenKey(AT_ONCE);
        const install = await prepareAttack(name, site, thief);
        const trusting = site.vendorTrust.trustVendor(document, "test");
        for (let tick = 0; tick < round; tick += 1) await Promise.resolve();
        await Promise.all([trusting, install()]);
        const [, page] = await site.get(`/api/admin/v1/audit?type=${types}&limit=1`);
        expect(page).toMatchObject({ events: [{ type: "VendorTrusted" }] });
      }
    },
  );

  test("cannot revoke the retirement with a document that arrives at the same time", async () => {
    const { site, thief, document } = await openWithStolenKey(AT_ONCE);
    const forged = await signTrustDocument({ ...thief.vendor, version: 3 }, thief.key);
    const [genuine, forgery] = await Promise.all([
      site.vendorTrust.trustVendor(document, "test"),
      site.vendorTrust.trustVendor(forged, "test"),
    ]);
    // The first one counts; the other was checked with keys that have changed since.
    expect([genuine.ok, forgery.ok].filter(Boolean)).toHaveLength(1);
    const vendors = unwrap(await site.vendorTrust.listVendors());
    const vendor = vendors.find((entry) => entry.vendor === thief.vendor.vendor);
    expect(vendor?.version).toBe(genuine.ok ? 2 : 3);
  });

  test("is named in the site's audit log", async () => {
    const { site, thief, document } = await openWithStolenKey(AT_ONCE);
    unwrap(await site.vendorTrust.trustVendor(document, "test"));
    const [, text] = await site.get("/api/admin/v1/audit?type=VendorTrusted");
    expect(JSON.stringify(text)).toContain(`"retired_keys":["${keyIdOf(thief.key)}"]`);
    expect(JSON.stringify(text)).toContain("; 1 retired key");
  });

  test("leaves installed licenses valid, after a restart and when they are installed again", async () => {
    const { site, document, first } = await openWithStolenKey(AT_ONCE);
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
    const { site, thief, document } = await openWithStolenKey(AT_ONCE);
    unwrap(await site.vendorTrust.trustVendor(document, "test"));
    await site.stop();
    const next = await openAppliance({ folder: site.folder, licenses: {} });
    expect(await attack("a renewal", next, thief)).toEqual(REFUSAL);
  });

  test("can be followed by renewals with the new key, which the site installs", async () => {
    const { site, document, folder, first } = await openWithStolenKey(AT_ONCE);
    const desk = await Desk.open(realDisk, folder, null);
    expect(findLicensesToReissue(desk, MONDAY).map(({ license_id }) => license_id)).toEqual([
      first.license_id,
    ]);
    const renewal = await issueTestLicense(desk, null, { renewLicenseId: first.license_id });
    expect(renewal.terms).toEqual(first.terms);
    expect((await site.licensing.installLicense(renewal.document, "test")).ok).toBe(false);
    unwrap(await site.vendorTrust.trustVendor(document, "test"));
    const installed = unwrap(await site.licensing.installLicense(renewal.document, "test"));
    expect([installed.id, installed.terms.slots]).toEqual([first.license_id, 1]);
    expect(findLicensesToReissue(desk, MONDAY)).toEqual([]);
  });

  test("makes the desk refuse to repeat an answer that it signed", async () => {
    const { desk: thief, folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    await issueTestLicense(thief, request);
    const desk = await thief.rotateKey(realDisk, folder, null, AT_ONCE);
    expect(await refusal(issueTestLicense(desk, request))).toContain(
      "answered with a key that is now retired",
    );
  });

  test("is shown as retired when the desk inspects a document that it signed", async () => {
    const { desk, first, thief } = await openWithStolenKey(AT_ONCE);
    const signer = keyIdOf(thief.key);
    const { verified, verdict } = await inspectDocument(first.document, desk);
    expect([verified, verdict]).toEqual([true, `verified, signed by ${signer}, a retired key`]);
    expect((await inspectDocument(first.document, thief)).verdict).toBe(
      `verified, signed by ${signer}`,
    );
  });

  test("cannot be used to open the desk when its file is put back", async () => {
    const { folder, thief } = await openWithStolenKey(AT_ONCE);
    renameSync(join(folder, `${keyIdOf(thief.key)}.vendor.jwk`), join(folder, "vendor.jwk"));
    expect(await refusal(Desk.open(realDisk, folder, null))).toContain(
      "is retired and can no longer sign",
    );
  });
});

describe("a key that is retired from a later day on", () => {
  const DAY_AFTER = later(MONDAY, 2 * DAY);

  test.each(Object.keys(ATTACKS))(
    "can sign %s before that day and not from that day on",
    async (name) => {
      const before = await openWithStolenKey({ from: DAY_AFTER });
      unwrap(await before.site.vendorTrust.trustVendor(before.document, "test"));
      before.site.clock.now = instant(DAY_AFTER - 1);
      expect(await attack(name, before.site, before.thief)).toMatchObject({ ok: true });
      const after = await openWithStolenKey({ from: DAY_AFTER });
      unwrap(await after.site.vendorTrust.trustVendor(after.document, "test"));
      after.site.clock.now = DAY_AFTER;
      expect(await attack(name, after.site, after.thief)).toEqual(REFUSAL);
    },
  );

  test("cannot sign a trust document even before that day", async () => {
    const { site, thief, document } = await openWithStolenKey({ from: DAY_AFTER });
    unwrap(await site.vendorTrust.trustVendor(document, "test"));
    const forged = await signTrustDocument({ ...thief.vendor, version: 9 }, thief.key);
    expect(await site.vendorTrust.trustVendor(forged, "test")).toEqual(REFUSAL);
  });

  test("is retired with every earlier key, and a later document cannot postpone it", async () => {
    const { desk, folder, thief } = await openWithStolenKey({ from: DAY_AFTER });
    const third = await desk.rotateKey(realDisk, folder, null, { from: later(DAY_AFTER, DAY) });
    expect(third.vendor.retired).toEqual([
      { key: keyIdOf(desk.key), from: later(DAY_AFTER, DAY) / SECOND },
      { key: keyIdOf(thief.key), from: DAY_AFTER / SECOND },
    ]);
    const sooner = await third.rotateKey(realDisk, folder, null, { from: MONDAY });
    expect(sooner.vendor.retired?.map(({ from }) => from)).toEqual(
      [MONDAY, MONDAY, MONDAY].map((at) => at / SECOND),
    );
    const fourth = await sooner.rotateKey(realDisk, folder, null);
    expect(fourth.vendor.retired).toEqual(sooner.vendor.retired);
    const fifth = await fourth.rotateKey(realDisk, folder, null, AT_ONCE);
    expect(fifth.vendor.retired).toEqual(
      [fourth, sooner, third, desk, thief].map(({ key }) => ({ key: keyIdOf(key) })),
    );
    expect((await Desk.open(realDisk, folder, null)).vendor).toEqual(fifth.vendor);
  });
});
