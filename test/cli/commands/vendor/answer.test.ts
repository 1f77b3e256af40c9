import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { Desk } from "../../../../src/desk/desk.ts";
import { createPolicy } from "../../../../src/desk/issuing/airgap.ts";
import { realDisk } from "../../../../src/platform/files/disk.ts";
import type { Appliance } from "../../../support/appliance.ts";
import { keyFileIn, readText, replaceKey, signNextTrust } from "../../../support/desk-keys.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { addOrder, answerAndInstall, openSiteOf, readLedgerText } from "../../../support/orders.ts";
import { goTo, makeStatement } from "../../../support/reporting-site.ts";
import { makeRequestFrom } from "../../../support/desk-and-site.ts";
import { runBerth } from "../../../support/run-berth.ts";
import { AirgapSite } from "../../../support/airgap-site.ts";
import { MONDAY } from "../../../support/scenario.ts";
import { contentsOf, tempFolder } from "../../../support/temp-folder.ts";

interface AnsweredFile {
  readonly file: string;
  readonly kind: string;
  readonly outcome: string;
  readonly appliance: string | null;
  readonly request_id: string | null;
  readonly license_id: number | null;
  readonly number: number | null;
  readonly document: string | null;
  readonly out: string | null;
  readonly obstacles: readonly { readonly code: string; readonly text: string }[];
}

interface AnswerOutput {
  readonly documents: readonly AnsweredFile[];
  readonly renewed: readonly { readonly license_id: number }[];
  readonly by_code: readonly object[];
  readonly ignored: number;
}

const cleanups: (() => void | Promise<void>)[] = [];
let root = "";
let vendor = "";
/** The sites of the folder of documents; `held`: licenses of the sites that had one before. */
let sites: Record<"first" | "returning" | "reporting" | "guessing", Appliance>;
let held = { returned: 0, reporting: 0 };

const write = (folder: string, name: string, text: string): void =>
  writeFileSync(join(folder, name), text);

/**
 * One desk, and a folder with what its sites sent, next to files that are none of its business.
 * Each test has a copy of both.
 */
beforeAll(async () => {
  const atEnd = (cleanup: () => void | Promise<void>) => void cleanups.push(cleanup);
  root = tempFolder(atEnd);
  const [folder, documents] = [join(root, "desk"), join(root, "documents")];
  const newDesk = { name: "Penetrode", products: ["sim", "ray"], passphrase: null };
  const desk = await Desk.create(realDisk, folder, newDesk);
  vendor = desk.vendor.vendor;
  const open = () => openSiteOf(desk, {}, atEnd);
  const [first, returning, reporting, guessing] = [
    await open(),
    await open(),
    await open(),
    await open(),
  ];
  sites = { first, returning, reporting, guessing };
  const newOrder = async () => (await addOrder(desk)).license_key;
  const [key, returned, reported] = [await newOrder(), await newOrder(), await newOrder()];
  await addOrder(desk, { licenseKey: "ACME-1" });
  const take = async (site: Appliance, licenseKey: string) => {
    const request = await makeRequestFrom(site, "sim", licenseKey);
    return (await answerAndInstall(desk, site, request)).license_id ?? 0;
  };
  held = { returned: await take(returning, returned), reporting: await take(reporting, reported) };
  goTo(reporting, 3);
  const statement = await makeStatement(reporting, vendor);
  const receipt = unwrap(await returning.licensing.removeLicense(held.returned, false, "test"));
  const request = async (site: Appliance, licenseKey: string) =>
    unwrap(await site.licensing.request("sim", licenseKey, "test")).document;
  const own = await request(first, key);
  // The place that the receipt in the same folder frees.
  const again = await request(first, returned);
  const guessed = await request(guessing, "ACME-1");

  const exchange = join(documents, "berth", vendor);
  mkdirSync(join(exchange, "deeper"), { recursive: true });
  mkdirSync(join(documents, "berth", "OTHERVENDOR"), { recursive: true });
  write(documents, "a-request.jwt", own);
  // As a mail program wraps it.
  write(documents, "b-receipt.txt", `${receipt.replaceAll(/(.{76})/g, "$1\r\n")}\r\n`);
  write(documents, "c-guessed.jwt", guessed);
  write(documents, "d-broken.jwt", `${own.slice(0, -8)}AAAAAAAA`);
  write(exchange, "e-again.jwt", again);
  write(exchange, "f-statement.jwt", statement.document);
  const other = await Desk.create(realDisk, join(root, "other"), { ...newDesk, name: "Other" });
  const foreign = await openSiteOf(other, {}, atEnd);
  const foreignRequest = await makeRequestFrom(foreign, "sim", (await addOrder(other)).license_key);
  const { license_id = 0 } = await answerAndInstall(other, foreign, foreignRequest);
  const foreignReceipt = await foreign.licensing.removeLicense(license_id ?? 0, false, "test");
  write(documents, "g-foreign-receipt.jwt", unwrap(foreignReceipt));

  write(documents, "notes.txt", "call Ada");
  write(documents, "trust-of-another.jwt", other.trust.document);
  write(documents, "old.license.jwt", desk.ledger.issuedEntries()[0]?.document ?? "");
  write(documents, "large.jwt", `${guessed}${"\n".repeat(128 * 1_024)}`);
  write(join(documents, "berth", "OTHERVENDOR"), "request.jwt", guessed);
  write(join(exchange, "deeper"), "request.jwt", guessed);
  symlinkSync(join(documents, "c-guessed.jwt"), join(documents, "link.jwt"));
});

