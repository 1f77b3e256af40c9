import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { publicPart } from "../../../src/license/documents/keys.ts";
import { verifyLicense } from "../../../src/license/documents/license.ts";
import { signLicenseRequest, verifyLicenseRequest } from "../../../src/license/requests/request.ts";
import { accountName } from "../../../src/platform/account.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { Desk } from "../../../src/desk/desk.ts";
import { USUAL_OPTIONS } from "../../../src/desk/issuing/issue-options.ts";
import { describeNewRestores } from "../../../src/desk/issuing/request-continuity.ts";
import type { LedgerEntry } from "../../../src/desk/ledger/ledger-entries.ts";
import { expectOk, expectRefusal, openAppliance } from "../../support/appliance.ts";
import { prepareLicense } from "../../../src/desk/issuing/issue.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../../support/desk-and-site.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { hoursLater } from "../../support/scenario.ts";
import { copyFolder } from "../../support/temp-folder.ts";
import { catchDeskRefusal } from "../../support/desk-refusal.ts";
import { MONDAY } from "../../support/scenario.ts";

const readLedger = (folder: string): LedgerEntry[] =>
  readFileSync(join(folder, "ledger.jsonl"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as LedgerEntry & { prev: string })
    .map(({ prev: _prev, ...entry }) => entry);

/** Expects a refusal that leaves the ledger unchanged; returns its text. */
async function refusal(folder: string, attempt: () => Promise<unknown>): Promise<string> {
  const read = () => realDisk.read(join(folder, "ledger.jsonl"));
  const before = read();
  const { message, hint } = await catchDeskRefusal(attempt());
  expect(read()).toEqual(before);
  return `${message}; ${hint}`;
}

describe("an answer to a request", () => {
  test("is a license for that request, appliance and hardware, and the site installs it", async () => {
    const { desk, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const { document, license_id, serial } = await issueTestLicense(desk, request, {
      terms: { slots: 3 },
    });
    const { license } = unwrap(await verifyLicense(document, [desk.vendor]));
    expect(license).toMatchObject({
      iss: desk.vendor.vendor,
      license_id,
      serial: 1,
      request_id: request.request_id,
      nonce: request.nonce,
      appliance: site.services.identity.id,
      cnf: { jwk: publicPart(site.services.identity.key) },
      hardware_id: request.hardware_id,
      terms: { product: "sim", product_name: "sim", slots: 3, timeout_minutes: 15 },
    });
    expect(serial).toBe(1);
    expect(expectOk(await site.upload(document))).toMatchObject({ id: license_id });
  });

  test("has only the public part of the key, also if the request has the private part", async () => {
    const { desk, site, folder } = await openDeskAndSite();
    const { key } = site.services.identity;
    const leaking = await signLicenseRequest({ ...(await makeRequestFrom(site)), jwk: key }, key);
    const request = unwrap(await verifyLicenseRequest(leaking));
    expect(request.jwk).toHaveProperty("d");
    const { document } = await issueTestLicense(desk, request);
    const { license } = unwrap(await verifyLicense(document, [desk.vendor]));
    expect(license.cnf).toEqual({ jwk: publicPart(key) });
    expect(JSON.stringify(readLedger(folder))).not.toContain(key.d);
  });

  test("is on the ledger with the state of the site's audit log", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const issued = await issueTestLicense(desk, request);
    const { request_id, audit, appliance } = request;
    const seen = { type: "seen", at: issued.at, appliance, request_id } as const;
    const auditState = { created_at: request.created_at, audit_seq: audit.seq, sum: audit.sum };
    expect(readLedger(folder)).toEqual<object[]>([
      expect.objectContaining({ type: "trust", version: 1, format: 3 }) as object,
      expect.objectContaining({ type: "key", key: issued.key }) as object,
      { ...seen, ...auditState, totals: [], by: accountName(), together: 2 },
      { ...issued, by: accountName() },
    ]);
    const reopened = await Desk.open(realDisk, folder, null);
    expect(reopened.ledger.issuedEntries()).toEqual([{ ...issued, by: accountName() }]);
  });

  test("is the same document again for the same request and terms", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const first = await issueTestLicense(desk, request, { terms: { slots: 3 } });
    const lines = readLedger(folder).length;
    const later = { terms: { slots: 3 }, now: hoursLater(9) };
    expect((await issueTestLicense(desk, request, later)).document).toBe(first.document);
    const reopened = await Desk.open(realDisk, folder, null);
    expect((await issueTestLicense(reopened, request, later)).document).toBe(first.document);
    expect((await issueTestLicense(desk, request)).document).toBe(first.document);
    expect(readLedger(folder)).toHaveLength(lines);
  });

  test("is refused for the same request with other terms", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    await issueTestLicense(desk, request, { terms: { slots: 3 } });
    const other = () => issueTestLicense(desk, request, { terms: { slots: 4 } });
    expect(await refusal(folder, other)).toContain("already answered with other terms");
  });

  test("needs a product of this vendor, from the request or the terms", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const withoutProduct = await makeRequestFrom(site, null);
    const attempt = () => issueTestLicense(desk, withoutProduct);
    expect(await refusal(folder, attempt)).toContain("--product CODE");
    const foreign = await makeRequestFrom(site, "cad");
    const reason = await refusal(folder, () => issueTestLicense(desk, foreign));
    expect(reason).toContain("cad is not a product of this vendor");
    expect(reason).toContain("sim, ray");
    const issued = await issueTestLicense(desk, withoutProduct, { terms: { product: "ray" } });
    expectOk(await site.upload(issued.document));
  });

  test("is refused for terms that a site would not accept", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const negativeSlots = () => issueTestLicense(desk, request, { terms: { slots: -1 } });
    expect(await refusal(folder, negativeSlots)).toContain(
      "terms: slots must be a whole number from 0",
    );
    const terms = { valid_until: "2026-02-30T00:00:00.000Z" };
    const impossibleDay = () => issueTestLicense(desk, request, { terms });
    expect(await refusal(folder, impossibleDay)).toContain("the terms are not valid");
  });

  test("is refused if its end has passed, which a renewal may set to end a license early", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const past = { terms: { valid_until: "2026-03-02T09:00:00.000Z" } };
    expect(await refusal(folder, () => issueTestLicense(desk, request, past))).toContain(
      "would already have ended",
    );
    const { license_id, document } = await issueTestLicense(desk, request);
    expectOk(await site.upload(document));
    const ended = await issueTestLicense(desk, null, { renewLicenseId: license_id, ...past });
    expectOk(await site.upload(ended.document));
  });
});

