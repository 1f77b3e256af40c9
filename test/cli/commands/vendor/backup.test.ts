import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { realDisk } from "../../../../src/platform/files/disk.ts";
import {
  confirmActivation,
  createPolicy,
  USUAL_CONFIRMATION,
} from "../../../../src/desk/issuing/airgap.ts";
import { Desk, usualRootFolder } from "../../../../src/desk/desk.ts";
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
    ...USUAL_CONFIRMATION,
    policy: await createPolicy(desk, "P", { product: "sim", valid_until: null }, MONDAY),
    licenseKey: "K-1",
    activationCode: code,
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

/** The content of every file in a folder and its presets except locks, by name. */
const contents = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith(".lock"))
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        return [relative(folder, path), readFileSync(path, "utf8")];
      }),
  );

/** The files of a restored desk without the last line of its ledger, which says that it is one. */
function contentsBefore(restored: string): Record<string, string> {
  const { "ledger.jsonl": ledger = "", "ledger.head": _head, ...others } = contents(restored);
  const lines = ledger.trimEnd().split("\n");
  expect(JSON.parse(lines.pop() ?? "")).toMatchObject({ type: "restored" });
  return { ...others, "ledger.jsonl": `${lines.join("\n")}\n` };
}

const withoutHead = ({ "ledger.head": _head, ...others }: Record<string, string>) => others;

