import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../../src/platform/files/disk.ts";
import { confirmActivation, createPolicy } from "../../../../src/desk/issuing/airgap.ts";
import { Desk } from "../../../../src/desk/desk.ts";
import { runBerth, runOrThrow, runJsonOrThrow } from "../../../support/run-berth.ts";
import {
  issueTestLicense,
  openDeskAndSite,
  makeRequestFrom,
} from "../../../support/desk-and-site.ts";
import { openWithNewKey, signNextTrust } from "../../../support/desk-keys.ts";
import { encryptDeskKeys } from "../../../support/encrypted-key.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { MONDAY } from "../../../support/scenario.ts";
import { modeOf, tempFolder } from "../../../support/temp-folder.ts";

/** The files of the current and of the earlier key. */
function keysOf(folder: string) {
  const lines = linesOf(folder).filter((line) => line.includes('"type":"key"'));
  const [earlier = "", current = ""] = lines.map((line) => {
    const { key } = JSON.parse(line) as { readonly key: string };
    return join(folder, `${key}.key.jwk`);
  });
  return { current, earlier };
}

interface DeskVerifyOutput {
  readonly ok: boolean;
  readonly key: string;
  readonly ledger_lines: number;
  readonly checked_licenses: number;
  readonly trust_version: number | null;
  readonly faults: { readonly location: string; readonly problem: string }[];
}

/** A desk with two licenses by file, one by code, then a new key and a license that it signed. */
async function makeFilledDesk(): Promise<string> {
  const { desk, folder, site } = await openDeskAndSite();
  await issueTestLicense(desk, await makeRequestFrom(site, "sim"), { terms: { slots: 5 } });
  await issueTestLicense(desk, await makeRequestFrom(site, "ray"));
  const { code } = unwrap(await site.services.airgap.createActivationCode("K-1", "", "test"));
  await confirmActivation(desk, {
    policy: await createPolicy(desk, "P", { product: "sim", valid_until: null }, MONDAY),
    licenseKey: "K-1",
    activationCode: code,
    initializationCode: "",
    validUntil: null,
    serial: null,
    allowWeakBinding: false,
    now: MONDAY,
  });
  await signNextTrust(folder, { products: ["sim", "ray", "fea"] });
  const next = await openWithNewKey(folder);
  const license = next.ledger.issuedEntries().find(({ jwk }) => jwk !== null);
  await issueTestLicense(next, null, { renewLicenseId: license?.license_id ?? 0 });
  return folder;
}

async function verify(folder: string, ...flags: string[]) {
  const result = await runBerth(["vendor", "verify", "--dir", folder, "--json", ...flags]);
  return { code: result.code, ...(JSON.parse(result.stdout) as DeskVerifyOutput) };
}

const linesOf = (folder: string): string[] =>
  readFileSync(join(folder, "ledger.jsonl"), "utf8").trimEnd().split("\n");

const writeLines = (folder: string, lines: readonly string[]): void =>
  writeFileSync(join(folder, "ledger.jsonl"), lines.map((line) => `${line}\n`).join(""));

/** The index of the first line for a license issued as a file. */
const firstIssued = (lines: readonly string[]): number =>
  lines.findIndex((line) => line.includes('"type":"issued"'));

