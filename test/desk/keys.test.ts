// The issuing keys of a desk: certified by the root, replaced, ended, retired.
import { describe, expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Desk, usualPeriod, usualRootFolder } from "../../src/desk/desk.ts";
import { describeDesk } from "../../src/desk/desk-overview.ts";
import { backUpDesk } from "../../src/desk/desk-backup.ts";
import { Root } from "../../src/desk/root.ts";
import { verifyDesk } from "../../src/desk/verify-desk.ts";
import { DAY, HOUR, instant, later } from "../../src/domain/time.ts";
import { signKeyRequest, verifyKeyRequest } from "../../src/license/documents/key-request.ts";
import { generateKey, keyIdOf, publicPart, seedOf } from "../../src/license/documents/keys.ts";
import { verifyLicense } from "../../src/license/documents/license.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { issueTestLicense, makeRequestFrom, openDeskAndSite } from "../support/desk-and-site.ts";
import {
  openRootOf,
  openWithNewKey,
  readText,
  replaceKey,
  signNextTrust,
} from "../support/desk-keys.ts";
import { encryptText } from "../support/encrypted-key.ts";
import { refusal } from "../support/desk-refusal.ts";
import { unwrap } from "../support/licensed-store.ts";
import { contentsOf, tempFolder } from "../support/temp-folder.ts";

async function makeDesk(): Promise<{ readonly desk: Desk; readonly folder: string }> {
  const folder = join(tempFolder(), "desk");
  const options = { name: "Acme", products: ["cad"], passphrase: null };
  return { desk: await Desk.create(realDisk, folder, options), folder };
}

const open = (folder: string, now = wallClock()) => Desk.open(realDisk, folder, null, now);

const accept = (folder: string, cert: string) => Desk.acceptCertificate(realDisk, folder, cert);

const idOf = ({ issuing }: Desk): string => keyIdOf(issuing.key);

const ledgerOf = (folder: string): string => readFileSync(join(folder, "ledger.jsonl"), "utf8");

const statesOf = async (folder: string, now = wallClock()): Promise<string[]> =>
  (await describeDesk(realDisk, folder, now)).keys.map(({ state }) => state);

/** Makes a key at the desk and certifies it; the desk has not accepted the certificate. */
async function certifyNewKey(folder: string, period = {}) {
  const { id, request } = await Desk.makeKey(realDisk, folder, null);
  const { jwk } = unwrap(await verifyKeyRequest(request));
  const cert = await (await openRootOf(folder)).certify(jwk, { ...usualPeriod(), ...period });
  return { id, cert };
}

describe("a new key", () => {
  test("signs nothing until the desk has the root's certificate for it", async () => {
    const { desk, folder } = await makeDesk();
    const { id, cert } = await certifyNewKey(folder);
    const { uncertified } = await describeDesk(realDisk, folder, wallClock());
    expect([uncertified, idOf(await open(folder))]).toEqual([[id], idOf(desk)]);
    expect(await accept(folder, cert)).toBe(true);
    const after = await open(folder);
    expect([idOf(after), after.issuing.cert]).toEqual([id, cert]);
    expect(after.keys.map((key) => key.id)).toEqual([id, idOf(desk)]);
    expect(await statesOf(folder)).toEqual(["current", "earlier"]);
    expect(readText(usualRootFolder(folder), `${id}.cert`)).toBe(cert);
  });

  test("needs no other trust document at the sites", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site));
    unwrap(await site.licensing.installLicense(first.document, "test"));
    const after = await openWithNewKey(folder);
    const next = await issueTestLicense(after, null, { renewLicenseId: first.license_id });
    expect(next.key).not.toBe(first.key);
    unwrap(await site.licensing.installLicense(next.document, "test"));
    expect(after.trust.document).toBe(desk.trust.document);
    for (const { document } of [first, next]) unwrap(await verifyLicense(document, [after.vendor]));
  });

  test("has a request that it signs itself: another key in it, or another signer, is refused", async () => {
    const { desk, folder } = await makeDesk();
    const { request, id } = await Desk.makeKey(realDisk, folder, null);
    const { vendor, jwk } = unwrap(await verifyKeyRequest(request));
    expect([vendor, keyIdOf(jwk)]).toEqual([desk.vendor.vendor, id]);
    const forged = await signKeyRequest({ vendor, jwk }, await generateKey());
    expect((await verifyKeyRequest(forged)).ok).toBe(false);
  });
});

