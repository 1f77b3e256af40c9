import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { Archive, ArchiveWriter } from "../../../src/operations/backups/archive.ts";
import { MANIFEST_FILE } from "../../../src/operations/backups/backup-manifest.ts";
import { BackupRefused } from "../../../src/store/folder/refusal.ts";
import { BLOCK_SIZE, SAMPLE_FILES, writeArchive } from "../../support/archives.ts";
import { newBackupPath } from "../../support/backup-site.ts";
import { FaultyDisk } from "../../support/faulty-disk.ts";
import { contentsOf, modeOf, tempFolder } from "../../support/temp-folder.ts";

const blocksOf = (path: string): number => readFileSync(path).length / BLOCK_SIZE;

const openArchive = (path: string): Archive => new Archive(realDisk, path);

describe("archive", () => {
  test("returns the entries and bytes that were written", () => {
    const path = writeArchive();
    const archive = openArchive(path);
    expect(archive.names).toEqual(Object.keys(SAMPLE_FILES));
    for (const [name, bytes] of Object.entries(SAMPLE_FILES)) {
      expect(archive.read(join(path, name))).toEqual(new Uint8Array(bytes));
      expect(archive.stat(join(path, name))).toEqual({
        mode: 0o600,
        uid: 0,
        size: bytes.length,
        identity: null,
      });
    }
    expect(readFileSync(path).toString("latin1", 257, 265)).toBe("ustar\u000000");
    expect(blocksOf(path)).toBe(7 + 1 + 1 + 0 + 2 + 1 + 1 + 1 + 2);
  });

  test("lists and reads its entries like a disk with one folder", () => {
    const path = writeArchive();
    const archive = openArchive(path);
    expect(archive.list(path)).toEqual([
      "identity.jwk",
      "state.json",
      "journal-18.jsonl",
      "journal-19.jsonl",
      "history",
      MANIFEST_FILE,
    ]);
    expect(archive.list(join(path, "history"))).toEqual(["2026-03.jsonl", "2026-03-7.jsonl"]);
    expect(archive.list(join(path, "nothing"))).toEqual([]);
    expect(archive.read(join(path, "nothing"))).toBeNull();
    expect(archive.readPart(join(path, "nothing"), 0, 9)).toBeNull();
    expect(archive.stat(join(path, "nothing"))).toBeNull();
    expect(archive.stat(path)).toBeNull();
  });

  test("reads parts of an entry and never bytes of the next entry", () => {
    const path = writeArchive();
    const archive = openArchive(path);
    const part = (offset: number, length: number): string =>
      Buffer.from(archive.readPart(join(path, "identity.jwk"), offset, length) ?? []).toString();
    expect(part(0, 6)).toBe("a key\n");
    expect(part(2, 3)).toBe("key");
    expect(part(2, 600)).toBe("key\n");
    expect(part(6, 1)).toBe("");
    expect(part(700, 9)).toBe("");
  });

  test("refuses every call that would change an entry", async () => {
    const path = writeArchive();
    const before = readFileSync(path);
    const archive = openArchive(path);
    const entryPath = join(path, "state.json");
    const message = `${entryPath} is in a backup and cannot be changed`;
    for (const change of [
      archive.open,
      archive.remove,
      archive.removeFolder,
      archive.makeFolder,
      archive.rename,
      archive.link,
      archive.setMode,
      archive.lock,
    ] as const) {
      expect(() => change(entryPath)).toThrow(message);
    }
    expect(archive.syncFolder(entryPath)).rejects.toThrow(message);
    expect(archive.freeBytes()).toBe(0);
    expect(readFileSync(path)).toEqual(before);
  });

  test("refuses a file that does not exist", () => {
    const path = newBackupPath();
    expect(() => openArchive(path)).toThrow(
      new BackupRefused(`${path} does not exist`, "check the file name"),
    );
  });

  test("writes an entry given in parts, even when the disk accepts 100 bytes per write", () => {
    const path = newBackupPath();
    const disk = new FaultyDisk();
    disk.maxWriteSize = 100;
    const file = disk.open(path);
    const writer = new ArchiveWriter(file);
    writer.add("state.json", 5, [Buffer.from("ab"), Buffer.from(""), Buffer.from("cde")]);
    writer.end();
    file.close();
    expect(Buffer.from(openArchive(path).read(join(path, "state.json")) ?? []).toString()).toBe(
      "abcde",
    );
  });

  test("refuses an entry of another size than announced, too large, or with too long a name", () => {
    const file = realDisk.open(newBackupPath());
    const writer = new ArchiveWriter(file);
    const add = (name: string, size: number) => () => writer.add(name, size, [Buffer.from("abc")]);
    expect(add("state.json", 4)).toThrow("state.json had 3 bytes and should have 4");
    expect(add("state.json", 2)).toThrow("state.json had 3 bytes and should have 2");
    expect(add("state.json", 8 ** 11)).toThrow("state.json is too large for a backup file");
    expect(add("x".repeat(101), 3)).toThrow("is too long");
    expect(add("x".repeat(99) + "ü", 3)).toThrow("is too long");
    expect(add("x".repeat(100), 3)).not.toThrow();
    file.close();
  });

  test("reads an entry name of exactly 100 bytes", () => {
    const name = "x".repeat(100);
    expect(openArchive(writeArchive({ [name]: Buffer.from("abc") })).names).toEqual([name]);
  });
});

const tar = (...args: readonly string[]): string => {
  const { stdout, stderr, exitCode } = Bun.spawnSync(["tar", ...args], {
    env: { ...process.env, TZ: "UTC", LC_ALL: "C" },
  });
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  return stdout.toString();
};

describe.skipIf(Bun.which("tar") === null)("the system's tar, given an archive,", () => {
  test("lists the same entries, readable only by their owner", () => {
    const path = writeArchive();
    expect(tar("tf", path).trim().split("\n")).toEqual(Object.keys(SAMPLE_FILES));
    const rows = tar("tvf", path, "--numeric-owner").trim().split("\n");
    expect(rows.map((row) => row.split(/ +/).toSpliced(3, 2))).toEqual(
      Object.entries(SAMPLE_FILES).map(([name, { length }]) => [
        "-rw-------",
        "0/0",
        `${length}`,
        name,
      ]),
    );
  });

  test("unpacks the same bytes", () => {
    const path = writeArchive();
    const folder = tempFolder();
    tar("xf", path, "-C", folder);
    for (const [name, bytes] of Object.entries(SAMPLE_FILES)) {
      expect(new Uint8Array(readFileSync(join(folder, name)))).toEqual(new Uint8Array(bytes));
      expect(modeOf(join(folder, name))).toBe("600");
    }
    const names = Object.keys(contentsOf(folder)).filter((name) => !/^(?:\.|history)$/.test(name));
    expect(names.toSorted()).toEqual(Object.keys(SAMPLE_FILES).toSorted());
  });
});
