import { expect, onTestFinished, spyOn, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { realDisk, type Disk } from "../../../src/platform/files/disk.ts";
import { readLinesBackward, readLinesForward } from "../../../src/store/journal/line-reader.ts";
import { tempFolder } from "../../support/temp-folder.ts";

/** Lines shorter and longer than the parts in which a file is read, some of them empty. */
const lineTexts = fc.array(
  fc
    .constantFrom(0, 1, 100, 4_095, 4_096, 20_000, 70_000, 300_000)
    .chain((length) => fc.constantFrom("a", "b").map((letter) => letter.repeat(length))),
  { maxLength: 8 },
);

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

test("line reader returns lines of any length unchanged, forward with offsets and backward", () => {
  const path = join(tempFolder(), "lines");
  fc.assert(
    fc.property(lineTexts, fc.constantFrom("", "torn"), (lines, tornTail) => {
      const completeText = lines.map((line) => `${line}\n`).join("");
      writeFileSync(path, completeText + tornTail);
      const linesRead = [...readLinesForward(realDisk, path, 0, Infinity)];
      expect(linesRead.map(({ bytes }) => textOf(bytes))).toEqual(
        tornTail === "" ? lines : [...lines, tornTail],
      );
      let offset = 0;
      for (const line of linesRead) {
        expect(line.offset).toBe(offset);
        expect(line.isComplete).toBe(tornTail === "" || line !== linesRead.at(-1));
        offset += line.bytes.length + 1;
      }
      const reversed = [...readLinesBackward(realDisk, path, completeText.length)].map(textOf);
      expect(reversed).toEqual(lines.toReversed());
    }),
    { numRuns: 60 },
  );
});

test("line reader copies a file without a line feed once, not once for each part", () => {
  const LENGTH = 32 * 1024 * 1024;
  const zeros = new Uint8Array(1024 * 1024);
  const disk: Pick<Disk, "readPart"> = {
    readPart: (_path, offset, length) => zeros.subarray(0, Math.min(length, LENGTH - offset)),
  };
  const concatSpy = spyOn(Buffer, "concat");
  onTestFinished(() => concatSpy.mockRestore());
  const linesRead = [...readLinesForward(disk, "zeros", 0, Infinity)];
  expect(linesRead.map(({ bytes, isComplete }) => [bytes.length, isComplete])).toEqual([
    [LENGTH, false],
  ]);
  const copied = concatSpy.mock.results.map(({ value }) => (value as Buffer).length);
  expect(copied).toEqual([LENGTH]);
});
