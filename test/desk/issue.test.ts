import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { publicPart } from "../../src/license/keys.ts";
import { verifyLicense } from "../../src/license/license.ts";
import { signTrustDocument } from "../../src/license/trust.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { describeNewRestores } from "../../src/desk/request-continuity.ts";
import { DeskRefused } from "../../src/desk/desk-refused.ts";
import type { LedgerEntry } from "../../src/desk/ledger.ts";
import { expectOk, expectRefusal, openAppliance } from "../support/appliance.ts";
import { issueTestLicense, openDeskAndSite, makeRequestFrom } from "../support/desk-and-site.ts";
import { unwrap } from "../support/licensed-store.ts";
import { hoursLater } from "../support/scenario.ts";
import { copyFolder } from "../support/temp-folder.ts";

const ledgerIn = (folder: string): LedgerEntry[] =>
  readFileSync(join(folder, "ledger.jsonl"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as LedgerEntry & { prev: string })
    .map(({ prev: _prev, ...entry }) => entry);

/** Refused, and nothing was put on the ledger for it; gives the reason. */
async function refusal(folder: string, act: () => Promise<unknown>): Promise<string> {
  const read = () => realDisk.read(join(folder, "ledger.jsonl"));
  const before = read();
  const error: unknown = await act().then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(DeskRefused);
  expect(read()).toEqual(before);
  return error instanceof DeskRefused ? `${error.message}; ${error.hint}` : "";
}

describe("an answer", () => {
  test("is a license for just that request, appliance and hardware, and the site takes it", async () => {
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

  test("is on the ledger, with how the site stood, for whoever opens the desk next", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const one = await issueTestLicense(desk, request);
    const { request_id, audit, appliance } = request;
    const seen = { type: "seen", at: one.at, appliance, request_id } as const;
    const stood = { created_at: request.created_at, audit_seq: audit.seq, sum: audit.sum };
    expect(ledgerIn(folder)).toEqual([{ ...seen, ...stood, totals: [] }, one]);
    const again = await Desk.open(realDisk, folder, null);
    expect(again.ledger.issuedEntries()).toEqual([one]);
  });

  test("to the same request with the same terms is the same document", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const first = await issueTestLicense(desk, request, { terms: { slots: 3 } });
    const lines = ledgerIn(folder).length;
    const later = { terms: { slots: 3 }, now: hoursLater(9) };
    expect((await issueTestLicense(desk, request, later)).document).toBe(first.document);
    const reopened = await Desk.open(realDisk, folder, null);
    expect((await issueTestLicense(reopened, request, later)).document).toBe(first.document);
    expect((await issueTestLicense(desk, request)).document).toBe(first.document);
    expect(ledgerIn(folder)).toHaveLength(lines);
  });

  test("to the same request with other terms is refused", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    await issueTestLicense(desk, request, { terms: { slots: 3 } });
    const other = () => issueTestLicense(desk, request, { terms: { slots: 4 } });
    expect(await refusal(folder, other)).toContain("already answered with other terms");
  });

  test("needs a product, of the request or of the desk, that the vendor may license", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const open = await makeRequestFrom(site, null);
    expect(await refusal(folder, () => issueTestLicense(desk, open))).toContain("--product CODE");
    const foreign = await makeRequestFrom(site, "cad");
    const reason = await refusal(folder, () => issueTestLicense(desk, foreign));
    expect(reason).toContain("cad is not a product of this vendor");
    expect(reason).toContain("sim, ray");
    const named = await issueTestLicense(desk, open, { terms: { product: "ray" } });
    expectOk(await site.upload(named.document));
  });

  test("has terms a site would take", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const few = () => issueTestLicense(desk, request, { terms: { slots: -1 } });
    expect(await refusal(folder, few)).toContain("terms: slots must be a whole number from 0");
    const terms = { valid_until: "2026-02-30T00:00:00.000Z" };
    const noDay = () => issueTestLicense(desk, request, { terms });
    expect(await refusal(folder, noDay)).toContain("the terms are not valid");
  });

  test("is not over already; a renewal may be, to end a license early", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const over = { terms: { valid_until: "2026-03-02T09:00:00.000Z" } };
    expect(await refusal(folder, () => issueTestLicense(desk, request, over))).toContain(
      "would already have ended",
    );
    const { license_id, document } = await issueTestLicense(desk, request);
    expectOk(await site.upload(document));
    const ended = await issueTestLicense(desk, null, { renewLicenseId: license_id, ...over });
    expectOk(await site.upload(ended.document));
  });
});

