import { describe, expect, test } from "bun:test";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { realDisk } from "../../src/platform/disk.ts";
import { Archive } from "../../src/store/archive.ts";
import { BackupRefused } from "../../src/store/refusal.ts";
import { BLOCK_SIZE, writeArchive } from "../support/archives.ts";
import { editFile } from "../support/backup-site.ts";

/** Where the entry with this name begins. */
function headerAt(path: string, name: string): number {
  const place = readFileSync(path).indexOf(`${name}\u0000`);
  expect(place % BLOCK_SIZE).toBe(0);
  return place;
}

/** The byte at which it is said to be damaged. */
function damageIn(path: string): number {
  try {
    void new Archive(realDisk, path);
  } catch (error) {
    if (!(error instanceof BackupRefused)) throw error;
    const [, said, place] = /^(.*) is damaged at byte (\d+)$/.exec(error.message) ?? [];
    expect([said, error.hint]).toEqual([path, "use another backup file"]);
    return Number(place);
  }
  throw new Error("it was not refused");
}

/** The same header with something else in it, and the checksum that belongs to it. */
function reheaded(path: string, at: number, field: number, text: string): void {
  editFile(path, (bytes) => {
    const header = bytes.subarray(at, at + BLOCK_SIZE);
    header.write(text, field, "latin1");
    header.fill(" ", 148, 156);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\u0000 `, 148);
    return bytes;
  });
}

describe("a damaged archive is refused with the place", () => {
  test("whichever bit of a header is flipped", () => {
    const path = writeArchive();
    const bytes = readFileSync(path);
    const at = headerAt(path, "journal-19.jsonl");
    for (let bit = 0; bit < 8 * BLOCK_SIZE; bit += 1) {
      const other = Buffer.from(bytes);
      const place = at + (bit >> 3);
      other[place] = (other[place] ?? 0) ^ (1 << (bit & 7));
      writeFileSync(path, other);
      expect([bit, damageIn(path)]).toEqual([bit, at]);
    }
  });

  test("whichever byte of what fills up a block is not zero", () => {
    const path = writeArchive();
    const bytes = readFileSync(path);
    const at = headerAt(path, "journal-19.jsonl");
    for (let place = at + BLOCK_SIZE + BLOCK_SIZE + 1; place < at + 3 * BLOCK_SIZE; place += 1) {
      const other = Buffer.from(bytes);
      other[place] = 1;
      writeFileSync(path, other);
      expect([place, damageIn(path)]).toEqual([place, at]);
    }
  });

  test("cut off at any block, and anywhere in one", () => {
    const path = writeArchive();
    const bytes = readFileSync(path);
    for (let length = 0; length < bytes.length; length += 128) {
      writeFileSync(path, bytes.subarray(0, length));
      expect([length, damageIn(path)]).toEqual([length, expect.any(Number)]);
    }
  });

  for (const [what, tail] of Object.entries({
    "a byte": Buffer.from("x"),
    "a zero": Buffer.alloc(1),
    "a block of zeros": Buffer.alloc(BLOCK_SIZE),
    "another archive": null,
  })) {
    test(`with ${what} behind its end`, () => {
      const path = writeArchive();
      const { length } = readFileSync(path);
      appendFileSync(
        path,
        tail ?? readFileSync(writeArchive({ "journal-1.jsonl": Buffer.from("x") })),
      );
      expect(damageIn(path)).toBe(length - 2 * BLOCK_SIZE);
    });
  }

  test("with zeros in the middle of it", () => {
    const path = writeArchive();
    const at = headerAt(path, "journal-19.jsonl");
    editFile(path, (bytes) => bytes.fill(0, at, at + BLOCK_SIZE));
    expect(damageIn(path)).toBe(at);
  });

  test("with two entries of one name", () => {
    const path = writeArchive();
    const at = headerAt(path, "journal-19.jsonl");
    reheaded(path, at, 0, "journal-18.jsonl");
    expect(damageIn(path)).toBe(at);
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
    test(`with an entry named ${JSON.stringify(name)}`, () => {
      const path = writeArchive();
      const at = headerAt(path, "journal-19.jsonl");
      reheaded(path, at, 0, name.padEnd(100, "\u0000"));
      expect(damageIn(path)).toBe(at);
    });
  }

  for (const size of ["77777777777", "-0000000001", "-0000001000", "0000001001x", "           "]) {
    test(`with an entry of ${JSON.stringify(size)} bytes`, () => {
      const path = writeArchive();
      const at = headerAt(path, "journal-19.jsonl");
      reheaded(path, at, 124, size);
      expect(damageIn(path)).toBe(at);
    });
  }

  test("with an entry that is a link, or has a name in two parts", () => {
    for (const [field, text] of [
      [156, "2"],
      [157, "/etc/passwd"],
      [345, "history"],
    ] as const) {
      const path = writeArchive();
      const at = headerAt(path, "journal-19.jsonl");
      reheaded(path, at, field, text);
      expect([field, damageIn(path)]).toEqual([field, at]);
    }
  });
});
