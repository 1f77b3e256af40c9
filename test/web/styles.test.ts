import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

const web = join(import.meta.dir, "..", "..", "src", "web");
const sheets = [...new Bun.Glob("styles/*.css").scanSync(web)].map((path) => ({
  name: basename(path),
  text: readFileSync(join(web, path), "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, ""),
}));
const markup = [...new Bun.Glob("**/*.{tsx,html}").scanSync(web)]
  .map((path) => readFileSync(join(web, path), "utf8"))
  .join("\n");

/** What each rule is about, without what is inside `:not()` and its like. */
const selectorsOf = (text: string): string[] =>
  [...text.matchAll(/([^{}]+)\{/g)]
    .flatMap(([, list = ""]) => list.replaceAll(/\([^)]*\)/g, "").split(","))
    .map((selector) => selector.trim())
    .filter((selector) => !selector.startsWith("@"));

test("a class belongs to one sheet: two views never mean two things by one word", () => {
  const owners = new Map<string, Set<string>>();
  for (const { name, text } of sheets) {
    for (const selector of selectorsOf(text)) {
      const [, begins] = /^\.([\w-]+)/.exec(selector) ?? [];
      if (begins === undefined) continue;
      owners.set(begins, (owners.get(begins) ?? new Set()).add(name));
    }
  }
  const shared = [...owners].filter(([, names]) => names.size > 1);
  expect(owners.size).toBeGreaterThan(50);
  expect(shared.map(([name, names]) => [name, ...names])).toEqual([]);
});

test("no class is styled that nothing wears", () => {
  const styled = new Set(
    sheets.flatMap(({ text }) =>
      selectorsOf(text).flatMap((selector) =>
        [...selector.matchAll(/\.([a-z][\w-]*)/g)].map(([, name]) => name ?? ""),
      ),
    ),
  );
  const unworn = [...styled].filter(
    (name) => !name.startsWith("u-") && !new RegExp(`\\b${name}\\b`).test(markup),
  );
  expect(unworn).toEqual([]);
});