describe("requests of two sites with the same request id", () => {
  /** The second site's request contains the request id of the first one. */
  async function twoRequests() {
    const { desk, folder, site } = await openDeskAndSite();
    const other = await openAppliance({ licenses: {} });
    unwrap(await other.vendorTrust.trustVendor(desk.trust.document, "test"));
    const request = await makeRequestFrom(site);
    const copied = { ...(await makeRequestFrom(other)), request_id: request.request_id };
    return { desk, folder, site, request, copied };
  }

  test("are answered separately with equal terms", async () => {
    const { desk, site, request, copied } = await twoRequests();
    const second = await issueTestLicense(desk, copied);
    const first = await issueTestLicense(desk, request);
    expect([second.appliance, first.appliance]).toEqual([copied.appliance, request.appliance]);
    expect(first.license_id).not.toBe(second.license_id);
    expectOk(await site.upload(first.document));
    expect((await issueTestLicense(desk, copied)).document).toBe(second.document);
  });

  test("are answered separately with different terms", async () => {
    const { desk, request, copied } = await twoRequests();
    await issueTestLicense(desk, copied, { terms: { slots: 9 } });
    expect((await issueTestLicense(desk, request, { terms: { slots: 3 } })).terms.slots).toBe(3);
  });
});

describe("a license key", () => {
  const INVISIBLE = [
    ["a zero-width space", "K-PAID-1\u200b"],
    ["a zero-width joiner", "K-PAID\u200d-1"],
    ["a soft hyphen", "K\u00ad-PAID-1"],
    ["a control character", "K-PAID-1\u0007"],
    ["a text direction mark", "\u202eK-PAID-1"],
    ["a line separator", "K-PAID-1\u2028"],
    ["a space at its end", "K-PAID-1 "],
    ["a space at its beginning", " K-PAID-1"],
    ["two spaces in a row", "K  PAID"],
    ["a no-break space", "K\u00a0PAID"],
    ["a blank Braille pattern", "K-PAID-1\u2800"],
    ["a lone surrogate", "K-PAID-1\ud800"],
  ] as const;

  test.each(INVISIBLE)(
    "with %s is refused in a request and as a flag",
    async (_description, key) => {
      const { desk, folder, site } = await openDeskAndSite();
      const request = await makeRequestFrom(site);
      const fromRequest = () => issueTestLicense(desk, { ...request, license_key: key });
      expect(await refusal(folder, fromRequest)).toContain("invisible characters");
      const fromFlag = () => issueTestLicense(desk, request, { licenseKey: key });
      expect(await refusal(folder, fromFlag)).toContain("invisible characters");
      const withKey = { ...request, license_key: key };
      const issued = await issueTestLicense(desk, withKey, { licenseKey: "K-PAID-1" });
      expect(issued.terms.license_key).toBe("K-PAID-1");
    },
  );

  test("is the same key in any Unicode normalization, for one site and for two", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const [nfc, nfd] = ["SCHLÜSSEL 1".normalize("NFC"), "SCHLÜSSEL 1".normalize("NFD")];
    const first = await issueTestLicense(desk, {
      ...(await makeRequestFrom(site)),
      license_key: nfd,
    });
    expect(first.terms.license_key).toBe(nfc);
    const again = await issueTestLicense(desk, {
      ...(await makeRequestFrom(site)),
      license_key: nfc,
    });
    expect(again).toMatchObject({ license_id: first.license_id, serial: 2 });
    const other = await openAppliance({ licenses: {} });
    const otherRequest = { ...(await makeRequestFrom(other, "sim")), license_key: nfd };
    expect(await refusal(folder, () => issueTestLicense(desk, otherRequest))).toContain(
      "another appliance has",
    );
  });

  test("that a desk made is the same key in any spelling, for one site and for two", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const key = "Q041B-B2JE3-Y9WCW-088GG";
    const typed = {
      ...(await makeRequestFrom(site)),
      license_key: " q041b b2je3  y9wcw\u00a0o88gg",
    };
    const first = await issueTestLicense(desk, typed);
    expect(first.terms.license_key).toBe(key);
    const again = await issueTestLicense(desk, await makeRequestFrom(site), {
      licenseKey: "QO41BB2JE3Y9WCWO88GG",
    });
    expect(again).toMatchObject({ license_id: first.license_id, serial: 2 });
    expect(again.terms.license_key).toBe(key);
    expect(desk.ledger.issuedUnder("qo41bb2je3y9wcwo88gg")).toHaveLength(2);
    const other = await openAppliance({ licenses: {} });
    const otherRequest = await makeRequestFrom(other, "sim");
    const issueToOther = (licenseKey: string) =>
      issueTestLicense(desk, otherRequest, { licenseKey });
    expect(await refusal(folder, () => issueToOther(key.toLowerCase()))).toContain(
      "another appliance has",
    );
    // Of a key with a wrong symbol, the spelling is kept.
    const mistyped = await issueToOther("q041b-b2je3-y9wcw-088gh");
    expect(mistyped.terms.license_key).toBe("q041b-b2je3-y9wcw-088gh");
  });

  test("in a terms file is checked like the flag, and the flag takes precedence", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site), { terms: { license_key: "K-1" } });
    const other = await openAppliance({ licenses: {} });
    const otherRequest = await makeRequestFrom(other, "sim");
    const fromTerms = () => issueTestLicense(desk, otherRequest, { terms: { license_key: "K-1" } });
    expect(await refusal(folder, fromTerms)).toContain("another appliance has");
    const withFlag = { terms: { license_key: "K-1" }, licenseKey: "K-2" };
    expect((await issueTestLicense(desk, otherRequest, withFlag)).terms.license_key).toBe("K-2");
  });
});

