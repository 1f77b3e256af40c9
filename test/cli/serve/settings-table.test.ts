// The table of settings in the operating guide, compared with the settings themselves.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defaultOf, settingsKey, type Option } from "../../../src/cli/frame/options.ts";
import { settings } from "../../../src/cli/serve/settings.ts";

const GUIDE = join(import.meta.dir, "..", "..", "..", "src", "cli", "README.md");

interface Row {
  readonly name: string;
  readonly defaultText: string;
  readonly isEditable: boolean;
}

/** The rows of the table below "| setting | default | page | meaning |". */
function readRows(): Row[] {
  const lines = readFileSync(GUIDE, "utf8").split("\n");
  const first = lines.findIndex((line) => /^\| setting +\| default +\| page +\|/.test(line)) + 2;
  const rows = lines.slice(first, lines.indexOf("", first));
  return rows.flatMap((row) => {
    const [, names = "", defaultText = "", page = ""] = row.split("|").map((cell) => cell.trim());
    return names.split(", ").map((name) => ({
      name: name.replaceAll("`", ""),
      defaultText,
      isEditable: page === "yes",
    }));
  });
}

const options: readonly Option[] = Object.values(settings);

test("the guide has one row for each setting, and says which the page can change", () => {
  const documented = readRows().map(({ name, isEditable }) => ({ name, isEditable }));
  const existing = options.map((option) => ({
    name: settingsKey(option),
    isEditable: option.isEditable === true,
  }));
  const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);
  expect(documented.toSorted(byName)).toEqual(existing.toSorted(byName));
});

/** Their defaults depend on the machine. */
const FROM_MACHINE = new Set(["data", "site_name", "pair_host"]);

test("the guide has the default of each setting", () => {
  for (const option of options.filter((candidate) => !FROM_MACHINE.has(settingsKey(candidate)))) {
    const name = settingsKey(option);
    const text = readRows().find((row) => row.name === name)?.defaultText ?? "";
    const value = defaultOf(option, {});
    if (value === undefined) expect([name, /\d/.test(text)]).toEqual([name, false]);
    else expect([name, text.replaceAll("`", "").split(": ")[0]]).toEqual([name, value]);
  }
});
