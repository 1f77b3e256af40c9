// Folders of other versions: each is refused in one sentence, and stays as it is. Berth 0.2.0 and
// older were never released; old-versions.json has files that they wrote.
import { describe, expect, test } from "bun:test";
import { appendFileSync, chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Event } from "../../../src/domain/model/event.ts";
import { instant } from "../../../src/domain/time.ts";
import { sha256 } from "../../../src/platform/crypto/hash.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { encodeLine, genesisHead } from "../../../src/store/journal/journal.ts";
import { replay } from "../../../src/store/journal/replay.ts";
import { contentsOf, tempFolder } from "../../support/temp-folder.ts";
import { listSegmentNames } from "../../support/licensed-store.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { writeArchive } from "../../support/archives.ts";
import { runBerth, type CommandResult } from "../../support/run-berth.ts";
import old from "../../support/old-versions.json";

const VECTORS = join(import.meta.dir, "..", "..", "vectors", "documents");

type Files = Readonly<Record<string, string>>;

function unpack(files: Files): string {
  const folder = join(tempFolder(), "data");
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  }
  // Readable for others: not even its mode may change.
  chmodSync(folder, 0o750);
  return folder;
}

const hashFiles = (folder: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(contentsOf(folder)).map(([name, text]) => [name, sha256(text)]),
  );

/** Runs a command that refuses the folder, and checks that it changes no file. */
async function runUnchanged(folder: string, ...args: string[]): Promise<CommandResult> {
  const before = hashFiles(folder);
  const result = await runBerth(args);
  expect(hashFiles(folder)).toEqual(before);
  return result;
}

const FORMAT = "has format 5 of Berth 0.2.0 or older; this version of berth reads format 6";
const HINT = "keep that version for it, or begin a new folder with --data DIR";

const FOLDERS: readonly [string, Files][] = [
  ["of a site", old.folder],
  ["of a host of a pair", old.pairHost],
];

describe.each(FOLDERS)("a data folder %s of Berth 0.2.0", (_whose, files) => {
  test.each([
    [["serve", "--listen", "127.0.0.1:0", "--identity", "fixture"]],
    [["status"]],
    [["audit"]],
    [["verify"]],
    [["backup", "/dev/shm/never.berth"]],
    [["move", "out", "/dev/shm/never.berth", "--yes"]],
    [["usage", "rebuild"]],
    [["admin", "token", "--name", "ops"]],
  ])("is refused by berth %j with exit code 78, and stays as it is", async (args) => {
    const folder = unpack(files);
    const { code, stdout, stderr } = await runUnchanged(folder, ...args, "--data", folder);
    expect([code, stdout, stderr]).toEqual([
      78,
      "",
      `berth: error: ${folder}/state.json ${FORMAT}\nberth: hint: ${HINT}\n`,
    ]);
  });

  test("is reported by berth doctor with exit code 78, and stays as it is", async () => {
    const folder = unpack(files);
    const args = ["doctor", "--data", folder, "--listen", "127.0.0.1:0", "--json"];
    const { code, stdout } = await runUnchanged(folder, ...args);
    expect(code).toBe(78);
    expect(JSON.parse(stdout)).toMatchObject({
      findings: expect.arrayContaining([
        expect.objectContaining({ severity: "error", summary: expect.stringContaining(FORMAT) }),
      ]),
    });
  });
});

test("a backup of Berth 0.2.0 is refused with exit code 78, and nothing is restored", async () => {
  const { "state-0.json": _older, ...files } = old.folder;
  const entries = Object.entries({ ...files }).map(([name, text]) => [name, Buffer.from(text)]);
  const manifest = {
    backup: 1,
    berth: "0.2.0",
    made_at: "2026-11-19T08:00:00.000Z",
    appliance: "TXX2MD3KX6ARTQB4",
    kind: "site",
    seq: 1,
    audit_seq: 1,
    files: entries.map(([name, bytes]) => ({
      name,
      size: bytes?.length,
      sha256: sha256(bytes ?? ""),
    })),
  };
  const file = writeArchive({
    ...Object.fromEntries(entries),
    "backup.json": Buffer.from(JSON.stringify(manifest)),
  });
  const newFolder = join(tempFolder(), "new");
  for (const args of [
    ["verify", file],
    ["restore", file, "--data", newFolder],
  ]) {
    const { code, stderr } = await runUnchanged(dirname(file), ...args);
    expect([code, stderr]).toEqual([
      78,
      `berth: error: ${file}/state.json ${FORMAT}\nberth: hint: ${HINT}\n`,
    ]);
  }
  expect(existsSync(newFolder)).toBe(false);
});

