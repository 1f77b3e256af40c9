// Texts that are made to be read slowly. The limit leaves much room: what is read too slowly takes
// many times as long.
import { describe, expect, test } from "bun:test";
import { parseRules } from "../../src/rules/parse-rules.ts";
import { measureProcessorTime } from "../support/processor-time.ts";

const MAX_MILLISECONDS = 3_000;

const NAMES = Array.from({ length: 1_000 }, (_, index) => `group-${index}`);
const QUOTED = NAMES.map((name) => `"${name}"`).join(",");
const GROUPS = `[groups]\n${NAMES.map((name) => `${name} = { users = ["u"] }\n`).join("")}`;

test("50,000 names of unknown groups are not compared with 1,000 known groups each", () => {
  const unknown = Array.from({ length: 50_000 }, (_, index) => `"g-${index}"`).join(",");
  const text = `${GROUPS}[[rule]]\nproduct = "CAD"\ndeny = [${unknown}]\n`;
  expect(
    measureProcessorTime(() => expect(parseRules(text).findings).toHaveLength(201)),
  ).toBeLessThan(MAX_MILLISECONDS);
});

test("9,900 rules for one product with 1,000 groups are merged at once", () => {
  const lists = ["deny", "allow_only"].map((key) => `${key} = [${QUOTED}]`).join("\n");
  const limits = NAMES.map((name) => `${name} = 2`).join(",");
  const first = `[[rule]]\nproduct = "CAD"\n${lists}\nlimit = { groups = { ${limits} } }\n`;
  const others = '[[rule]]\nproduct = "CAD"\ndeny = ["group-1"]\n'.repeat(9_900);
  const text = `${GROUPS}${first}${others}`;
  expect(
    measureProcessorTime(() => expect(parseRules(text).rules?.pools).toHaveLength(1)),
  ).toBeLessThan(MAX_MILLISECONDS);
});

test("an unknown key of 1 MiB, a deep list and many empty tables are read without delay", () => {
  const texts = [
    `"${"k".repeat(1_000_000)}" = 1\n`,
    `a = ${"[".repeat(200_000)}${"]".repeat(200_000)}\n`,
    `a = ${"{a = ".repeat(50_000)}1${"}".repeat(50_000)}\n`,
    Array.from({ length: 20_000 }, (_, index) => `[k${index}]\n`).join(""),
    `${"a.".repeat(100_000)}a = 1\n`,
  ];
  for (const text of texts) {
    expect(measureProcessorTime(() => expect(parseRules(text).rules).toBeNull())).toBeLessThan(
      MAX_MILLISECONDS,
    );
  }
});

describe("lists and tables that are nested too deep", () => {
  const DEEP = `${"[".repeat(14_000)}${"]".repeat(14_000)}`;
  const findingsOf = (text: string): string[] =>
    parseRules(text).findings.map(({ line, message }) => `${line}: ${message}`);

  test.each([
    ["lists", `a = ${DEEP}`, 2],
    ["inline tables", `a = ${"{a = ".repeat(14_000)}1${"}".repeat(14_000)}`, 2],
    ["lists on many lines", `a = ${"[\n".repeat(14_000)}${"]".repeat(14_000)}`, 34],
  ])("are an error with a line: %s", (_name, text, line) => {
    expect(findingsOf(`# rules\n${text}\n`)).toEqual([
      `${line}: lists and tables are nested too deep`,
    ]);
  });

  // Valid TOML: if one of them were read wrongly, the lists after it would look like a text.
  test.each([
    ["a quote in a comment", '# "\na = '],
    ["an escaped quote", 'a = ["\\"", '],
    ["an escaped backslash", 'a = ["\\\\", '],
    ["a backslash in a literal", "a = ['\\', "],
    ["an empty string", 'a = ["", '],
    ["a comment sign in a string", 'a = ["#", '],
    ["a long string", 'a = ["""x\n"y" ""z""", '],
    ["a long string that ends with a quote", 'a = ["""x"""", '],
    ["a long string that ends with two quotes", 'a = ["""x""""", '],
    ["an empty long string", 'a = ["""""", '],
    ["a long literal that ends with a quote", "a = ['''x'''', "],
  ])("are found after %s", (_name, begin) => {
    const close = begin.includes("[") ? "]" : "";
    const line = begin.split("\n").length;
    expect(findingsOf(`${begin}${DEEP}${close}\n`)).toEqual([
      `${line}: lists and tables are nested too deep`,
    ]);
    expect(findingsOf(`${begin}1${close}\n`)).toEqual([expect.stringContaining('unknown key "a"')]);
  });

  test("are not found where brackets are text or a comment", () => {
    const brackets = "[{".repeat(100);
    const text = `# ${brackets}\na = "${brackets}"\nb = '${brackets}'\nc = """\n${brackets}"""\n`;
    expect(findingsOf(text).map((finding) => finding.slice(0, 14))).toEqual([
      "2: unknown key",
      "3: unknown key",
      "4: unknown key",
    ]);
  });
});