describe("a second license for a site", () => {
  test("of the same product renews the first one and changes only the named terms", async () => {
    const { desk, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site), {
      terms: { slots: 3, trial: true },
    });
    expectOk(await site.upload(first.document));
    const second = await issueTestLicense(desk, await makeRequestFrom(site), {
      terms: { slots: 9 },
    });
    expect(second).toMatchObject({ license_id: first.license_id, serial: 2 });
    expect(second.terms).toEqual({ ...first.terms, slots: 9 });
    const license = expectOk(await site.upload(second.document));
    expect(license).toMatchObject({ id: first.license_id, floating_users: 9, is_trial: true });
    expectRefusal(await site.upload(first.document), 400, "stale_license");
  });

  test("is a new license for another product, another license key, or with isNew", async () => {
    const { desk, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site, "sim", "K-1"));
    const others = [
      await issueTestLicense(desk, await makeRequestFrom(site, "ray", "K-1")),
      await issueTestLicense(desk, await makeRequestFrom(site, "sim", "K-2")),
      await issueTestLicense(desk, await makeRequestFrom(site, "sim", "K-1"), { isNew: true }),
    ];
    const ids = new Set([first, ...others].map(({ license_id }) => license_id));
    expect(ids.size).toBe(4);
    expect(others.map(({ serial }) => serial)).toEqual([1, 1, 1]);
  });

  test("is refused without --license-id or --new if several licenses could be renewed", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site, "sim", "K-1"));
    await issueTestLicense(desk, await makeRequestFrom(site, "sim", "K-2"));
    const request = await makeRequestFrom(site);
    const reason = await refusal(folder, () => issueTestLicense(desk, request));
    expect(reason).toContain("--license-id ID");
    expect(reason).toContain("--new");
    const byId = await issueTestLicense(desk, request, { licenseId: first.license_id });
    expect(byId).toMatchObject({ license_id: first.license_id, serial: 2 });
    expect(byId.terms.license_key).toBe("K-1");
    const byKey = await issueTestLicense(desk, await makeRequestFrom(site), { licenseKey: "K-1" });
    expect(byKey).toMatchObject({ license_id: first.license_id, serial: 3 });
  });

  // A thief of a key could have signed the highest serial there is.
  test("does not continue a serial that the ledger does not know, and says so", async () => {
    const { desk, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site));
    const request = await makeRequestFrom(site);
    const installed = { license_id: first.license_id, product: "sim", vendor: desk.vendor.vendor };
    const prepareFor = (serial: number) =>
      prepareLicense(desk, {
        ...USUAL_OPTIONS,
        now: MONDAY,
        request: { ...request, licenses: [{ ...installed, serial, total_consumptions: 0 }] },
      });
    expect(prepareFor(Number.MAX_SAFE_INTEGER)).toMatchObject({
      serial: 2,
      unknownSerial: Number.MAX_SAFE_INTEGER,
    });
    expect(prepareFor(2)).toMatchObject({ serial: 2, unknownSerial: 2 });
    expect(prepareFor(1)).toMatchObject({ serial: 2, unknownSerial: null });
  });
});

