// What `berth verify FILE` and a restore accept as a backup: exactly what was made.
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/disk.ts";
import { MANIFEST_FILE, openBackup, type BackupManifest } from "../../src/store/backup.ts";
import { writeArchive } from "../support/archives.ts";
import {
  backUpFolder,
  checkIdentity,
  openSiteWithHistory,
  catchRefusal,
  type Refusal,
} from "../support/backup-site.ts";

type Files = Readonly<Record<string, string>>;

/** What a backup of a site holds, without the list. */
async function filesOf(path: string): Promise<{ files: Files; manifest: BackupManifest }> {
  const { archive, manifest } = await openBackup(realDisk, path, { identity: checkIdentity });
  const read = (name: string): string =>
    Buffer.from(archive.read(join(path, name)) ?? []).toString();
  const files = Object.fromEntries(manifest.files.map(({ name }) => [name, read(name)]));
  return { files, manifest };
}

const made = async () => filesOf(await backUpFolder((await openSiteWithHistory()).folder));

/** A backup as it would have been written with these files and this list. */
const backup = (files: Files, list: string): string =>
  writeArchive(
    Object.fromEntries(
      Object.entries({ ...files, [MANIFEST_FILE]: list }).map(([name, text]) => [
        name,
        Buffer.from(text),
      ]),
    ),
  );

const listed = (files: Files): BackupManifest["files"] =>
  Object.entries(files).map(([name, text]) => ({
    name,
    size: Buffer.byteLength(text),
    sha256: new Bun.CryptoHasher("sha256").update(text).digest("hex"),
  }));

const opening = (path: string): Promise<Refusal> =>
  catchRefusal(openBackup(realDisk, path, { identity: checkIdentity }));

const HINT = "use another backup file";

const relisted = (
  one: BackupManifest,
  named: string,
  change: (file: BackupManifest["files"][number]) => object,
): object => ({
  ...one,
  files: one.files.map((file) => (file.name === named ? { ...file, ...change(file) } : file)),
});

