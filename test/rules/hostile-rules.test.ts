// Texts that are made to be read slowly. The limit leaves much room: what is read too slowly takes
// many times as long.
import { expect, test } from "bun:test";
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