describe("a renewal without a request", () => {
  test("is installed by a site that has not installed the license before it", async () => {
    const { desk, site } = await openDeskAndSite();
    const { license_id } = await issueTestLicense(desk, await makeRequestFrom(site));
    const terms = { slots: 7 };
    const renewed = await issueTestLicense(desk, null, { renewLicenseId: license_id, terms });
    expect(expectOk(await site.upload(renewed.document)).floating_users).toBe(7);
  });

  test("uses the key and hardware on the ledger, and the site installs it", async () => {
    const { desk, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const first = await issueTestLicense(desk, request);
    expectOk(await site.upload(first.document));
    const renewed = await issueTestLicense(desk, null, {
      renewLicenseId: first.license_id,
      terms: { slots: 7 },
    });
    const { appliance, request_id } = first;
    expect(renewed).toMatchObject({ serial: 2, request_id, appliance });
    const { license } = unwrap(await verifyLicense(renewed.document, [desk.vendor]));
    expect(license).toMatchObject({ request_id, nonce: request.nonce });
    expect(expectOk(await site.upload(renewed.document)).floating_users).toBe(7);
    const again = await issueTestLicense(desk, null, { renewLicenseId: first.license_id });
    expect(again).toMatchObject({ serial: 3, terms: { slots: 7 } });
  });

  test("is refused for a license that is not on the ledger, and without a license id", async () => {
    const { desk, folder } = await openDeskAndSite();
    const unknown = () => issueTestLicense(desk, null, { renewLicenseId: 5 });
    expect(await refusal(folder, unknown)).toContain("license 5 is not in the ledger");
    const terms = { product: "sim", valid_until: null };
    const withoutId = () => issueTestLicense(desk, null, { terms });
    expect(await refusal(folder, withoutId)).toContain("no request to answer");
  });
});

describe("a weak hardware binding", () => {
  const weak = [{ kind: "machine_id", value: "0123456789abcdef0123456789abcdef" }] as const;

  test("to one component is refused without --allow-weak-binding", async () => {
    const { desk, folder, site } = await openDeskAndSite({ components: weak });
    const request = await makeRequestFrom(site);
    const reason = await refusal(folder, () => issueTestLicense(desk, request));
    expect(reason).toContain("--allow-weak-binding");
    const { document } = await issueTestLicense(desk, request, { allowWeakBinding: true });
    expectOk(await site.upload(document));
  });

  test("is any binding with a configured name, whatever other components there are", async () => {
    const named = { kind: "named", value: "container-7" } as const;
    const mac = { kind: "mac", value: "52:54:00:12:34:56" } as const;
    const { desk, folder, site } = await openDeskAndSite({ components: [...weak, mac, named] });
    const request = await makeRequestFrom(site);
    expect(await refusal(folder, () => issueTestLicense(desk, request))).toContain(
      "weak hardware binding",
    );
  });

  test("without any component is refused even with --allow-weak-binding", async () => {
    const { desk, folder, site } = await openDeskAndSite({ components: [] });
    const request = await makeRequestFrom(site);
    const attempt = () => issueTestLicense(desk, request, { allowWeakBinding: true });
    expect(await refusal(folder, attempt)).toContain(
      "run the server on a machine whose hardware can be identified",
    );
  });
});

describe("an audit log that does not continue the last one seen", () => {
  test("is refused without --accept-fork, whose reason is recorded in the ledger", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const copy = copyFolder(site.folder);
    await issueTestLicense(desk, await makeRequestFrom(site));
    const clone = await openAppliance({ folder: copy, licenses: {} });
    const request = await makeRequestFrom(clone);
    const reason = await refusal(folder, () => issueTestLicense(desk, request));
    expect(reason).toContain("does not continue");
    expect(reason).toContain("--accept-fork");
    await issueTestLicense(desk, request, {
      acceptForkReason: "restored from the backup of Monday",
    });
    expect(readLedger(folder).filter(({ type }) => type === "forked")).toMatchObject([
      { request_id: request.request_id, reason: "restored from the backup of Monday" },
    ]);
    await issueTestLicense(desk, await makeRequestFrom(clone));
    expect(
      await refusal(folder, async () => issueTestLicense(desk, await makeRequestFrom(site))),
    ).toContain("does not continue");
  });

  test("is not reported after 63 further requests", async () => {
    const { desk, site } = await openDeskAndSite();
    expectOk(
      await site.upload((await issueTestLicense(desk, await makeRequestFrom(site))).document),
    );
    expectOk(await site.register({ user: "ada", product: "sim" }));
    for (let times = 0; times < 62; times += 1) await site.makeRequestDocument("sim");
    await issueTestLicense(desk, await makeRequestFrom(site), { terms: { slots: 2 } });
  });

  test("is reported after 64 further requests, because the site keeps only 64 heads", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site));
    for (let times = 0; times < 63; times += 1) await site.makeRequestDocument("sim");
    const request = await makeRequestFrom(site);
    expect(await refusal(folder, () => issueTestLicense(desk, request))).toContain(
      "does not continue",
    );
  });

  test("is detected by the hash, even if the last request is among the heads", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site));
    const request = await makeRequestFrom(site);
    const heads = request.heads.map((head) => ({ ...head, sum: "0".repeat(64) }));
    const forged = () => issueTestLicense(desk, { ...request, heads });
    expect(await refusal(folder, forged)).toContain("does not continue");
  });
});