describe("berth vendor backup and restore", () => {
  test("restore a desk unchanged, with its key as it was stored", async () => {
    const folder = await makeFilledDesk();
    await encryptDeskKeys(folder, "correct horse");
    mkdirSync(join(folder, "presets"), { mode: 0o700 });
    writeFileSync(join(folder, "presets", "CAD 10.json"), '{"slots": 10}');
    writeFileSync(join(folder, "statements.jsonl.0.torn"), "x");
    const root = tempFolder();
    const [file, back] = [join(root, "desk.backup"), join(root, "back")];
    expect(await runOrThrow(["vendor", "backup", file, "--dir", folder])).toContain("was verified");
    expect(modeOf(file)).toBe("600");
    mkdirSync(back, { mode: 0o700 });
    await runOrThrow(["vendor", "restore", file, "--dir", back]);
    expect(contentsBefore(back)).toEqual(withoutHead(contents(folder)));
    const keys = readdirSync(back).filter((name) => name.endsWith(".key.jwe"));
    expect(keys.map((name) => modeOf(join(back, name)))).toEqual(["600", "600"]);
    expect(await verify(back)).toMatchObject({ code: 0, key: "encrypted" });
    expect((await Desk.open(realDisk, back, "correct horse")).vendor.version).toBe(2);
    expect(readdirSync(root).toSorted()).toEqual(["back", "desk.backup"]);
  });

  test("restore a desk of several megabytes", async () => {
    const folder = await makeFilledDesk();
    const text = "an interrupted write ".repeat(500_000);
    writeFileSync(join(folder, "ledger.jsonl.0.torn"), text);
    for (const size of [0, 1, 48 * 1024, 48 * 1024 + 1])
      writeFileSync(join(folder, `ledger.jsonl.${size}.torn`), text.slice(0, size));
    const root = tempFolder();
    const [file, back] = [join(root, "desk.backup"), join(root, "back")];
    await runOrThrow(["vendor", "backup", file, "--dir", folder, "--yes"]);
    await runOrThrow(["vendor", "restore", file, "--dir", back]);
    expect(contentsBefore(back)).toEqual(withoutHead(contents(folder)));
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

  test("write a backup of a damaged desk, name the faults and end with exit code 1", async () => {
    const folder = await makeFilledDesk();
    writeLines(folder, linesOf(folder).toSpliced(1, 1));
    const file = join(tempFolder(), "desk.backup");
    const result = await runBerth(["vendor", "backup", file, "--dir", folder, "--yes"]);
    expect([result.code, result.stdout, result.stderr]).toEqual([
      1,
      expect.stringContaining("was verified"),
      expect.stringContaining("ledger.jsonl line 2"),
    ]);
    const back = join(tempFolder(), "back");
    const restored = await runBerth(["vendor", "restore", file, "--dir", back]);
    expect(restored.stderr).toContain("ledger.jsonl line 2");
    expect(contents(back)).toEqual(contents(folder));
  });

  test("name the first faults, and how many more there are", async () => {
    const folder = await makeFilledDesk();
    const lines = linesOf(folder);
    writeLines(folder, [...lines, ...Array<string>(12).fill("{")]);
    const file = join(tempFolder(), "desk.backup");
    const { stderr } = await runBerth(["vendor", "backup", file, "--dir", folder, "--yes"]);
    expect(stderr.match(/ledger\.jsonl line \d+/g)).toHaveLength(10);
    expect(stderr).toContain("2 more faults: berth vendor verify names them");
  });

  test("leave out and name files that are not of a desk, and keep no temporary ones", async () => {
    const folder = await makeFilledDesk();
    mkdirSync(join(folder, "presets", "old"), { recursive: true });
    mkdirSync(join(folder, "ledger.jsonl.9.torn"));
    const foreign = ["a letter.txt", "desk.backup", "presets/README.md", ".hidden"];
    for (const name of [...foreign, "ledger.jsonl.lock", "trust.jwt.new"])
      writeFileSync(join(folder, name), "x");
    const [file, back] = [join(tempFolder(), "desk.backup"), join(tempFolder(), "back")];
    const words = ["vendor", "backup", file, "--dir", folder, "--yes", "--json"];
    const { code, stdout, stderr } = await runBerth(words);
    const { left_out: leftOut } = JSON.parse(stdout) as { readonly left_out: string[] };
    const expected = [...foreign, "presets/old", "ledger.jsonl.9.torn"];
    expect([code, leftOut.toSorted()]).toEqual([0, expected.toSorted()]);
    for (const name of expected)
      expect(stderr).toContain(`${name} is not a file of a desk, and is not in the backup`);
    await runOrThrow(["vendor", "restore", file, "--dir", back]);
    const names = Object.keys(contents(back));
    expect(names.filter((name) => !/^(?:trust|ledger|\w{16}\.key)/.test(name))).toEqual([]);
    expect(names).not.toContain("trust.jwt.new");
  });

  test("refuse a copy of the root among the presets", async () => {
    const folder = await makeFilledDesk();
    mkdirSync(join(folder, "presets"));
    const key = join(usualRootFolder(folder), "root.jwk");
    writeFileSync(join(folder, "presets", "CAD.json"), readFileSync(key));
    const file = join(tempFolder(), "desk.backup");
    const result = await runBerth(["vendor", "backup", file, "--dir", folder, "--yes"]);
    expect([result.code, existsSync(file)]).toEqual([1, false]);
    expect(result.stderr).toContain("presets/CAD.json contains the vendor's root key");
  });

  test("have lines of bounded size", async () => {
    const folder = await makeFilledDesk();
    writeFileSync(join(folder, "ledger.jsonl.0.torn"), "x".repeat(1_000_000));
    const file = join(tempFolder(), "desk.backup");
    await runOrThrow(["vendor", "backup", file, "--dir", folder, "--yes"]);
    const lengths = readFileSync(file, "utf8")
      .split("\n")
      .map((line) => line.length);
    expect(Math.max(...lengths)).toBe(64 * 1024);
  });

  test.each<[what: string, edit: (lines: string[]) => string[], error: string]>([
    ["is not a backup", () => ["{}"], "is not a backup of a desk"],
    ["is empty", () => [], "is not a backup of a desk"],
    [
      "contains a changed file",
      (lines) => lines.with(2, (lines[2] ?? "").replace(/^../, "AA")),
      "the backup is damaged at",
    ],
    [
      "states another size of a file",
      (lines) => lines.with(1, (lines[1] ?? "").replace('"size":', '"size":1')),
      "the backup is damaged at",
    ],
    ["lacks a part of a file", (lines) => lines.toSpliced(2, 1), "the backup is damaged at"],
    ["lacks its last line", (lines) => lines.slice(0, -1), "the backup is damaged at its end"],
    ["ends in a file", (lines) => lines.slice(0, 3), "the backup is damaged at"],
    ["lacks a whole file", (lines) => lines.toSpliced(1, 3), "the backup is damaged at its end"],
    ["has a file twice", (lines) => lines.toSpliced(1, 0, ...lines.slice(1, 4)), "is damaged at"],
    ["has a line that is not JSON", (lines) => lines.with(1, "{"), "a line that is not JSON"],
    [
      "lacks the trust document",
      (lines) => {
        const at = lines.findIndex((line) => line.startsWith('{"name":"trust.jwt"'));
        const end = `{"files":${lines.filter((line) => line.startsWith('{"name"')).length - 1}}`;
        return [...lines.toSpliced(at, 3).slice(0, -1), end];
      },
      "the backup does not contain trust.jwt",
    ],
  ])("refuse to restore a file that %s, and create no folder", async (_what, edit, error) => {
    const root = tempFolder();
    const [file, back] = [join(root, "desk.backup"), join(root, "back")];
    await runOrThrow(["vendor", "backup", file, "--dir", await makeFilledDesk(), "--yes"]);
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    writeFileSync(
      file,
      edit(lines)
        .map((line) => `${line}\n`)
        .join(""),
    );
    const result = await runBerth(["vendor", "restore", file, "--dir", back]);
    expect([result.code, result.stderr]).toEqual([1, expect.stringContaining(error)]);
    expect(readdirSync(root)).toEqual(["desk.backup"]);
  });

  test.each(["../escaped", "presets/../../escaped.json", "a letter.txt"])(
    "leave out a file that the backup names %s",
    async (name) => {
      const root = tempFolder();
      const [file, back] = [join(root, "desk.backup"), join(root, "in", "back")];
      mkdirSync(join(root, "in"));
      await runOrThrow(["vendor", "backup", file, "--dir", await makeFilledDesk(), "--yes"]);
      const [head = "", ...lines] = readFileSync(file, "utf8").trimEnd().split("\n");
      const sum = new Bun.SHA256().update("x").digest("hex");
      const foreign = [JSON.stringify({ name, size: 1 }), "eA==", JSON.stringify({ sha256: sum })];
      const { files } = JSON.parse(lines.pop() ?? "") as { readonly files: number };
      const text = [head, ...foreign, ...lines, JSON.stringify({ files: files + 1 })];
      writeFileSync(file, `${text.join("\n")}\n`);
      const { code, stderr } = await runBerth(["vendor", "restore", file, "--dir", back]);
      const message = `${name} is not a file of a desk, and is not in the restored desk`;
      expect([code, stderr]).toEqual([0, expect.stringContaining(message)]);
      expect([readdirSync(root), readdirSync(join(root, "in"))]).toEqual([
        expect.arrayContaining(["desk.backup", "in"]),
        ["back"],
      ]);
      expect(Object.keys(contents(back))).not.toContain(name);
    },
  );

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