describe("a certificate is refused", () => {
  test("if another root signed it", async () => {
    const [{ folder }, other] = [await makeDesk(), await makeDesk()];
    const { id } = await Desk.makeKey(realDisk, folder, null);
    const key = JSON.parse(readText(folder, `${id}.key.jwk`)) as { x: string };
    const jwk = { kty: "OKP", crv: "Ed25519", x: key.x } as const;
    const foreign = await (await openRootOf(other.folder)).certify(jwk, usualPeriod());
    const before = ledgerOf(folder);
    expect(await refusal(accept(folder, foreign))).toContain("not signed by the root of the desk");
    expect(ledgerOf(folder)).toBe(before);
  });

  test("if the desk does not have its key", async () => {
    const { folder } = await makeDesk();
    const jwk = publicPart(await generateKey());
    const cert = await (await openRootOf(folder)).certify(jwk, usualPeriod());
    const reason = await refusal(accept(folder, cert));
    expect(reason).toContain(`is for the key ${keyIdOf(jwk)}, which is not in ${folder}`);
    expect(reason).toContain("berth vendor key new");
  });

  test("if it needs a newer trust document than the desk has, until the desk has that", async () => {
    const { folder } = await makeDesk();
    const root = await (await openRootOf(folder)).signNext({ name: "Acme Ltd" });
    const { id, cert } = await certifyNewKey(folder);
    const reason = await refusal(accept(folder, cert));
    expect(reason).toContain("needs version 2 of the trust document, and the desk has 1");
    expect(await Desk.acceptTrust(realDisk, folder, root.trust)).toBe(true);
    expect([await accept(folder, cert), idOf(await open(folder))]).toEqual([true, id]);
  });

  test("if it is older than that of the current key, while that one is not retired", async () => {
    const { folder } = await makeDesk();
    const day = (days: number) => instant(later(wallClock(), days * DAY));
    const old = await certifyNewKey(folder, { from: day(-9) });
    const { id } = await replaceKey(folder);
    const reason = await refusal(accept(folder, old.cert));
    expect(reason).toContain(`is older than that of the current key, ${id}`);
    expect(reason).toContain("check the clock");
    expect(idOf(await open(folder))).toBe(id);
    await signNextTrust(folder, { retired: [id] });
    expect(await accept(folder, old.cert)).toBe(true);
    expect(idOf(await open(folder))).toBe(old.id);
  });

  test("if its key is retired, or has ended, or begins later", async () => {
    const { desk, folder } = await makeDesk();
    const at = (hours: number) => instant(later(wallClock(), hours * HOUR));
    const retired = await certifyNewKey(folder);
    const ended = await certifyNewKey(folder, { from: at(-2), until: at(-1) });
    const early = await certifyNewKey(folder, { from: at(1) });
    await signNextTrust(folder, { retired: [retired.id] });
    const before = ledgerOf(folder);
    expect(await refusal(accept(folder, retired.cert))).toContain("which is retired; make a new");
    const endedReason = await refusal(accept(folder, ended.cert));
    expect(endedReason).toContain(`${ended.id} ended on`);
    expect(endedReason).toContain("if it was made just now, check the clock");
    expect(await refusal(accept(folder, early.cert))).toContain("check the clock");
    expect([ledgerOf(folder), idOf(await open(folder))]).toEqual([before, idOf(desk)]);
  });
});

test("a certificate that the desk knows changes nothing, also that of an earlier key", async () => {
  const { desk, folder } = await makeDesk();
  const { id, cert } = await replaceKey(folder);
  const before = ledgerOf(folder);
  expect(await accept(folder, cert)).toBe(false);
  expect(await accept(folder, desk.issuing.cert)).toBe(false);
  expect([ledgerOf(folder), idOf(await open(folder))]).toEqual([before, id]);
});

test("a certificate in the ledger that the root did not sign is left out", async () => {
  const [{ desk, folder }, other] = [await makeDesk(), await makeDesk()];
  const [entry] = other.desk.ledger.keyEntries();
  if (entry === undefined) throw new Error("the desk has no key");
  const { ledger } = await open(folder);
  await ledger.transact((append) => append(entry));
  expect(idOf(await open(folder))).toBe(idOf(desk));
  const { faults } = await verifyDesk(realDisk, folder, null);
  expect(faults).toMatchObject([{ problem: "contains a certificate that the root did not sign" }]);
});