describe("describeNewRestores", () => {
  const RESTORE = {
    lineage: "0750c28f448078665de0ff89153870f0",
    at: "2026-03-02T12:00:00.000Z",
    seq: 24,
    replaced: 31,
  };

  test("reports each restore once, with the line that the site had before", async () => {
    const { desk, site } = await openDeskAndSite();
    const request = { ...(await makeRequestFrom(site)), restores: [RESTORE] };
    expect(describeNewRestores(desk, request)).toEqual([
      "the site restored a backup of line 24 on 2026-03-02T12:00:00.000Z; before that it was at line 31",
    ]);
    await issueTestLicense(desk, request);
    const later = { ...(await makeRequestFrom(site)), restores: [RESTORE] };
    expect(describeNewRestores(desk, later)).toEqual([]);
    const again = { ...RESTORE, lineage: "f".repeat(32), replaced: null };
    expect(describeNewRestores(desk, { ...later, restores: [RESTORE, again] })).toEqual([
      "the site restored a backup of line 24 on 2026-03-02T12:00:00.000Z",
    ]);
  });

  test("reports nothing for a site without restores", async () => {
    const { desk, site } = await openDeskAndSite();
    expect(describeNewRestores(desk, await makeRequestFrom(site))).toEqual([]);
  });
});
