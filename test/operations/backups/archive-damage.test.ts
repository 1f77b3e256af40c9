import { describe, expect, test } from "bun:test";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { Archive } from "../../../src/operations/backups/archive.ts";
import { BackupRefused } from "../../../src/store/folder/refusal.ts";
import { BLOCK_SIZE, writeArchive } from "../../support/archives.ts";
import { editFile } from "../../support/backup-site.ts";

/** The offset at which the entry with this name begins. */
function headerOffset(path: string, name: string): number {
  const offset = readFileSync(path).indexOf(`${name}\u0000`);
  expect(offset % BLOCK_SIZE).toBe(0);
  return offset;
}

/** The byte at which the refusal reports the damage. */
function damageOffset(path: string): number {
  try {
    void new Archive(realDisk, path);
  } catch (error) {
    if (!(error instanceof BackupRefused)) throw error;
    const [, refusedPath, offset] = /^(.*) is damaged at byte (\d+)$/.exec(error.message) ?? [];
    expect([refusedPath, error.hint]).toEqual([path, "use another backup file"]);
    return Number(offset);
  }
  throw new Error("the archive was not refused");
}

/** Writes a text into a field of the header, with a matching checksum. */
function editHeader(path: string, at: number, field: number, text: string): void {
  editFile(path, (bytes) => {
    const header = bytes.subarray(at, at + BLOCK_SIZE);
    header.write(text, field, "latin1");
    header.fill(" ", 148, 156);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\u0000 `, 148);
    return bytes;
  });
}

describe("archive is refused with the offset of the damage", () => {
  test("when any bit of a header is flipped", () => {
    const path = writeArchive();
    const bytes = readFileSync(path);
    const at = headerOffset(path, "journal-19.jsonl");
    for (let bit = 0; bit < 8 * BLOCK_SIZE; bit += 1) {
      const other = Buffer.from(bytes);
      const offset = at + (bit >> 3);
      other[offset] = (other[offset] ?? 0) ^ (1 << (bit & 7));
      writeFileSync(path, other);
      expect([bit, damageOffset(path)]).toEqual([bit, at]);
    }
  });

  test("when any padding byte of a block is not zero", () => {
    const path = writeArchive();
    const bytes = readFileSync(path);
    const at = headerOffset(path, "journal-19.jsonl");
    for (let offset = at + BLOCK_SIZE + BLOCK_SIZE + 1; offset < at + 3 * BLOCK_SIZE; offset += 1) {
      const other = Buffer.from(bytes);
      other[offset] = 1;
      writeFileSync(path, other);
      expect([offset, damageOffset(path)]).toEqual([offset, at]);
    }
  });

  test("when it is truncated at or within any block", () => {
    const path = writeArchive();
    const bytes = readFileSync(path);
    for (let length = 0; length < bytes.length; length += 128) {
      writeFileSync(path, bytes.subarray(0, length));
      expect([length, damageOffset(path)]).toEqual([length, expect.any(Number)]);
    }
  });

  for (const [tailName, tail] of Object.entries({
    "a byte": Buffer.from("x"),
    "a zero": Buffer.alloc(1),
    "a block of zeros": Buffer.alloc(BLOCK_SIZE),
    "another archive": null,
  })) {
    test(`when it has ${tailName} after its end`, () => {
      const path = writeArchive();
      const { length } = readFileSync(path);
      appendFileSync(
        path,
        tail ?? readFileSync(writeArchive({ "journal-1.jsonl": Buffer.from("x") })),
      );
      expect(damageOffset(path)).toBe(length - 2 * BLOCK_SIZE);
    });
  }

  test("when a header in the middle is all zeros", () => {
    const path = writeArchive();
    const at = headerOffset(path, "journal-19.jsonl");
    editFile(path, (bytes) => bytes.fill(0, at, at + BLOCK_SIZE));
    expect(damageOffset(path)).toBe(at);
  });

  test("when two entries have the same name", () => {
    const path = writeArchive();
    const at = headerOffset(path, "journal-19.jsonl");
    editHeader(path, at, 0, "journal-18.jsonl");
    expect(damageOffset(path)).toBe(at);
  });

  for (const name of [
    "../state.json",
    "/state.json",
    "history/../state.json",
    "history/../../x",
    "./state.json",
    "state.json/",
    "history/",
    "history//x",
    "other/state.json",
    "..",
    ".",
    ".hidden",
    "history/.x",
    "a\\b",
    "a b",
    "a\nb",
    "State.json",
    "",
  ]) {
    test(`when an entry is named ${JSON.stringify(name)}`, () => {
      const path = writeArchive();
      const at = headerOffset(path, "journal-19.jsonl");
      editHeader(path, at, 0, name.padEnd(100, "\u0000"));
      expect(damageOffset(path)).toBe(at);
    });
  }

  for (const size of ["77777777777", "-0000000001", "-0000001000", "0000001001x", "           "]) {
    test(`when an entry has the size ${JSON.stringify(size)}`, () => {
      const path = writeArchive();
      const at = headerOffset(path, "journal-19.jsonl");
      editHeader(path, at, 124, size);
      expect(damageOffset(path)).toBe(at);
    });
  }

  test("when an entry is a link or has a name prefix", () => {
    for (const [field, text] of [
      [156, "2"],
      [157, "/etc/passwd"],
      [345, "history"],
    ] as const) {
      const path = writeArchive();
      const at = headerOffset(path, "journal-19.jsonl");
      editHeader(path, at, field, text);
      expect([field, damageOffset(path)]).toEqual([field, at]);
    }
  });
});
