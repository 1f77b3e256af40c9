// Options files that are made to be converted slowly. The limit leaves much room: what is converted
// too slowly takes many times as long.
import { describe, expect, test } from "bun:test";
import { importOptions, type OptionsImport } from "../../../src/rules/flexnet/import-options.ts";
import { measureProcessorTime } from "../../support/processor-time.ts";

const LINES = 10_000;
const MAX_MILLISECONDS = 3_000;

const repeat = (line: (index: number) => string): string =>
  Array.from({ length: LINES }, (_, index) => `${line(index)}\n`).join("");

const importQuickly = (text: string): OptionsImport => {
  const results: OptionsImport[] = [];
  const elapsed = measureProcessorTime(() => results.push(importOptions(text, new Map())));
  expect(elapsed).toBeLessThan(MAX_MILLISECONDS);
  const [result] = results;
  if (result === undefined) throw new Error("nothing was converted");
  return result;
};

/** Different names, of which no character can be in the name of a group. */
const unwritable = (index: number): string =>
  String.fromCodePoint(0x4e00 + (index % 200), 0x4e00 + Math.floor(index / 200));

describe(`${LINES} lines of an options file are converted without delay`, () => {
  test.each([
    ["reservations of single users", (index: number) => `RESERVE 1 f USER user${index}`],
    ["limits of single users", (index: number) => `MAX ${index ? 2 : 1} f USER user${index}`],
    [
      "users whose groups get the same name",
      (index: number) => `INCLUDE f USER ${unwritable(index)}`,
    ],
    ["groups of the same name", (index: number) => `GROUP ${unwritable(index)} ada`],
    ["features", (index: number) => `INCLUDE f${index} USER ada`],
    ["unknown options", (index: number) => `NONSENSE ${index}`],
  ])("%s", (_name, line) => {
    const { converted, unconverted } = importQuickly(repeat(line));
    expect(converted + unconverted.length).toBe(LINES);
  });

  test("one line that goes on in all others", () => {
    const { converted, unconverted } = importQuickly(
      `GROUP g \\\n${repeat((index) => `u${index} \\`)}`,
    );
    expect([converted, unconverted.length]).toEqual([1, 0]);
  });

  test("limits of all groups, which are more than rules can have", () => {
    const { converted, unconverted } = importQuickly(
      repeat((index) =>
        index % 2 === 0 ? `GROUP g${index} ada` : `MAX ${index} f GROUP ALL_GROUPS`,
      ),
    );
    expect([converted, unconverted.length]).toEqual([LINES / 2, LINES / 2]);
    expect(unconverted[0]?.reason).toContain("it stands for 5000 groups");
  });

  test("options for all features, which are more than rules can have", () => {
    const { converted, unconverted, notes } = importQuickly(
      repeat((index) =>
        index % 2 === 0 ? `EXCLUDE f${index} USER bob` : `INCLUDEALL USER u${index}`,
      ),
    );
    expect([converted, unconverted.length]).toEqual([LINES / 2, LINES / 2]);
    expect(unconverted[0]?.reason).toContain("5000 features");
    expect(notes.some(({ text }) => text.includes("open to everyone"))).toBe(true);
  });
});
