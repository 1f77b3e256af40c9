import { expect, onTestFinished, spyOn, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { realDisk, type Disk } from "../../src/platform/disk.ts";
import { readLinesBackward, readLinesForward } from "../../src/store/line-reader.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** Shorter and longer than the parts a file is read in, some of them empty. */
const texts = fc.array(
  fc
    .constantFrom(0, 1, 100, 4_095, 4_096, 20_000, 70_000, 300_000)
    .chain((length) => fc.constantFrom("a", "b").map((letter) => letter.repeat(length))),
  { maxLength: 8 },
);

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

test("lines of any length come as they stand, forwards with their places and backwards", () => {
  const path = join(tempFolder(), "lines");
  fc.assert(
    fc.property(texts, fc.constantFrom("", "torn"), (lines, torn) => {
      const whole = lines.map((line) => `${line}\n`).join("");
      writeFileSync(path, whole + torn);
      const found = [...readLinesForward(realDisk, path, 0, Infinity)];
      expect(found.map(({ bytes }) => textOf(bytes))).toEqual(
        torn === "" ? lines : [...lines, torn],
      );
      let offset = 0;
      for (const line of found) {
        expect(line.offset).toBe(offset);
        expect(line.whole).toBe(torn === "" || line !== found.at(-1));
        offset += line.bytes.length + 1;
      }
      const back = [...readLinesBackward(realDisk, path, whole.length)].map(textOf);
      expect(back).toEqual(lines.toReversed());
    }),
    { numRuns: 60 },
  );
});

test("a file without any line costs its length once, not again for each part of it", () => {
  const LENGTH = 128 * 1024 * 1024;
  const zeros = new Uint8Array(1024 * 1024);
  const disk: Pick<Disk, "readPart"> = {
    readPart: (_path, offset, length) => zeros.subarray(0, Math.min(length, LENGTH - offset)),
  };
  const joins = spyOn(Buffer, "concat");
  onTestFinished(() => joins.mockRestore());
  const found = [...readLinesForward(disk, "zeros", 0, Infinity)];
  expect(found.map(({ bytes, whole }) => [bytes.length, whole])).toEqual([[LENGTH, false]]);
  const copied = joins.mock.results.map(({ value }) => (value as Buffer).length);
  expect(copied).toEqual([LENGTH]);
});