test("a journal with an event of a newer version is refused with exit code 78 by every command", async () => {
  const folder = join(tempFolder(), "data");
  await makeLicensedSite(folder, {});
  const path = join(folder, listSegmentNames(folder).at(-1) ?? "");
  const { head } = (await replay(realDisk, folder)) ?? { head: genesisHead };
  const event = { type: "SlotLent", at: Date.now(), license: 1, user: "ada" } as unknown;
  appendFileSync(path, encodeLine(head, null, instant(Date.now()), [event as Event]).text);
  for (const args of [["serve", "--listen", "127.0.0.1:0"], ["verify"], ["audit"]]) {
    const { code, stderr } = await runUnchanged(folder, ...args, "--data", folder);
    expect([code, stderr]).toEqual([
      78,
      `berth: error: ${path}: line ${head.seq + 1} contains an event that this version of berth does not know: SlotLent\n` +
        "berth: hint: a newer version of berth wrote it: start that version, or a newer one; nothing was changed\n",
    ]);
  }
});

describe.each<[version: string, files: Files]>([
  ["0.2.0", old.desk],
  ["0.1.0", old.firstDesk],
])("a desk of Berth %s", (_version, files) => {
  const refusal =
    "berth: error: this desk is of Berth 0.2.0 or older, and this version of berth cannot read it\n" +
    "berth: hint: keep that version for it, or begin a new desk with berth vendor init\n";

  test.each([
    [["show"]],
    [["list"]],
    [["verify"]],
    [["usage"]],
    [["policy", "--policy-id", "p", "--product", "CAD"]],
    [["key", "new", "--no-passphrase"]],
    [["accept", join(VECTORS, "good-trust.jwt")]],
    [["passphrase", "--no-passphrase"]],
    [["backup", "/dev/shm/never.backup", "--yes"]],
  ])("is refused by berth vendor %j with exit code 78, and stays as it is", async (args) => {
    const folder = unpack(files);
    const words = ["vendor", ...args, "--dir", folder];
    const { code, stdout, stderr } = await runUnchanged(folder, ...words);
    expect([code, stdout, stderr]).toEqual([78, "", refusal]);
  });
});

test.each([
  ["of Berth 0.2.0 and older", JSON.stringify({ version: 1, files: [] }, null, 1), 1],
  ["of a newer version", '{"version":3}\n', 3],
])("a backup of a desk %s is refused with exit code 78", async (_which, text, version) => {
  const file = join(tempFolder(), "desk.backup");
  writeFileSync(file, text.replace("{", '{"kind": "berth-desk-backup",'));
  const folder = join(tempFolder(), "desk");
  const args = ["vendor", "restore", file, "--dir", folder];
  const { code, stderr } = await runUnchanged(dirname(file), ...args);
  expect([code, stderr, existsSync(folder)]).toEqual([
    78,
    `berth: error: this backup of a desk has version ${version}; this version of berth reads version 2\n` +
      "berth: hint: use the version of berth that wrote it\n",
    false,
  ]);
});

test("a desk of a newer version is refused with exit code 78, and stays as it is", async () => {
  const { "ledger.jsonl": ledger, ...others } = old.desk;
  const newer = ledger.replace('"prev"', '"format":4,"prev"');
  const folder = unpack({ ...others, "ledger.jsonl": newer });
  const result = await runUnchanged(folder, "vendor", "show", "--dir", folder);
  expect([result.code, result.stderr]).toEqual([
    78,
    "berth: error: this desk has format 4; this version of berth reads format 3\n" +
      "berth: hint: use the version of berth that wrote it, or a newer one\n",
  ]);
});