test("accepting a file first finishes an interrupted write of the ledger", async () => {
  const { folder } = await makeDesk();
  const { id, cert } = await certifyNewKey(folder);
  writeFileSync(join(folder, "ledger.jsonl"), '{"type":"iss', { flag: "a" });
  expect(await accept(folder, cert)).toBe(true);
  expect(idOf(await open(folder))).toBe(id);
});

describe("a trust document", () => {
  test("of another root, or an older one, is refused; a known one changes nothing", async () => {
    const [{ desk, folder }, other] = [await makeDesk(), await makeDesk()];
    const { trust } = await signNextTrust(folder, { name: "Acme Ltd" });
    await signNextTrust(other.folder, { name: "Other" });
    await signNextTrust(other.folder, { name: "Another" });
    const before = contentsOf(folder);
    const take = (document: Desk["trust"]) => Desk.acceptTrust(realDisk, folder, document);
    const foreign = (await open(other.folder)).trust;
    expect(await refusal(take(foreign))).toContain("not signed by the root of the desk");
    const older = await refusal(take(desk.trust));
    expect(older).toContain("the desk has version 2 of the trust document, and this is version 1");
    expect(await take(trust)).toBe(false);
    expect(contentsOf(folder)).toEqual(before);
  });

  test("with the desk's version and another content is refused with what to do", async () => {
    const { folder } = await makeDesk();
    const copy = join(tempFolder(), "root");
    cpSync(usualRootFolder(folder), copy, { recursive: true });
    await signNextTrust(folder, { name: "Acme Ltd" });
    const other = await (await Root.open(realDisk, copy, null)).signNext({ products: ["cam"] });
    const reason = await refusal(Desk.acceptTrust(realDisk, folder, other.trust));
    expect(reason).toContain("this is another version 2 of the trust document");
    expect(reason).toContain("copy the desk's trust.jwt into the root's folder");
  });

  test("that was copied into the folder gets its line in the ledger when it is accepted", async () => {
    const { folder } = await makeDesk();
    const { trust } = await (await openRootOf(folder)).signNext({ name: "Acme Ltd" });
    writeFileSync(join(folder, "trust.jwt"), `${trust.document}\n`);
    expect(await Desk.acceptTrust(realDisk, folder, trust)).toBe(true);
    expect(await Desk.acceptTrust(realDisk, folder, trust)).toBe(false);
    expect(ledgerOf(folder).split(trust.document)).toHaveLength(2);
    expect((await verifyDesk(realDisk, folder, null)).notes).toEqual([]);
  });

  test("is written again, if it is accepted again and its file is older or missing", async () => {
    const { desk, folder } = await makeDesk();
    const { trust } = await signNextTrust(folder, { retired: [idOf(desk)] });
    for (const text of [desk.trust.document, null]) {
      const file = join(folder, "trust.jwt");
      if (text === null) rmSync(file);
      else writeFileSync(file, `${text}\n`);
      expect(await Desk.acceptTrust(realDisk, folder, trust)).toBe(false);
      expect(readText(file)).toBe(trust.document);
    }
  });

  test("that no longer retires a key is refused; the root keeps the retirements of the desk's", async () => {
    const { folder } = await makeDesk();
    const { id } = await replaceKey(folder);
    const copy = join(tempFolder(), "root");
    cpSync(usualRootFolder(folder), copy, { recursive: true });
    const { trust } = await signNextTrust(folder, { retired: [id] });
    const unchanged = join(tempFolder(), "root");
    cpSync(copy, unchanged, { recursive: true });
    const old = await Root.open(realDisk, unchanged, null);
    const second = await (await Root.open(realDisk, copy, null)).signNext({ name: "Acme Ltd" });
    const third = await second.signNext({ products: ["cad", "cam"] });
    const reason = await refusal(Desk.acceptTrust(realDisk, folder, third.trust));
    expect(reason).toContain(`no longer retires ${id}`);
    expect(reason).toContain(`berth vendor key retire ${id} --root DIR`);
    for (const root of [old, third]) {
      const { vendor } = (await (await root.startFrom(trust)).signNext({ name: "Acme" })).trust;
      expect([vendor.retired, vendor.version]).toEqual([[id], root === old ? 3 : 4]);
    }
  });
});

