import { describe, expect, test } from "bun:test";
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { createSignatureCheck } from "../../src/cli/folder-checks.ts";
import { err } from "../../src/domain/result.ts";
import { DAY, instant, later, SECOND } from "../../src/domain/time.ts";
import { keyIdOf, generateKey, publicPart } from "../../src/license/keys.ts";
import { decodeTimeCode, signTimeDocument } from "../../src/license/time-document.ts";
import { signTrustDocument } from "../../src/license/trust.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { replay } from "../../src/store/replay.ts";
import { confirmActivation, createPolicy } from "../../src/desk/airgap.ts";
import { Desk, type KeyRetirement } from "../../src/desk/desk.ts";
import { inspectDocument } from "../../src/desk/inspect-document.ts";
import { findLicensesToReissue } from "../../src/desk/license-list.ts";
import { DeskRefused } from "../../src/desk/desk-refused.ts";
import { expectOk, openAppliance, type Appliance } from "../support/appliance.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../support/desk-and-site.ts";
import { unwrap } from "../support/licensed-store.ts";
import { MONDAY } from "../support/scenario.ts";

const RETIRED = "is signed with a key that its vendor retired";
const REFUSED = err({ code: "invalid_license_file" as const, reason: RETIRED });

const NOW: KeyRetirement = { from: null };

/** A site with a license; then the vendor's key is stolen, and `thief` is who holds it. */
async function stolen(retirement: KeyRetirement) {
  const { desk: thief, folder, site } = await openDeskAndSite();
  const first = await issueTestLicense(thief, await makeRequestFrom(site), { terms: { slots: 1 } });
  unwrap(await site.licensing.installLicense(first.document, "test"));
  const desk = await thief.rotateKey(realDisk, folder, null, retirement);
  const document = readFileSync(join(folder, "successor-2.jwt"), "utf8");
  return { thief, desk, folder, site, first, document };
}

async function refusal(act: Promise<unknown>): Promise<string> {
  try {
    await act;
  } catch (error) {
    if (error instanceof DeskRefused) return error.message;
    throw error;
  }
  throw new Error("it was not refused");
}

/** Brings in what was signed. */
type Act = () => Promise<unknown>;

/** Everything a vendor's key can sign for a site, as a thief of it would, dated long ago. */
const ATTACKS: Readonly<Record<string, (site: Appliance, thief: Desk) => Promise<Act>>> = {
  async "a license that answers a request"(site, thief) {
    const made = await issueTestLicense(thief, await makeRequestFrom(site, "ray"), {
      now: instant(MONDAY - 300 * DAY),
    });
    return () => site.licensing.installLicense(made.document, "test");
  },
  async "a renewal"(site, thief) {
    const [license] = thief.ledger.issuedEntries();
    const renew = license?.license_id ?? 0;
    const made = await issueTestLicense(thief, null, {
      renewLicenseId: renew,
      now: instant(MONDAY - 300 * DAY),
    });
    return () => site.licensing.installLicense(made.document, "test");
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
    const asked = { licenseKey: "K-1", policyId: "P", code: confirmation_code, peer: "test" };
    return () => site.services.airgap.installLicense({ policy, ...asked });
  },
  async "a time"(site, thief) {
    const made = await site.post<{ code: string }>("/api/admin/v1/clock/request", {});
    const asked = decodeTimeCode(expectOk(made).code);
    if (asked === null) throw new Error("not a clock code");
    const iat = Math.floor(site.clock.now / SECOND) - 60;
    const time = await signTimeDocument({ iss: thief.vendor.vendor, iat, ...asked }, thief.key);
    return () => site.services.timekeeping.applyTimeDocument(time, "test");
  },
};

async function prepare(name: string, site: Appliance, thief: Desk): Promise<Act> {
  const signed = ATTACKS[name];
  if (signed === undefined) throw new Error(`there is no attack ${name}`);
  return signed(site, thief);
}

const attack = async (name: string, site: Appliance, thief: Desk): Promise<unknown> =>
  (await prepare(name, site, thief))();