afterAll(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
});

/** A copy of the desk and of the documents for one test. */
function copyAll() {
  const copy = tempFolder();
  for (const name of ["desk", "desk-root", "documents"])
    cpSync(join(root, name), join(copy, name), { recursive: true, verbatimSymlinks: true });
  return { copy, desk: join(copy, "desk"), documents: join(copy, "documents") };
}

type Copy = ReturnType<typeof copyAll>;

async function answerFolder({ desk, documents }: Copy, ...flags: string[]) {
  const words = ["vendor", "answer", documents, "--dir", desk, ...flags];
  const { code, stdout, stderr } = await runBerth([...words, "--json"]);
  if (code !== 0 && code !== 3) throw new Error(stderr);
  return { code, stderr, ...(JSON.parse(stdout) as AnswerOutput) };
}

const outcomesOf = (documents: readonly AnsweredFile[]): [file: string, outcome: string][] =>
  documents.map(({ file, outcome }) => [basename(file), outcome]);

const OUTCOMES: [string, string][] = [
  ["a-request.jwt", "answered"],
  ["b-receipt.txt", "recorded"],
  ["e-again.jwt", "answered"],
  ["f-statement.jwt", "answered"],
  ["c-guessed.jwt", "decide"],
  ["d-broken.jwt", "refused"],
  ["g-foreign-receipt.jwt", "refused"],
];