describe("two sites with one request id", () => {
  /** Another site, whose request was signed again with the first one's id in it. */
  async function twoRequests() {
    const { desk, folder, site } = await openDeskAndSite();
    const other = await openAppliance({ licenses: {} });
    unwrap(
      await other.licensing.trustVendor(await signTrustDocument(desk.vendor, desk.key), "test"),
    );
    const request = await makeRequestFrom(site);
    const copied = { ...(await makeRequestFrom(other)), request_id: request.request_id };
    return { desk, folder, site, request, copied };
  }

  test("are answered each for itself, with equal terms", async () => {
    const { desk, site, request, copied } = await twoRequests();
    const theirs = await issueTestLicense(desk, copied);
    const ours = await issueTestLicense(desk, request);
    expect([theirs.appliance, ours.appliance]).toEqual([copied.appliance, request.appliance]);
    expect(ours.license_id).not.toBe(theirs.license_id);
    expectOk(await site.upload(ours.document));
    expect((await issueTestLicense(desk, copied)).document).toBe(theirs.document);
  });

  test("are answered each for itself, with other terms", async () => {
    const { desk, request, copied } = await twoRequests();
    await issueTestLicense(desk, copied, { terms: { slots: 9 } });
    expect((await issueTestLicense(desk, request, { terms: { slots: 3 } })).terms.slots).toBe(3);
  });
});

describe("a license key", () => {
  const UNSEEN = [
    ["a zero-width space", "K-PAID-1\u200b"],
    ["a zero-width joiner", "K-PAID\u200d-1"],
    ["a soft hyphen", "K\u00ad-PAID-1"],
    ["a control character", "K-PAID-1\u0007"],
    ["a change of direction", "\u202eK-PAID-1"],
    ["a line separator", "K-PAID-1\u2028"],
    ["a space at its end", "K-PAID-1 "],
    ["a space at its beginning", " K-PAID-1"],
    ["two spaces in a row", "K  PAID"],
    ["a space that does not break", "K\u00a0PAID"],
    ["a blank that is no space", "K-PAID-1\u2800"],
    ["half a character", "K-PAID-1\ud800"],
  ] as const;

  test.each(UNSEEN)("with %s is refused in a request and as a flag", async (_what, key) => {
    const { desk, folder, site } = await openDeskAndSite();
    const request = await makeRequestFrom(site);
    const asked = () => issueTestLicense(desk, { ...request, license_key: key });
    expect(await refusal(folder, asked)).toContain("invisible characters");
    const said = () => issueTestLicense(desk, request, { licenseKey: key });
    expect(await refusal(folder, said)).toContain("invisible characters");
    const named = { ...request, license_key: key };
    const right = await issueTestLicense(desk, named, { licenseKey: "K-PAID-1" });
    expect(right.terms.license_key).toBe("K-PAID-1");
  });

  test("is the same key in any Unicode spelling, for one site and for two", async () => {
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
    const theirs = { ...(await makeRequestFrom(other, "sim")), license_key: nfd };
    expect(await refusal(folder, () => issueTestLicense(desk, theirs))).toContain(
      "another appliance has",
    );
  });

  test("in a file of terms counts as the flag does, which goes before it", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site), { terms: { license_key: "K-1" } });
    const other = await openAppliance({ licenses: {} });
    const theirs = await makeRequestFrom(other, "sim");
    const named = () => issueTestLicense(desk, theirs, { terms: { license_key: "K-1" } });
    expect(await refusal(folder, named)).toContain("another appliance has");
    const flagged = { terms: { license_key: "K-1" }, licenseKey: "K-2" };
    expect((await issueTestLicense(desk, theirs, flagged)).terms.license_key).toBe("K-2");
  });
});

describe("a second license for a site", () => {
  test("of the same product renews the first: next serial, terms as before but for those given", async () => {
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

  test("is another one for another product, another key, or when asked to be", async () => {
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

  test("has to be told which one it renews, where there are several", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site, "sim", "K-1"));
    await issueTestLicense(desk, await makeRequestFrom(site, "sim", "K-2"));
    const request = await makeRequestFrom(site);
    const reason = await refusal(folder, () => issueTestLicense(desk, request));
    expect(reason).toContain("--license-id ID");
    expect(reason).toContain("--new");
    const named = await issueTestLicense(desk, request, { licenseId: first.license_id });
    expect(named).toMatchObject({ license_id: first.license_id, serial: 2 });
    expect(named.terms.license_key).toBe("K-1");
    const keyed = await issueTestLicense(desk, await makeRequestFrom(site), { licenseKey: "K-1" });
    expect(keyed).toMatchObject({ license_id: first.license_id, serial: 3 });
  });

  test("has a serial past the one the site says it has", async () => {
    const { desk, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site));
    const request = await makeRequestFrom(site);
    const about = { license_id: first.license_id, product: "sim", vendor: desk.vendor.vendor };
    const licenses = [{ ...about, serial: 41, total_consumptions: 0 }];
    expect((await issueTestLicense(desk, { ...request, licenses })).serial).toBe(42);
  });
});

