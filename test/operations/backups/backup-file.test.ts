// `berth verify FILE` and a restore accept a backup only exactly as it was made.
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import {
  MANIFEST_FILE,
  type BackupManifest,
} from "../../../src/operations/backups/backup-manifest.ts";
import { openBackup } from "../../../src/operations/backups/backup.ts";
import { writeArchive } from "../../support/archives.ts";
import {
  backUpFolder,
  checkIdentity,
  openSiteWithHistory,
  catchRefusal,
  type Refusal,
} from "../../support/backup-site.ts";

type Files = Readonly<Record<string, string>>;

/** The files of a backup, and its manifest. */
async function readBackup(path: string): Promise<{ files: Files; manifest: BackupManifest }> {
  const { archive, manifest } = await openBackup(realDisk, path, { identity: checkIdentity });
  const read = (name: string): string =>
    Buffer.from(archive.read(join(path, name)) ?? []).toString();
  const files = Object.fromEntries(manifest.files.map(({ name }) => [name, read(name)]));
  return { files, manifest };
}

const makeSiteBackup = async () =>
  readBackup(await backUpFolder((await openSiteWithHistory()).folder));

/** Writes a backup with these files and this manifest. */
const writeBackup = (files: Files, manifestText: string): string =>
  writeArchive(
    Object.fromEntries(
      Object.entries({ ...files, [MANIFEST_FILE]: manifestText }).map(([name, text]) => [
        name,
        Buffer.from(text),
      ]),
    ),
  );

const listFiles = (files: Files): BackupManifest["files"] =>
  Object.entries(files).map(([name, text]) => ({
    name,
    size: Buffer.byteLength(text),
    sha256: new Bun.CryptoHasher("sha256").update(text).digest("hex"),
  }));

const openRefusal = (path: string): Promise<Refusal> =>
  catchRefusal(openBackup(realDisk, path, { identity: checkIdentity }));

const HINT = "use another backup file";

const withFileEntry = (
  manifest: BackupManifest,
  fileName: string,
  change: (file: BackupManifest["files"][number]) => object,
): object => ({
  ...manifest,
  files: manifest.files.map((file) =>
    file.name === fileName ? { ...file, ...change(file) } : file,
  ),
});