describe("a backup file that is not what was made is refused", () => {
  test("and one that is, is not", async () => {
    const { files, manifest } = await made();
    const out = backup(files, JSON.stringify(manifest));
    expect(await filesOf(out)).toEqual({ files, manifest });
  });

  const changes: Record<string, [(manifest: BackupManifest) => object | string, string]> = {
    "no list at all": [() => "", "is not a complete backup"],
    "a list that is no JSON": [() => "{", "is not a complete backup"],
    "a list of another shape": [({ seq: _seq, ...rest }) => rest, "is not a complete backup"],
    "a later kind of backup": [(one) => ({ ...one, backup: 2 }), "is not a complete backup"],
    "a file too many": [
      (one) => ({ ...one, files: one.files.slice(1) }),
      "is damaged: its list of files does not match its manifest",
    ],
    "a file too few": [
      (one) => ({ ...one, files: [...one.files, { ...one.files[0], name: "journal-9.jsonl" }] }),
      "is damaged: its list of files does not match its manifest",
    ],
    "a file twice in its list": [
      (one) => ({ ...one, files: [...one.files, one.files[0]] }),
      "is damaged: its list of files does not match its manifest",
    ],
    "another sum": [
      (one) => relisted(one, "state.json", () => ({ sha256: "0".repeat(64) })),
      "is damaged: state.json does not match its manifest",
    ],
    "a file that should be shorter": [
      (one) => relisted(one, "state.json", ({ size }) => ({ size: size - 1 })),
      "is damaged: state.json does not match its manifest",
    ],
    "a file that should be longer": [
      (one) => relisted(one, "state.json", ({ size }) => ({ size: size + 1 })),
      "is damaged: state.json does not match its manifest",
    ],
    "another appliance": [
      (one) => ({ ...one, appliance: "OTHER" }),
      "is damaged: its content does not match its manifest",
    ],
    "an earlier end": [
      (one) => ({ ...one, seq: one.seq - 1 }),
      "is damaged: its content does not match its manifest",
    ],
    "a later end": [
      (one) => ({ ...one, seq: one.seq + 1 }),
      "is damaged: its content does not match its manifest",
    ],
    "another end of its record": [
      (one) => ({ ...one, audit_seq: one.audit_seq - 1 }),
      "is damaged: its content does not match its manifest",
    ],
    "another kind": [
      (one) => ({ ...one, kind: "demo" }),
      "is damaged: its content does not match its manifest",
    ],
  };
  for (const [what, [change, said]] of Object.entries(changes)) {
    test(`with ${what}`, async () => {
      const { files, manifest } = await made();
      const told = change(manifest);
      const out = backup(files, typeof told === "string" ? told : JSON.stringify(told));
      expect(await opening(out)).toEqual({
        name: "BackupRefused",
        message: `${out} ${said}`,
        hint: HINT,
      });
    });
  }

  test("with no list", async () => {
    const { files } = await made();
    const out = backup(files, "");
    writeFileSync(out, Buffer.concat([readFileSync(out).subarray(0, -1536), Buffer.alloc(1024)]));
    expect((await opening(out)).message).toBe(`${out} is not a complete backup`);
  });

  test("at whichever byte it is flipped, but for what nothing else in it says", async () => {
    const { folder } = await openSiteWithHistory();
    const out = await backUpFolder(folder);
    const bytes = readFileSync(out);
    const free = ['"berth": "', '"made_at": "'].map((name) => {
      const from = bytes.lastIndexOf(name) + name.length;
      return { from, to: bytes.indexOf('"', from) };
    });
    let refused = 0;
    for (let place = 0; place < bytes.length; place += place % 512 < 160 ? 7 : 31) {
      if (free.some(({ from, to }) => place >= from && place < to)) continue;
      const other = Buffer.from(bytes);
      other[place] = (other[place] ?? 0) ^ 1;
      writeFileSync(out, other);
      expect([place, (await opening(out)).name]).toEqual([place, "BackupRefused"]);
      refused += 1;
    }
    expect(refused).toBeGreaterThan(500);
  });

  test("cut off anywhere", async () => {
    const { folder } = await openSiteWithHistory();
    const out = await backUpFolder(folder);
    const bytes = readFileSync(out);
    for (let length = 0; length < bytes.length; length += 256) {
      writeFileSync(out, bytes.subarray(0, length));
      expect([length, (await opening(out)).name]).toEqual([length, "BackupRefused"]);
    }
  });

  /** Other files, and a list that agrees to them. */
  async function differing(change: (files: Files) => Files): Promise<string> {
    const { files, manifest } = await made();
    const other = change(files);
    expect(other).not.toEqual(files);
    return backup(other, JSON.stringify({ ...manifest, files: listed(other) }));
  }

  for (const name of ["sealing.key", "credentials.sealed", "lock", "restore.new"]) {
    test(`with something in it that no restore replaces: ${name}`, async () => {
      const out = await differing((files) => ({ ...files, [name]: "x" }));
      expect((await opening(out)).message).toBe(
        `${out} is damaged: its list of files does not match its manifest`,
      );
    });
  }

  test("with an interrupted write at the end of its journal", async () => {
    const name = "journal-6.jsonl";
    const out = await differing((files) => ({ ...files, [name]: `${files[name]}{"seq"` }));
    expect((await opening(out)).message).toBe(
      `${out} is damaged: its content does not match its manifest`,
    );
  });

  test("without the last line of its journal", async () => {
    const name = "journal-6.jsonl";
    const out = await differing((files) => ({
      ...files,
      [name]: files[name]?.split("\n").toSpliced(-2, 1).join("\n") ?? "",
    }));
    expect((await opening(out)).message).toBe(
      `${out} is damaged: its content does not match its manifest`,
    );
  });

  const inside: Record<string, [change: (files: Files) => Files, said: string]> = {
    "a state that was changed": [
      ({ "state.json": state = "", ...files }) => ({
        ...files,
        "state.json": state.replace('"nextSlot":', '"nextSlot":1'),
      }),
      "/state.json does not match its checksum",
    ],
    "no state": [({ "state.json": _state, ...files }) => files, " is not a data folder"],
    "another appliance's key": [
      (files) => ({ ...files, "identity.jwk": "other" }),
      "/identity.jwk is another appliance's key",
    ],
    "a record that was changed": [
      (files) => ({
        ...files,
        "history/2026-04.jsonl": files["history/2026-04.jsonl"]?.replace("seq", "sed") ?? "",
      }),
      "/history/2026-04.jsonl is damaged at byte 0, where line 4 of the audit log is expected",
    ],
  };
  for (const [what, [change, said]] of Object.entries(inside)) {
    test(`with ${what}, though its list agrees to it`, async () => {
      const out = await differing(change);
      expect(await opening(out)).toEqual({
        name: "BackupRefused",
        message: `${out} is damaged: ${out}${said}`,
        hint: HINT,
      });
    });
  }
});