describe("berth vendor verify", () => {
  test("accepts an intact desk and reports what it checked", async () => {
    const folder = await makeFilledDesk();
    expect(await verify(folder)).toMatchObject({
      code: 0,
      ok: true,
      key: "ok",
      trust_version: 2,
      ledger_lines: linesOf(folder).length,
      checked_licenses: 4,
      faults: [],
    });
    expect(await runOrThrow(["vendor", "verify", "--dir", folder])).toContain(
      "4 signatures checked",
    );
  });

  test("checks an encrypted key only with a passphrase", async () => {
    const folder = await makeFilledDesk();
    await encryptDeskKeys(folder, "correct horse");
    expect(await verify(folder)).toMatchObject({ code: 0, key: "encrypted" });
    const file = join(tempFolder(), "phrase");
    writeFileSync(file, "correct horse\n");
    expect(await verify(folder, "--passphrase-file", file)).toMatchObject({
      code: 0,
      key: "ok",
    });
    writeFileSync(file, "wrong horse\n");
    const wrong = await verify(folder, "--passphrase-file", file);
    expect(wrong).toMatchObject({ code: 1, key: "fault", faults: [{ location: "key" }] });
  });

  test("names a changed line, and the next one that no longer continues the ledger", async () => {
    const folder = await makeFilledDesk();
    const lines = linesOf(folder);
    const at = firstIssued(lines);
    writeLines(folder, lines.with(at, lines[at]?.replace('"slots":5', '"slots":6') ?? ""));
    expect((await verify(folder)).faults).toEqual([
      {
        location: `ledger.jsonl line ${at + 1}`,
        problem: "differs from the license that it contains: terms",
      },
      { location: `ledger.jsonl line ${at + 2}`, problem: "does not continue the ledger" },
    ]);
    const result = await runBerth(["vendor", "verify", "--dir", folder]);
    expect(result.code).toBe(1);
    expect(result.stderr).toContain(`berth: error: ledger.jsonl line ${at + 2}: does not continue`);
  });

  test("names a line whose license or code this vendor did not sign", async () => {
    const [folder, other] = [await makeFilledDesk(), await makeFilledDesk()];
    const [lines, foreign] = [linesOf(folder), linesOf(other)];
    const isCode = (line: string): boolean => line.includes('"policy_hash"');
    const [file, code] = [firstIssued(lines), lines.findIndex(isCode)];
    writeLines(
      folder,
      lines.with(file, foreign[file] ?? "").with(code, foreign.find(isCode) ?? ""),
    );
    const { faults } = await verify(folder);
    const at = (line: number) =>
      faults
        .filter(({ location }) => location === `ledger.jsonl line ${line + 1}`)
        .map(({ problem }) => problem);
    expect(at(file)).toContain("contains a license that is not signed by a trusted vendor");
    expect(at(code)).toContain(
      "contains a confirmation code that this vendor did not sign for these terms",
    );
  });

  test.each<[what: string, change: (folder: string) => void, where: string | RegExp]>([
    [
      "a removed line",
      (folder) => writeLines(folder, linesOf(folder).toSpliced(1, 1)),
      "ledger.jsonl line 2",
    ],
    [
      "a line that is not JSON",
      (folder) => writeLines(folder, linesOf(folder).with(1, "{")),
      "ledger.jsonl line 2",
    ],
    [
      "an incomplete last line",
      (folder) => writeFileSync(join(folder, "ledger.jsonl"), "{", { flag: "a" }),
      "ledger.jsonl",
    ],
    ["a missing ledger", (folder) => realDisk.remove(join(folder, "ledger.jsonl")), "ledger.jsonl"],
    ["a missing key", (folder) => realDisk.remove(keysOf(folder).current), "key"],
    ["a damaged key", (folder) => writeFileSync(keysOf(folder).current, "{}"), "key"],
    [
      "an edited trust document",
      (folder) => writeFileSync(join(folder, "trust.jwt"), "a.b.c"),
      "trust.jwt",
    ],
    [
      "an earlier key as the current one",
      (folder) => realDisk.rename(keysOf(folder).earlier, keysOf(folder).current),
      "key",
    ],
    [
      "a plain key beside an encrypted one",
      (folder) => writeFileSync(keysOf(folder).current.replace(/jwk$/, "jwe"), "x"),
      /^\w{16}\.key\.jwk$/,
    ],
    [
      "a certificate that the root did not sign",
      (folder) =>
        writeLines(
          folder,
          linesOf(folder).map((line) => line.replace(/("cert":"[^.]+\.)e/, "$1f")),
        ),
      "ledger.jsonl line 2",
    ],
    [
      "a root in the desk's folder",
      (folder) => writeFileSync(join(folder, "root.jwk"), "{}"),
      "trust.jwt",
    ],
  ])("finds %s", async (_what, change, location) => {
    const folder = await makeFilledDesk();
    change(folder);
    const { code, ok, faults } = await verify(folder);
    expect([code, ok]).toEqual([1, false]);
    const locations = faults.map((fault) => fault.location);
    expect(locations).toContainEqual(
      typeof location === "string" ? location : expect.stringMatching(location),
    );
  });

  test("refuses a folder that is not a desk", async () => {
    const result = await runBerth(["vendor", "verify", "--dir", tempFolder()]);
    expect([result.code, result.stderr]).toEqual([1, expect.stringContaining("is not a desk")]);
  });
});

/** The content of every file in a folder except locks, by name. */
const contents = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => !name.endsWith(".lock"))
      .map((name) => [name, readFileSync(join(folder, name), "utf8")]),
  );

describe("berth vendor backup and restore", () => {
  test("restore a desk unchanged, with its key as it was stored", async () => {
    const folder = await makeFilledDesk();
    await encryptDeskKeys(folder, "correct horse");
    writeFileSync(join(folder, "a policy.jwt"), "kept too");
    const root = tempFolder();
    const [file, back] = [join(root, "desk.backup"), join(root, "back")];
    expect(await runOrThrow(["vendor", "backup", file, "--dir", folder])).toContain("was verified");
    expect(modeOf(file)).toBe("600");
    mkdirSync(back, { mode: 0o700 });
    await runOrThrow(["vendor", "restore", file, "--dir", back]);
    expect(contents(back)).toEqual(contents(folder));
    const keys = readdirSync(back).filter((name) => name.endsWith(".key.jwe"));
    expect(keys.map((name) => modeOf(join(back, name)))).toEqual(["600", "600"]);
    expect(await verify(back)).toMatchObject({ code: 0, key: "encrypted" });
    expect((await Desk.open(realDisk, back, "correct horse")).vendor.version).toBe(2);
    expect(readdirSync(root).toSorted()).toEqual(["back", "desk.backup"]);
  });

  test("restore a desk of several megabytes", async () => {
    const folder = await makeFilledDesk();
    writeFileSync(join(folder, "a policy.jwt"), "policy ".repeat(500_000));
    const root = tempFolder();
    const [file, back] = [join(root, "desk.backup"), join(root, "back")];
    await runOrThrow(["vendor", "backup", file, "--dir", folder, "--yes"]);
    await runOrThrow(["vendor", "restore", file, "--dir", back]);
    expect(contents(back)).toEqual(contents(folder));
  });

  test("require --yes for a key without a passphrase", async () => {
    const folder = await makeFilledDesk();
    const file = join(tempFolder(), "desk.backup");
    const result = await runBerth(["vendor", "backup", file, "--dir", folder]);
    expect([result.code, existsSync(file)]).toEqual([2, false]);
    expect(result.stderr).toContain("without a passphrase");
    expect(result.stderr).toContain("--yes");
    expect(
      await runJsonOrThrow<object>(["vendor", "backup", file, "--dir", folder, "--yes"]),
    ).toMatchObject({
      faults: [],
    });
  });

  test("never overwrite a file, and never write into the desk", async () => {
    const folder = await makeFilledDesk();
    const file = join(tempFolder(), "desk.backup");
    writeFileSync(file, "a letter");
    const result = await runBerth(["vendor", "backup", file, "--dir", folder, "--yes"]);
    expect([result.code, readFileSync(file, "utf8")]).toEqual([1, "a letter"]);
    const inside = ["vendor", "backup", join(folder, "x"), "--dir", folder, "--yes"];
    expect((await runBerth(inside)).code).toBe(2);
  });

  test("write a backup of a damaged desk with a warning", async () => {
    const folder = await makeFilledDesk();
    writeLines(folder, linesOf(folder).toSpliced(1, 1));
    const file = join(tempFolder(), "desk.backup");
    const result = await runBerth(["vendor", "backup", file, "--dir", folder, "--yes"]);
    expect([result.code, result.stderr]).toEqual([
      0,
      expect.stringContaining("ledger.jsonl line 2"),
    ]);
  });

  interface BackupFile {
    readonly files: { readonly name: string; readonly content: string }[];
  }

  test.each<[what: string, edit: (backup: BackupFile) => unknown, error: string]>([
    ["is not a backup", () => ({}), "is not a backup of a desk"],
    [
      "contains a changed file",
      ({ files, ...head }) => ({ ...head, files: [{ ...files[0], content: "AAAA" }] }),
      "the backup is damaged at",
    ],
    [
      "names a path outside the folder",
      ({ files, ...head }) => ({ ...head, files: [{ ...files[0], name: "../x" }] }),
      "is not a backup of a desk",
    ],
    [
      "lacks the trust document",
      ({ files, ...head }) => ({
        ...head,
        files: files.filter(({ name }) => name !== "trust.jwt"),
      }),
      "the backup does not contain trust.jwt",
    ],
  ])("refuse to restore a file that %s, and create no folder", async (_what, edit, error) => {
    const root = tempFolder();
    const [file, back] = [join(root, "desk.backup"), join(root, "back")];
    await runOrThrow(["vendor", "backup", file, "--dir", await makeFilledDesk(), "--yes"]);
    const backup = JSON.parse(readFileSync(file, "utf8")) as BackupFile;
    writeFileSync(file, JSON.stringify(edit(backup)));
    const result = await runBerth(["vendor", "restore", file, "--dir", back]);
    expect([result.code, result.stderr]).toEqual([1, expect.stringContaining(error)]);
    expect(readdirSync(root)).toEqual(["desk.backup"]);
  });

  test("refuse to restore into a folder that is not empty", async () => {
    const folder = await makeFilledDesk();
    const file = join(tempFolder(), "desk.backup");
    await runOrThrow(["vendor", "backup", file, "--dir", folder, "--yes"]);
    const before = contents(folder);
    const result = await runBerth(["vendor", "restore", file, "--dir", folder]);
    expect([result.code, result.stderr]).toEqual([1, expect.stringContaining("is not empty")]);
    expect(contents(folder)).toEqual(before);
  });
});
