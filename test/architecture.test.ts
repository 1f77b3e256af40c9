import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const root = join(import.meta.dir, "..");

/** A folder may import itself and the folders named here. Nothing else, types included. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  license: ["domain"],
  platform: ["domain"],
  store: ["domain", "platform"],
  operations: ["domain", "license", "store", "platform"],
  http: ["domain", "operations", "platform"],
  // Of what the server answers, the types; of codes and events, the very rules.
  web: ["domain", "license", "http"],
  desk: ["domain", "license", "platform"],
  cli: ["domain", "license", "store", "operations", "http", "desk", "platform"],
  "main.ts": ["cli"],
};

/** Packages, by the only folders that may know them. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  elysia: ["http"],
  "@elysiajs/eden": ["web"],
  jose: ["license"],
  lowdb: ["store"],
  preact: ["web"],
  "@preact/signals": ["web"],
  qr: ["license"],
  uplot: ["web"],
  "@sinclair/typebox": ["http", "store", "license"],
};

/** What a rule must not know: it is a function of state, command and instant. */
const IMPURE =
  /\b(?:Date|Math\.random|process|crypto|Bun|performance|setTimeout|setInterval|fetch|async|await)\b|Temporal\.Now/;

const LONGEST_FILE = 300;
const LONGEST_LINE = 100;

const files = [...new Bun.Glob("src/**/*.{ts,tsx}").scanSync(root)].toSorted();
const sources = files.map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

/** Comments may name what code may not. */
const codeOf = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");

const IMPORT =
  /^(?:import|export)\b[^;"'=]*?\bfrom\s*["']([^"']+)["']|^import\s*["']([^"']+)["']|\bimport\(["']([^"']+)["']\)/gm;

const importsOf = (text: string): string[] =>
  [...codeOf(text).matchAll(IMPORT)].map(
    ([, named, bare, dynamic]) => named ?? bare ?? dynamic ?? "",
  );

const folderOf = (path: string): string => relative("src", path).split("/")[0] ?? "";

describe("the direction of imports", () => {
  test("there are sources to judge", () => {
    expect(files.length).toBeGreaterThan(50);
    expect(files.flatMap((path) => (folderOf(path) in MAY_IMPORT ? [] : [path]))).toEqual([]);
  });

  test("a folder imports only from where it may", () => {
    const wrong = sources.flatMap(({ path, text }) =>
      importsOf(text)
        .filter((name) => name.startsWith("."))
        .map((name) => folderOf(join(dirname(path), name)))
        .filter(
          (to) => to !== folderOf(path) && to !== ".." && !MAY_IMPORT[folderOf(path)]?.includes(to),
        )
        .map((to) => `${path} imports ${to}`),
    );
    expect(wrong).toEqual([]);
  });

  test("a package is known only where it belongs", () => {
    const wrong = sources.flatMap(({ path, text }) =>
      importsOf(text)
        .filter((name) => !/^(?:\.|node:|bun:)/.test(name))
        .filter((name) => {
          const known = Object.keys(PACKAGES).find(
            (one) => name === one || name.startsWith(`${one}/`),
          );
          return known === undefined || !PACKAGES[known]?.includes(folderOf(path));
        })
        .map((name) => `${path} imports ${name}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe("the rules are pure", () => {
  test.each(sources.filter(({ path }) => folderOf(path) === "domain"))("$path", ({ text }) => {
    expect(codeOf(text).match(IMPURE)?.[0] ?? null).toBeNull();
    expect(importsOf(text).filter((name) => !name.startsWith("./"))).toEqual([]);
  });
});

describe("the house is tidy", () => {
  test("no file is longer than a reader can hold", () => {
    const long = sources.filter(({ text }) => text.split("\n").length > LONGEST_FILE);
    expect(long.map(({ path }) => path)).toEqual([]);
  });

  test("no line of code is wider than the page", () => {
    const wide = sources.flatMap(({ path, text }) =>
      text
        .split("\n")
        .flatMap((line, index) =>
          line.length > LONGEST_LINE && !/["`]/.test(line) ? [`${path}:${index + 1}`] : [],
        ),
    );
    expect(wide).toEqual([]);
  });

  test("nothing is left for later, exported by default or typed away", () => {
    const banned =
      /\b(?:TODO|FIXME|XXX)\b|\bexport default\b|\bas any\b|@ts-|as unknown as|console\./;
    const found = sources.filter(({ text }) => banned.test(text));
    expect(found.map(({ path }) => path)).toEqual([]);
  });

  test("only the terminal and the log write to the process's streams", () => {
    const streams = /process\.std(?:out|err)|\bSTDOUT\b/;
    const writers = sources.filter(({ text }) => streams.test(codeOf(text)));
    expect(writers.map(({ path }) => path)).toEqual(["src/cli/terminal.ts", "src/platform/log.ts"]);
  });
});