describe("a renewal that nobody asked for", () => {
  test("takes key and hardware from the ledger, and the site takes it", async () => {
    const { desk, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site));
    expectOk(await site.upload(first.document));
    const renewed = await issueTestLicense(desk, null, {
      renewLicenseId: first.license_id,
      terms: { slots: 7 },
    });
    expect(renewed).toMatchObject({ serial: 2, request_id: null, appliance: first.appliance });
    const { license } = unwrap(await verifyLicense(renewed.document, [desk.vendor]));
    expect(license).toMatchObject({ request_id: null, nonce: null });
    expect(expectOk(await site.upload(renewed.document)).floating_users).toBe(7);
    const again = await issueTestLicense(desk, null, { renewLicenseId: first.license_id });
    expect(again).toMatchObject({ serial: 3, terms: { slots: 7 } });
  });

  test("is refused for a license that is not on the ledger, and for none", async () => {
    const { desk, folder } = await openDeskAndSite();
    const unknown = () => issueTestLicense(desk, null, { renewLicenseId: 5 });
    expect(await refusal(folder, unknown)).toContain("license 5 is not in the ledger");
    const nothing = () => issueTestLicense(desk, null, { terms: { product: "sim" } });
    expect(await refusal(folder, nothing)).toContain("no request to answer");
  });
});

describe("weak binding", () => {
  const weak = [{ kind: "machine_id", value: "0123456789abcdef0123456789abcdef" }] as const;

  test("of one part of the hardware is refused, unless somebody says so", async () => {
    const { desk, folder, site } = await openDeskAndSite({ components: weak });
    const request = await makeRequestFrom(site);
    const reason = await refusal(folder, () => issueTestLicense(desk, request));
    expect(reason).toContain("--allow-weak-binding");
    const { document } = await issueTestLicense(desk, request, { allowWeakBinding: true });
    expectOk(await site.upload(document));
  });

  test("of a name is weak, however much else there is", async () => {
    const named = { kind: "named", value: "container-7" } as const;
    const mac = { kind: "mac", value: "52:54:00:12:34:56" } as const;
    const { desk, folder, site } = await openDeskAndSite({ components: [...weak, mac, named] });
    const request = await makeRequestFrom(site);
    expect(await refusal(folder, () => issueTestLicense(desk, request))).toContain(
      "weak hardware binding",
    );
  });

  test("to nothing at all is never signed", async () => {
    const { desk, folder, site } = await openDeskAndSite({ components: [] });
    const request = await makeRequestFrom(site);
    const act = () => issueTestLicense(desk, request, { allowWeakBinding: true });
    expect(await refusal(folder, act)).toContain(
      "run the server on a machine whose hardware can be identified",
    );
  });
});

describe("a record that does not continue the one seen last", () => {
  test("stops the desk until somebody gives a reason, which is on the ledger", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const copy = copyFolder(site.folder);
    await issueTestLicense(desk, await makeRequestFrom(site));
    const cloned = await openAppliance({ folder: copy, licenses: {} });
    const request = await makeRequestFrom(cloned);
    const reason = await refusal(folder, () => issueTestLicense(desk, request));
    expect(reason).toContain("does not continue");
    expect(reason).toContain("--accept-fork");
    await issueTestLicense(desk, request, {
      acceptForkReason: "restored from the backup of Monday",
    });
    expect(ledgerIn(folder).filter(({ type }) => type === "forked")).toMatchObject([
      { request_id: request.request_id, reason: "restored from the backup of Monday" },
    ]);
    await issueTestLicense(desk, await makeRequestFrom(cloned));
    expect(
      await refusal(folder, async () => issueTestLicense(desk, await makeRequestFrom(site))),
    ).toContain("does not continue");
  });

  test("is not one that went on, whatever happened in between", async () => {
    const { desk, site } = await openDeskAndSite();
    expectOk(
      await site.upload((await issueTestLicense(desk, await makeRequestFrom(site))).document),
    );
    expectOk(await site.register({ user: "ada", product: "sim" }));
    for (let times = 0; times < 62; times += 1) await site.makeRequestDocument("sim");
    await issueTestLicense(desk, await makeRequestFrom(site), { terms: { slots: 2 } });
  });

  test("is one that has gone on for 64 requests and more", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site));
    for (let times = 0; times < 63; times += 1) await site.makeRequestDocument("sim");
    const request = await makeRequestFrom(site);
    expect(await refusal(folder, () => issueTestLicense(desk, request))).toContain(
      "does not continue",
    );
  });

  test("is told by the hash, though the request is among the heads", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site));
    const request = await makeRequestFrom(site);
    const heads = request.heads.map((head) => ({ ...head, sum: "0".repeat(64) }));
    const forged = () => issueTestLicense(desk, { ...request, heads });
    expect(await refusal(folder, forged)).toContain("does not continue");
  });
});

describe("a backup that was brought back", () => {
  const RESTORE = {
    lineage: "0750c28f448078665de0ff89153870f0",
    at: "2026-03-02T12:00:00.000Z",
    seq: 24,
    replaced: 31,
  };

  test("is told once, with what the site gave up", async () => {
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

  test("is no matter for a site that never did", async () => {
    const { desk, site } = await openDeskAndSite();
    expect(describeNewRestores(desk, await makeRequestFrom(site))).toEqual([]);
  });
});