describe("a key that is retired at once", () => {
  test.each(Object.keys(ATTACKS))("signs %s that no site takes any more", async (name) => {
    const { site, thief, document } = await stolen(NOW);
    unwrap(await site.licensing.trustVendor(document, "test"));
    expect(await attack(name, site, thief)).toEqual(REFUSED);
  });

  test.each(Object.keys(ATTACKS))(
    "signs %s that a site takes which does not know of it yet",
    async (name) => {
      const { site, thief } = await stolen(NOW);
      expect(await attack(name, site, thief)).toMatchObject({ ok: true });
    },
  );

  test("signs no trust document any more, not even one that takes the retirement back", async () => {
    const { site, thief, document, desk } = await stolen(NOW);
    unwrap(await site.licensing.trustVendor(document, "test"));
    const own = publicPart(await generateKey());
    const { retired: _, ...unretired } = desk.vendor;
    for (const vendor of [
      { ...thief.vendor, version: 9 },
      { ...unretired, version: 9 },
      { ...desk.vendor, version: 9, keys: [own, ...desk.vendor.keys] },
    ]) {
      const forged = await signTrustDocument(vendor, thief.key);
      expect(await site.licensing.trustVendor(forged, "test")).toEqual(REFUSED);
    }
    const again = await site.licensing.trustVendor(document, "test");
    expect(again).toMatchObject({ ok: true, value: { version: 2 } });
  });

  test.each(Object.keys(ATTACKS))(
    "signs %s that comes in before the retirement or not at all, when both arrive at once",
    async (name) => {
      const types = "VendorTrusted,LicenseInstalled,ClockSetBack";
      // A little later in each round: in some of them its signature is checked before the other
      // document counts, and its turn comes after.
      for (let round = 0; round < 40; round += 1) {
        const { site, thief, document } = await stolen(NOW);
        const act = await prepare(name, site, thief);
        const trusting = site.licensing.trustVendor(document, "test");
        for (let turn = 0; turn < round; turn += 1) await Promise.resolve();
        await Promise.all([trusting, act()]);
        const [, page] = await site.get(`/api/admin/v1/audit?type=${types}&limit=1`);
        expect(page).toMatchObject({ events: [{ type: "VendorTrusted" }] });
      }
    },
  );

  test("cannot take the retirement back by a document that arrives in the same instant", async () => {
    const { site, thief, document } = await stolen(NOW);
    const forged = await signTrustDocument({ ...thief.vendor, version: 3 }, thief.key);
    const [honest, thiefs] = await Promise.all([
      site.licensing.trustVendor(document, "test"),
      site.licensing.trustVendor(forged, "test"),
    ]);
    // Whichever is first counts; the other one was checked with keys that are no longer the same.
    expect([honest.ok, thiefs.ok].filter(Boolean)).toHaveLength(1);
    const known = unwrap(await site.licensing.vendors());
    const vendor = known.find((one) => one.vendor === thief.vendor.vendor);
    expect(vendor?.version).toBe(honest.ok ? 2 : 3);
  });

  test("is named in the site's audit log", async () => {
    const { site, thief, document } = await stolen(NOW);
    unwrap(await site.licensing.trustVendor(document, "test"));
    const [, text] = await site.get("/api/admin/v1/audit?type=VendorTrusted");
    expect(JSON.stringify(text)).toContain(`"retired_keys":["${keyIdOf(thief.key)}"]`);
    expect(JSON.stringify(text)).toContain("; 1 retired key");
  });

  test("leaves what was installed before valid, at a start and when it is sent again", async () => {
    const { site, document, first } = await stolen(NOW);
    unwrap(await site.licensing.trustVendor(document, "test"));
    expect(unwrap(await site.licensing.installLicense(first.document, "test")).id).toBe(
      first.license_id,
    );
    await site.stop();
    const replayed = await replay(realDisk, site.folder);
    if (replayed === null) throw new Error("the folder is empty");
    expect(replayed.state.licenses.size).toBe(1);
    expect(await createSignatureCheck(null)(replayed.state)).toBeNull();
  });

  test("is still refused after the site was started again", async () => {
    const { site, thief, document } = await stolen(NOW);
    unwrap(await site.licensing.trustVendor(document, "test"));
    await site.stop();
    const next = await openAppliance({ folder: site.folder, licenses: {} });
    expect(await attack("a renewal", next, thief)).toEqual(REFUSED);
  });

  test("is followed by licenses that the new key signs, and the site takes them", async () => {
    const { site, document, folder, first } = await stolen(NOW);
    const desk = await Desk.open(realDisk, folder, null);
    expect(findLicensesToReissue(desk, MONDAY).map(({ license_id }) => license_id)).toEqual([
      first.license_id,
    ]);
    const renewal = await issueTestLicense(desk, null, { renewLicenseId: first.license_id });
    expect(renewal.terms).toEqual(first.terms);
    expect((await site.licensing.installLicense(renewal.document, "test")).ok).toBe(false);
    unwrap(await site.licensing.trustVendor(document, "test"));
    const installed = unwrap(await site.licensing.installLicense(renewal.document, "test"));
    expect([installed.id, installed.terms.slots]).toEqual([first.license_id, 1]);
    expect(findLicensesToReissue(desk, MONDAY)).toEqual([]);
  });

  test("does not answer a request again with what it signed before", async () => {
    const { desk: thief, folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    await issueTestLicense(thief, request);
    const desk = await thief.rotateKey(realDisk, folder, null, NOW);
    expect(await refusal(issueTestLicense(desk, request))).toContain(
      "answered with a key that is now retired",
    );
  });

  test("is named as retired when the desk inspects what it signed", async () => {
    const { desk, first, thief } = await stolen(NOW);
    const signer = keyIdOf(thief.key);
    const { verified, verdict } = await inspectDocument(first.document, desk);
    expect([verified, verdict]).toEqual([true, `verified, signed by ${signer}, a retired key`]);
    expect((await inspectDocument(first.document, thief)).verdict).toBe(
      `verified, signed by ${signer}`,
    );
  });

  test("does not open the desk any more when its file is put back", async () => {
    const { folder, thief } = await stolen(NOW);
    renameSync(join(folder, `${keyIdOf(thief.key)}.vendor.jwk`), join(folder, "vendor.jwk"));
    expect(await refusal(Desk.open(realDisk, folder, null))).toContain(
      "is retired and can no longer sign",
    );
  });
});

describe("a key that is retired from a day on", () => {
  const DAY_AFTER = later(MONDAY, 2 * DAY);

  test.each(Object.keys(ATTACKS))("signs %s until that day, and not from then on", async (name) => {
    const before = await stolen({ from: DAY_AFTER });
    unwrap(await before.site.licensing.trustVendor(before.document, "test"));
    before.site.clock.now = instant(DAY_AFTER - 1);
    expect(await attack(name, before.site, before.thief)).toMatchObject({ ok: true });
    const after = await stolen({ from: DAY_AFTER });
    unwrap(await after.site.licensing.trustVendor(after.document, "test"));
    after.site.clock.now = DAY_AFTER;
    expect(await attack(name, after.site, after.thief)).toEqual(REFUSED);
  });

  test("signs no trust document even before that day", async () => {
    const { site, thief, document } = await stolen({ from: DAY_AFTER });
    unwrap(await site.licensing.trustVendor(document, "test"));
    const forged = await signTrustDocument({ ...thief.vendor, version: 9 }, thief.key);
    expect(await site.licensing.trustVendor(forged, "test")).toEqual(REFUSED);
  });

  test("is retired with every earlier key, none of them put off by a later document", async () => {
    const { desk, folder, thief } = await stolen({ from: DAY_AFTER });
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
    const fifth = await fourth.rotateKey(realDisk, folder, null, NOW);
    expect(fifth.vendor.retired).toEqual(
      [fourth, sooner, third, desk, thief].map(({ key }) => ({ key: keyIdOf(key) })),
    );
    expect((await Desk.open(realDisk, folder, null)).vendor).toEqual(fifth.vendor);
  });
});