describe("berth vendor answer", () => {
  test("answers what orders cover, beside each document, and says why the others wait", async () => {
    const all = copyAll();
    const { code, documents, ignored } = await answerFolder(all);
    expect(code).toBe(3);
    expect(outcomesOf(documents)).toEqual(OUTCOMES);
    // Notes, trust.jwt, a license, a large file, a link and `berth`; `deeper` in the exchange.
    expect(ignored).toBe(7);
    const find = (name: string) => documents.find(({ file }) => basename(file) === name);
    const [own, again] = [find("a-request.jwt"), find("e-again.jwt")];
    const exchange = join(all.documents, "berth", vendor);
    expect(own?.out).toBe(join(all.documents, `${own?.request_id}.license.jwt`));
    expect(again?.out).toBe(join(exchange, `${again?.request_id}.license.jwt`));
    for (const answered of [own, again]) {
      const text = readText(answered?.out ?? "");
      expect(text).toBe(answered?.document ?? "");
      unwrap(await sites.first.licensing.installLicense(text, "test"));
    }
    const statement = find("f-statement.jwt");
    const appliance = sites.reporting.services.identity.id;
    expect(statement?.out).toBe(join(exchange, `${appliance}-${statement?.number}.ack.jwt`));
    expect(readText(statement?.out ?? "")).toBe(statement?.document ?? "");
    expect(find("c-guessed.jwt")?.obstacles).toMatchObject([{ code: "vendor_key" }]);
    expect(find("d-broken.jwt")?.obstacles).toMatchObject([
      { code: "invalid", text: expect.stringContaining("the request") as string },
    ]);
    expect(find("g-foreign-receipt.jwt")?.obstacles).toMatchObject([
      { text: "this desk issued no such license to that appliance" },
    ]);
    const reopened = await Desk.open(realDisk, all.desk, null);
    expect(reopened.ledger.receiptEntries()).toMatchObject([{ license_id: held.returned }]);
    expect(reopened.ledger.lastStatement()).toMatchObject({ appliance });
  });

  test("writes a line for each document, a hint with its name, and a summary", async () => {
    const { desk, documents } = copyAll();
    const { code, stdout, stderr } = await runBerth(["vendor", "answer", documents, "--dir", desk]);
    expect(code).toBe(3);
    const lines = stdout.trimEnd().split("\n");
    const masked = lines
      .filter((line) => !line.startsWith("  "))
      .map((line) => line.replace(/license \d+/, "license N").replace(/Q[\dA-Z-]{22}/, "KEY"));
    expect(masked).toEqual([
      "a-request.jwt: request answered, license N, serial 1, key KEY of Initech",
      "b-receipt.txt: receipt recorded, license N, serial 1",
      "e-again.jwt: request answered, license N, serial 1, key KEY of Initech",
      "f-statement.jwt: statement answered, statement 1",
      "c-guessed.jwt: request needs a decision, key ACME-1: the license key is the vendor's own and can be guessed: compare who asks",
      "d-broken.jwt: request refused: the request has an invalid signature",
      "g-foreign-receipt.jwt: receipt refused: this desk issued no such license to that appliance",
    ]);
    expect(lines).toContain(
      `  hint: berth vendor issue --request ${join(documents, "c-guessed.jwt")} decides it`,
    );
    expect(stderr).toContain(
      "7 documents, 3 answered, 1 recorded, 1 needs a decision, 2 refused, 7 other files left alone",
    );
  });

  test("with --dry-run writes nothing and predicts what is done", async () => {
    const all = copyAll();
    const before = [contentsOf(all.documents), readLedgerText(all.desk)];
    const planned = await answerFolder(all, "--dry-run", "--out-dir", join(all.copy, "answers"));
    expect([contentsOf(all.documents), readLedgerText(all.desk)]).toEqual(before);
    expect(existsSync(join(all.copy, "answers"))).toBe(false);
    expect(planned.stderr).toContain("nothing was signed or written");
    const done = await answerFolder(all);
    expect(outcomesOf(planned.documents)).toEqual(outcomesOf(done.documents));
    const facts = ({ documents }: AnswerOutput) =>
      documents.map(({ license_id, obstacles }) => [license_id, obstacles]);
    expect([planned.code, facts(planned)]).toEqual([done.code, facts(done)]);
    expect(planned.documents.map(({ document }) => document)).toEqual(
      planned.documents.map(() => null),
    );
  });

  test("answers a request that is there twice with one license, beside both", async () => {
    const all = copyAll();
    const exchange = join(all.documents, "berth", vendor);
    cpSync(join(all.documents, "a-request.jwt"), join(exchange, "z-copy.jwt"));
    const copies = ({ documents }: AnswerOutput) =>
      documents.filter(({ file }) => /a-request|z-copy/.test(file));
    const planned = copies(await answerFolder(all, "--dry-run"));
    expect(planned).toMatchObject([
      { outcome: "answered", document: null, out: null },
      { outcome: "repeated", document: null, out: null },
    ]);
    const [first, second] = copies(await answerFolder(all));
    expect([first?.outcome, second?.outcome]).toEqual(["answered", "repeated"]);
    expect(readText(second?.out ?? "")).toBe(readText(first?.out ?? ""));
    expect(second?.out).not.toBe(first?.out ?? "");
  });

  test("changes nothing when it runs again, and then needs no key", async () => {
    const all = copyAll();
    const first = await answerFolder(all);
    rmSync(keyFileIn(all.desk));
    const before = [contentsOf(all.documents), readLedgerText(all.desk)];
    const second = await answerFolder(all);
    expect([contentsOf(all.documents), readLedgerText(all.desk)]).toEqual(before);
    const repeated = OUTCOMES.map(([file, outcome]): [string, string] => [
      file,
      outcome === "answered" || outcome === "recorded" ? "repeated" : outcome,
    ]);
    expect(outcomesOf(second.documents)).toEqual(repeated);
    expect(second.documents.map(({ document }) => document)).toEqual(
      first.documents.map(({ document }) => document),
    );
  });

  test("records a receipt without a key, and exits with 0 if nothing needs a person", async () => {
    const all = copyAll();
    rmSync(keyFileIn(all.desk));
    const only = join(all.copy, "only");
    mkdirSync(only);
    cpSync(join(all.documents, "b-receipt.txt"), join(only, "b-receipt.txt"));
    const { code, documents } = await answerFolder({ ...all, documents: only });
    expect([code, outcomesOf(documents)]).toEqual([0, [["b-receipt.txt", "recorded"]]]);
    const empty = join(all.copy, "empty");
    mkdirSync(empty);
    expect(await answerFolder({ ...all, documents: empty })).toMatchObject({
      code: 0,
      documents: [],
      ignored: 0,
    });
  });

  test("writes nothing at all if it must sign and has no key", async () => {
    const all = copyAll();
    rmSync(keyFileIn(all.desk));
    const before = [contentsOf(all.documents), readLedgerText(all.desk)];
    const words = ["vendor", "answer", all.documents, "--dir", all.desk];
    expect((await runBerth(words)).code).toBe(1);
    expect([contentsOf(all.documents), readLedgerText(all.desk)]).toEqual(before);
  });

  test("writes the answers to --out-dir, and leaves the folder of the documents alone", async () => {
    const all = copyAll();
    const before = contentsOf(all.documents);
    const outDir = join(all.copy, "answers");
    const { documents } = await answerFolder(all, "--out-dir", outDir);
    expect(contentsOf(all.documents)).toEqual(before);
    const outs = documents.flatMap(({ out }) => (out === null ? [] : [basename(out)]));
    expect(readdirSync(outDir).toSorted()).toEqual(outs.toSorted());
    expect(outs).toHaveLength(3);
  });

  test("replaces no other file with an answer, and writes the other answers", async () => {
    const all = copyAll();
    const { documents } = await answerFolder(all, "--dry-run");
    const [taken, free] = documents.filter(
      ({ kind, outcome }) => kind === "request" && outcome === "answered",
    );
    const notes = join(all.documents, `${taken?.request_id}.license.jwt`);
    writeFileSync(notes, "my notes");
    const { code, stderr } = await answerFolder(all);
    expect(code).toBe(3);
    expect(stderr).toContain(
      `an answer was not written: ${notes} already exists and is not a Berth document; remove it, or use another --out-dir`,
    );
    expect(readText(notes)).toBe("my notes");
    const exchange = join(all.documents, "berth", vendor);
    expect(existsSync(join(exchange, `${free?.request_id}.license.jwt`))).toBe(true);
    rmSync(notes);
    await answerFolder(all);
    expect(readText(notes)).toStartWith("eyJ");
  });

  test.each(["a folder", "a link"])("writes no answer in place of %s", async (what) => {
    const all = copyAll();
    const { documents } = await answerFolder(all, "--dry-run");
    const requestId = documents.find(({ outcome }) => outcome === "answered")?.request_id;
    const [taken, target] = [
      join(all.documents, `${requestId}.license.jwt`),
      join(all.copy, "target"),
    ];
    if (what === "a folder") mkdirSync(taken);
    else symlinkSync(target, taken);
    const { code, stderr } = await answerFolder(all);
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining(
        `an answer was not written: ${taken} exists and is not a regular file; remove it, or use another --out-dir`,
      ),
    ]);
    expect(existsSync(target)).toBe(false);
  });

  test.each(["berth", "vendor"])("follows no link in place of the folder %s", async (which) => {
    const all = copyAll();
    const [medium, elsewhere] = [join(all.documents, "berth"), join(all.copy, "elsewhere")];
    const moved = which === "berth" ? medium : join(medium, vendor);
    cpSync(moved, elsewhere, { recursive: true });
    rmSync(moved, { recursive: true });
    symlinkSync(elsewhere, moved);
    const before = contentsOf(elsewhere);
    const { documents } = await answerFolder(all);
    expect(documents).toHaveLength(5);
    expect(contentsOf(elsewhere)).toEqual(before);
  });

  test("puts the newest trust document beside the answers for sites that have an older one", async () => {
    const all = copyAll();
    await signNextTrust(all.desk, { products: ["sim", "ray", "mesh"] });
    const { stderr } = await answerFolder(all);
    const newest = readText(all.desk, "trust.jwt");
    const written = [all.documents, join(all.documents, "berth", vendor)];
    for (const folder of written) {
      expect(readText(folder, "trust.jwt")).toBe(newest);
      expect(stderr).toContain(`${join(folder, "trust.jwt")} is written for the site, too`);
    }
  });

  test("signs again with --reissue every license in use whose key is retired, and writes the same again", async () => {
    const all = copyAll();
    const retired = basename(keyFileIn(all.desk)).replace(/\.key\.jw[ek]$/, "");
    await replaceKey(all.desk);
    await signNextTrust(all.desk, { retired: [retired] });
    const outDir = join(all.copy, "answers");
    const flags = ["--reissue", "--out-dir", outDir];
    const planned = await answerFolder(all, ...flags, "--dry-run");
    expect(existsSync(outDir)).toBe(false);
    const { renewed } = await answerFolder(all, ...flags);
    expect(new Set(renewed.map(({ license_id }) => license_id))).toEqual(
      new Set([held.returned, held.reporting]),
    );
    for (const one of renewed) {
      const file = join(outDir, `${one.license_id}.license.jwt`);
      expect(one).toMatchObject({ serial: 2, outcome: "renewed", file, obstacles: [] });
    }
    expect(planned.renewed).toMatchObject(renewed.map((one) => ({ ...one, file: null })));
    const license = readFileSync(join(outDir, `${held.reporting}.license.jwt`), "utf8").trim();
    unwrap(await sites.reporting.vendorTrust.trustVendor(readText(all.desk, "trust.jwt"), "test"));
    unwrap(await sites.reporting.licensing.installLicense(license, "test"));
    const before = [contentsOf(outDir), readLedgerText(all.desk)];
    const again = await answerFolder(all, ...flags);
    expect(again.renewed.length).toBeGreaterThan(0);
    for (const one of again.renewed) expect(one).toMatchObject({ outcome: "repeated", serial: 2 });
    expect([contentsOf(outDir), readLedgerText(all.desk)]).toEqual(before);
  });

  test("names with --reissue the licenses by code, which only a person can confirm again", async () => {
    const all = copyAll();
    const desk = await Desk.open(realDisk, all.desk, null);
    const terms = { product: "sim", slots: 3, valid_until: null };
    const policy = await createPolicy(desk, "sim-1", terms, MONDAY);
    const { license_key: licenseKey } = await addOrder(desk, { policy_id: "sim-1" });
    const phone = new AirgapSite(sites.guessing, desk);
    await phone.confirmAtDesk(policy, await phone.requestActivationCode(licenseKey), {
      licenseKey,
    });
    const { license_id } = desk.ledger.issuedUnder(licenseKey)[0] ?? { license_id: 0 };
    const retired = basename(keyFileIn(all.desk)).replace(/\.key\.jw[ek]$/, "");
    await replaceKey(all.desk);
    await signNextTrust(all.desk, { retired: [retired] });
    const empty = join(all.copy, "empty");
    mkdirSync(empty);
    const appliance = sites.guessing.services.identity.id;
    const reissued = await answerFolder({ ...all, documents: empty }, "--reissue");
    expect(reissued).toMatchObject({ code: 3, by_code: [{ license_id, appliance }] });
    expect(reissued.renewed).toHaveLength(2);
    expect(reissued.stderr).toContain(
      `license ${license_id} of appliance ${appliance} is by code: confirm its next activation code`,
    );
  });

  test.each([
    [[], 2, "DIR is required"],
    [["nowhere"], 1, "nowhere is not a folder"],
  ])("is refused with the arguments %j", async (args, expected, message) => {
    const { copy, desk } = copyAll();
    const words = ["vendor", "answer", ...args, "--dir", desk];
    const { code, stderr } = await runBerth(words, { cwd: copy });
    expect([code, stderr]).toEqual([expected, expect.stringContaining(message)]);
  });
});