describe("the desk signs nothing", () => {
  test("with a retired key, and says what to do; the next key signs", async () => {
    const { desk, folder } = await makeDesk();
    await signNextTrust(folder, { retired: [idOf(desk)] });
    expect(await statesOf(folder)).toEqual(["retired"]);
    const reason = await refusal(open(folder));
    expect(reason).toContain(`the key ${idOf(desk)} of this desk is retired`);
    expect(reason).toContain("berth vendor key new");
    const { id } = await replaceKey(folder);
    expect(idOf(await open(folder))).toBe(id);
    expect(await statesOf(folder)).toEqual(["current", "retired"]);
  });

  test("outside the time of its certificate: the end is exclusive, the beginning inclusive", async () => {
    const { folder } = await makeDesk();
    const from = instant(Math.floor(wallClock() / 1_000) * 1_000);
    const until = instant(from + 100 * DAY);
    const { id } = await replaceKey(folder, { from, until });
    const day = new Date(until).toISOString().slice(0, 10);
    expect(idOf(await open(folder, instant(until - 1)))).toBe(id);
    expect(await refusal(open(folder, until))).toContain(
      `the key ${id} of this desk ended on ${day}`,
    );
    expect(await statesOf(folder, until)).toEqual(["ended", "earlier"]);
    expect(idOf(await open(folder, from))).toBe(id);
    expect(await refusal(open(folder, instant(from - 1)))).toContain("begins later than now");
  });

  test("with a file that contains another key", async () => {
    const { desk, folder } = await makeDesk();
    const { id } = await replaceKey(folder);
    const [current, earlier] = [id, idOf(desk)].map((key) => join(folder, `${key}.key.jwk`));
    writeFileSync(current ?? "", readFileSync(earlier ?? ""));
    expect(await refusal(open(folder))).toContain(`the file of the key ${id} contains another key`);
  });

  test("without a certified key, and says how to get one", async () => {
    const { desk, folder } = await makeDesk();
    writeFileSync(join(folder, "ledger.jsonl"), "");
    writeFileSync(join(folder, "ledger.head"), "");
    const reason = await refusal(open(folder));
    expect(reason).toContain("the desk has no certified key; berth vendor accept takes its");
    await accept(folder, desk.issuing.cert);
    expect(idOf(await open(folder))).toBe(idOf(desk));
  });
});

test("the desk warns of the end of its key from 90 days before, when it signs and when it is shown", async () => {
  const { folder } = await makeDesk();
  const until = instant(later(wallClock(), 200 * DAY));
  const { id } = await replaceKey(folder, { until });
  const day = new Date(until).toISOString().slice(0, 10);
  const warning = `the key ${id} of this desk ends on ${day}; make a new one: berth vendor key new`;
  for (const [days, expected] of [
    [91, []],
    [89, [warning]],
  ] as const) {
    const now = instant(until - days * DAY);
    expect<readonly string[]>((await open(folder, now)).notes).toEqual(expected);
    const { notes } = await describeDesk(realDisk, folder, now);
    expect<readonly string[]>(notes).toEqual(expected);
  }
});

test("the desk does not repeat an answer whose key has ended since", async () => {
  const { folder, site } = await openDeskAndSite();
  const until = instant(Math.floor(later(wallClock(), DAY) / 1_000) * 1_000);
  const { id } = await replaceKey(folder, { until });
  const request = await makeRequestFrom(site);
  const answer = await issueTestLicense(await open(folder), request, { now: wallClock() });
  const after = await openWithNewKey(folder);
  const repeat = (now: number) => issueTestLicense(after, request, { now: instant(now) });
  expect([answer.key, (await repeat(until - 1)).document]).toEqual([id, answer.document]);
  expect(await refusal(repeat(until))).toContain("answered with a key that has ended since");
});