describe("backup file", () => {
  test("is accepted when it is unchanged", async () => {
    const { files, manifest } = await makeSiteBackup();
    const out = writeBackup(files, JSON.stringify(manifest));
    expect(await readBackup(out)).toEqual({ files, manifest });
  });

  const changes: Record<string, [(manifest: BackupManifest) => object | string, string]> = {
    "an empty manifest": [() => "", "is not a complete backup"],
    "a manifest that is no JSON": [() => "{", "is not a complete backup"],
    "a manifest of another shape": [({ seq: _seq, ...rest }) => rest, "is not a complete backup"],
    "a later version of backups": [
      (manifest) => ({ ...manifest, backup: 2 }),
      "is not a complete backup",
    ],
    "a file that is not in the manifest": [
      (manifest) => ({ ...manifest, files: manifest.files.slice(1) }),
      "is damaged: its list of files does not match its manifest",
    ],
    "a missing file": [
      (manifest) => ({
        ...manifest,
        files: [...manifest.files, { ...manifest.files[0], name: "journal-9.jsonl" }],
      }),
      "is damaged: its list of files does not match its manifest",
    ],
    "a file that is twice in the manifest": [
      (manifest) => ({ ...manifest, files: [...manifest.files, manifest.files[0]] }),
      "is damaged: its list of files does not match its manifest",
    ],
    "another checksum in the manifest": [
      (manifest) => withFileEntry(manifest, "state.json", () => ({ sha256: "0".repeat(64) })),
      "is damaged: state.json does not match its manifest",
    ],
    "a file longer than the manifest says": [
      (manifest) => withFileEntry(manifest, "state.json", ({ size }) => ({ size: size - 1 })),
      "is damaged: state.json does not match its manifest",
    ],
    "a file shorter than the manifest says": [
      (manifest) => withFileEntry(manifest, "state.json", ({ size }) => ({ size: size + 1 })),
      "is damaged: state.json does not match its manifest",
    ],
    "another appliance in the manifest": [
      (manifest) => ({ ...manifest, appliance: "OTHER" }),
      "is damaged: its content does not match its manifest",
    ],
    "a smaller seq in the manifest": [
      (manifest) => ({ ...manifest, seq: manifest.seq - 1 }),
      "is damaged: its content does not match its manifest",
    ],
    "a larger seq in the manifest": [
      (manifest) => ({ ...manifest, seq: manifest.seq + 1 }),
      "is damaged: its content does not match its manifest",
    ],
    "another audit_seq in the manifest": [
      (manifest) => ({ ...manifest, audit_seq: manifest.audit_seq - 1 }),
      "is damaged: its content does not match its manifest",
    ],
    "another kind in the manifest": [
      (manifest) => ({ ...manifest, kind: "demo" }),
      "is damaged: its content does not match its manifest",
    ],
  };
  for (const [what, [change, expectedMessage]] of Object.entries(changes)) {
    test(`is refused with ${what}`, async () => {
      const { files, manifest } = await makeSiteBackup();
      const changed = change(manifest);
      const out = writeBackup(
        files,
        typeof changed === "string" ? changed : JSON.stringify(changed),
      );
      expect(await openRefusal(out)).toEqual({
        name: "BackupRefused",
        message: `${out} ${expectedMessage}`,
        hint: HINT,
      });
    });
  }

  test("is refused without a manifest", async () => {
    const { files } = await makeSiteBackup();
    const out = writeBackup(files, "");
    writeFileSync(out, Buffer.concat([readFileSync(out).subarray(0, -1536), Buffer.alloc(1024)]));
    expect((await openRefusal(out)).message).toBe(`${out} is not a complete backup`);
  });

  test("is refused when any byte is changed, except in berth and made_at, which nothing checks", async () => {
    const { folder } = await openSiteWithHistory();
    const out = await backUpFolder(folder);
    const bytes = readFileSync(out);
    const unchecked = ['"berth": "', '"made_at": "'].map((name) => {
      const from = bytes.lastIndexOf(name) + name.length;
      return { from, to: bytes.indexOf('"', from) };
    });
    let refused = 0;
    for (let offset = 0; offset < bytes.length; offset += offset % 512 < 160 ? 7 : 31) {
      if (unchecked.some(({ from, to }) => offset >= from && offset < to)) continue;
      const other = Buffer.from(bytes);
      other[offset] = (other[offset] ?? 0) ^ 1;
      writeFileSync(out, other);
      expect([offset, (await openRefusal(out)).name]).toEqual([offset, "BackupRefused"]);
      refused += 1;
    }
    expect(refused).toBeGreaterThan(500);
  });

  test("is refused when it is truncated anywhere", async () => {
    const { folder } = await openSiteWithHistory();
    const out = await backUpFolder(folder);
    const bytes = readFileSync(out);
    for (let length = 0; length < bytes.length; length += 256) {
      writeFileSync(out, bytes.subarray(0, length));
      expect([length, (await openRefusal(out)).name]).toEqual([length, "BackupRefused"]);
    }
  });

  /** A backup with changed files and a manifest that matches them. */
  async function writeChangedBackup(change: (files: Files) => Files): Promise<string> {
    const { files, manifest } = await makeSiteBackup();
    const other = change(files);
    expect(other).not.toEqual(files);
    return writeBackup(other, JSON.stringify({ ...manifest, files: listFiles(other) }));
  }

  for (const name of ["sealing.key", "credentials.sealed", "lock", "restore.new"]) {
    test(`is refused with a file that is never part of a backup: ${name}`, async () => {
      const out = await writeChangedBackup((files) => ({ ...files, [name]: "x" }));
      expect((await openRefusal(out)).message).toBe(
        `${out} is damaged: its list of files does not match its manifest`,
      );
    });
  }

  test("is refused with an interrupted write at the end of its journal", async () => {
    const name = "journal-6.jsonl";
    const out = await writeChangedBackup((files) => ({ ...files, [name]: `${files[name]}{"seq"` }));
    expect((await openRefusal(out)).message).toBe(
      `${out} is damaged: its content does not match its manifest`,
    );
  });

  test("is refused without the last line of its journal", async () => {
    const name = "journal-6.jsonl";
    const out = await writeChangedBackup((files) => ({
      ...files,
      [name]: files[name]?.split("\n").toSpliced(-2, 1).join("\n") ?? "",
    }));
    expect((await openRefusal(out)).message).toBe(
      `${out} is damaged: its content does not match its manifest`,
    );
  });

  const contentChanges: Record<string, [change: (files: Files) => Files, expectedMessage: string]> =
    {
      "a changed state": [
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
      "a changed audit log": [
        (files) => ({
          ...files,
          "history/2026-04.jsonl": files["history/2026-04.jsonl"]?.replace("seq", "sed") ?? "",
        }),
        "/history/2026-04.jsonl is damaged at byte 0, where line 4 of the audit log is expected",
      ],
    };
  for (const [what, [change, expectedMessage]] of Object.entries(contentChanges)) {
    test(`is refused with ${what}, although its manifest matches`, async () => {
      const out = await writeChangedBackup(change);
      expect(await openRefusal(out)).toEqual({
        name: "BackupRefused",
        message: `${out} is damaged: ${out}${expectedMessage}`,
        hint: HINT,
      });
    });
  }
});
