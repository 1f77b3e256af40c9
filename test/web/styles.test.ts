import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

const web = join(import.meta.dir, "..", "..", "src", "web");
const sheets = [...new Bun.Glob("styles/*.css").scanSync(web)].map((path) => ({
  name: basename(path),
  text: readFileSync(join(web, path), "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, ""),
}));
/** The kinds of events and of layouts of the slots are class names, too. */
const OTHER_CLASSES = ["../domain/model/event-row.ts", "slots/column-layout.ts"];
const markup = [...new Bun.Glob("**/*.{tsx,html}").scanSync(web), ...OTHER_CLASSES]
  .map((path) => readFileSync(join(web, path), "utf8"))
  .join("\n");

/** The selectors of all rules, without the arguments of `:not()` and similar. */
const selectorsOf = (text: string): string[] =>
  [...text.matchAll(/([^{}]+)\{/g)]
    .flatMap(([, list = ""]) => list.replaceAll(/\([^)]*\)/g, "").split(","))
    .map((selector) => selector.trim())
    .filter((selector) => !selector.startsWith("@"));

test("style sheets: each class is defined in one sheet only", () => {
  const owners = new Map<string, Set<string>>();
  for (const { name, text } of sheets) {
    // What is different on paper stands in one place, for all classes.
    if (name === "print.css") continue;
    for (const selector of selectorsOf(text)) {
      const [, firstClass] = /^\.([\w-]+)/.exec(selector) ?? [];
      if (firstClass === undefined) continue;
      owners.set(firstClass, (owners.get(firstClass) ?? new Set()).add(name));
    }
  }
  const shared = [...owners].filter(([, names]) => names.size > 1);
  expect(owners.size).toBeGreaterThan(50);
  expect(shared.map(([name, names]) => [name, ...names])).toEqual([]);
});

test("style sheets: every styled class is used in the markup", () => {
  const styled = new Set(
    sheets.flatMap(({ text }) =>
      selectorsOf(text).flatMap((selector) =>
        [...selector.matchAll(/\.([a-z][\w-]*)/g)].map(([, name]) => name ?? ""),
      ),
    ),
  );
  const unused = [...styled].filter(
    (name) => !name.startsWith("u-") && !new RegExp(`\\b${name}\\b`).test(markup),
  );
  expect(unused).toEqual([]);
});

test("style sheets: type and spacing come from the scale", () => {
  const others = sheets.flatMap(({ name, text }) =>
    [...text.matchAll(/\b((?:padding|margin|gap|font-size|row-gap|column-gap)[\w-]*): ([^;]+);/g)]
      .filter(([, , value = ""]) => name !== "scale.css" && /\d(?:rem|px)\b/.test(value))
      // Single pixels separate the parts of one drawing.
      .filter(([, , value = ""]) => !/^(?:-?[0-4]px ?)+$/.test(value))
      .map(([, property, value]) => `${name}: ${property}: ${value}`),
  );
  expect(others).toEqual([]);
});