describe("the root", () => {
  test("is refused with the trust document of another root, and inside the folder of a desk", async () => {
    const [{ folder }, other] = [await makeDesk(), await makeDesk()];
    const [root, foreign] = [usualRootFolder(folder), usualRootFolder(other.folder)];
    cpSync(join(foreign, "trust.jwt"), join(root, "trust.jwt"));
    expect(await refusal(openRootOf(folder))).toContain("is not that of its trust document");
    const inside = join(folder, "root");
    cpSync(foreign, inside, { recursive: true });
    expect(await refusal(Root.open(realDisk, inside, null))).toContain("the folder of a desk");
    const place = join(folder, "place");
    const create = Root.create(realDisk, place, { name: "X", products: ["x"], passphrase: null });
    expect(await refusal(create)).toContain("the folder of a desk");
  });

  test("is not in the folder of a new desk", async () => {
    const { folder } = await makeDesk();
    const root = await openRootOf(folder);
    const place = tempFolder();
    cpSync(join(usualRootFolder(folder), "root.jwk"), join(place, "root.jwk"));
    const create = Desk.createFor(realDisk, place, root, null);
    expect(await refusal(create)).toContain("must not be in the desk's folder");
    expect(readdirSync(place)).toEqual(["root.jwk"]);
  });

  test("is not restored over another trust document, which may be the newest", async () => {
    const { desk, folder } = await makeDesk();
    const { key } = await openRootOf(folder);
    const { trust } = await signNextTrust(folder, { retired: [idOf(desk)] });
    const place = tempFolder();
    writeFileSync(join(place, "trust.jwt"), `${trust.document}\n`);
    const before = contentsOf(place);
    const older = Root.restore(realDisk, place, key, desk.trust, null);
    expect(await refusal(older)).toContain("may be the newest one");
    expect(contentsOf(place)).toEqual(before);
    expect((await Root.restore(realDisk, place, key, trust, null)).retired).toEqual([idOf(desk)]);
  });

  test("does not certify itself, a retired key, or a key for no time", async () => {
    const { desk, folder } = await makeDesk();
    const root = await openRootOf(folder);
    const itself = root.certify(publicPart(root.key), usualPeriod());
    expect(await refusal(itself)).toContain("the root itself issues no licenses");
    const now = wallClock();
    const jwk = publicPart(desk.issuing.key);
    expect(await refusal(root.certify(jwk, { from: now, until: now }))).toContain("--until");
    const after = await root.signNext({ retired: [idOf(desk)] });
    expect(await refusal(after.certify(jwk, usualPeriod()))).toContain("is retired");
  });

  test("signs nothing if another command replaced its trust document meanwhile", async () => {
    const { desk, folder } = await makeDesk();
    const [first, second] = [await openRootOf(folder), await openRootOf(folder)];
    await first.signNext({ retired: [idOf(desk)] });
    const before = contentsOf(usualRootFolder(folder));
    const refused = await refusal(second.signNext({ products: ["cad", "cam"] }));
    expect(refused).toContain("another command changed");
    expect(contentsOf(usualRootFolder(folder))).toEqual(before);
  });

  test("is nowhere in the desk or in its backup, neither as text nor as bytes", async () => {
    const { folder } = await makeDesk();
    const { key } = await openRootOf(folder);
    await replaceKey(folder);
    await signNextTrust(folder, { retired: [(await open(folder)).keys[1]?.id ?? ""] });
    const lines: string[] = [];
    await backUpDesk(realDisk, folder, new Date().toISOString(), (text) => lines.push(text));
    const backup = lines.join("");
    const parts = lines
      .filter((line) => !line.startsWith("{"))
      .map((line) => Buffer.from(line, "base64"));
    const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
    expect(parts.length).toBeGreaterThan(4);
    for (const bytes of [Buffer.from(backup), ...parts, ...texts]) {
      expect([bytes.includes(key.d), bytes.includes(seedOf(key))]).toEqual([false, false]);
    }
    const inRoot = readFileSync(join(usualRootFolder(folder), "root.jwk"));
    expect(inRoot.includes(key.d)).toBe(true);
  });

  test.each([
    ["contains the vendor's root key", false],
    ["contains an encrypted key that may be the vendor's root", true],
  ])("is refused in a backup under any name: it %s", async (problem, isEncrypted) => {
    const { folder } = await makeDesk();
    const copy = join(folder, "old root.json");
    const key = readFileSync(join(usualRootFolder(folder), "root.jwk"));
    writeFileSync(copy, isEncrypted ? await encryptText(key, "good passphrase") : key);
    const attempt = backUpDesk(realDisk, folder, new Date().toISOString(), () => {});
    expect(await refusal(attempt)).toContain(`${copy} ${problem}`);
    const { faults } = await verifyDesk(realDisk, folder, null);
    const advice = "move it to a medium of its own";
    expect(faults).toEqual([{ location: "old root.json", problem: `${problem}: ${advice}` }]);
  });
});
