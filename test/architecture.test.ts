import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { findBannedWords } from "./support/banned-words.ts";

const root = join(import.meta.dir, "..");

/**
 * A folder may import from itself and from the folders listed here, and no others; types count too.
 */
const ALLOWED_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  license: ["domain"],
  platform: ["domain"],
  // Usage statistics are computed from events; they are no part of the rules.
  usage: ["domain"],
  // The language of the sharing rules: texts to rules and findings.
  rules: ["domain"],
  store: ["domain", "platform"],
  // The texts of all faults, for http, cli and web.
  faults: ["domain", "license", "store", "platform"],
  operations: ["domain", "license", "usage", "rules", "store", "platform", "faults"],
  http: ["domain", "usage", "rules", "operations", "platform", "faults"],
  // It shares the answer types of http, and the code for events, codes, documents and imports.
  web: ["domain", "license", "rules", "faults", "http"],
  desk: ["domain", "license", "platform"],
  // The client files that vendors ship, as texts.
  clients: [],
  cli: [
    "domain",
    "license",
    "usage",
    "rules",
    "operations",
    "http",
    "desk",
    "platform",
    "faults",
    "clients",
  ],
  "main.ts": ["cli"],
};

/** Every package that may be imported, with the folders that may import it. */
const ALLOWED_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  elysia: ["http"],
  "@elysiajs/eden": ["web", "cli"],
  jose: ["license"],
  lowdb: ["store"],
  postgres: ["store"],
  preact: ["web"],
  "@preact/signals": ["web"],
  qr: ["license"],
  "toml-eslint-parser": ["rules"],
  uplot: ["web"],
  "@sinclair/typebox": ["http", "operations", "store", "license"],
};

/**
 * The folders of src/domain, and the files beside them, lowest first: each may import only itself
 * and those before it. What a topic is (`model`) is below what is done with it.
 */
const DOMAIN_ORDER = [
  "result.ts",
  "time.ts",
  "text",
  "index",
  "backups",
  "model",
  "access",
  "settings",
  "audit",
  "trust",
  "appliance",
  "idempotency",
  "demand",
  "pair",
  "licenses",
  "clock",
  "rules",
  "queue",
  "features",
  "consumption",
  "slots",
  "queue/dispatch",
  "requests",
  "statements",
  "views",
  "invariants.ts",
  "event-catalogue.ts",
  "evolve",
  "decide.ts",
  "transact.ts",
];

/** Not allowed in src/domain: a rule is a pure function of state, command and instant. */
const IMPURE =
  /\b(?:Date|Math\.random|process|crypto|Bun|performance|setTimeout|setInterval|fetch|async|await)\b|Temporal\.Now/;

/** It has a random key, which changes no result, so that nobody can choose equal hashes. */
const MAY_USE_CRYPTO = "src/domain/index/string-hash.ts";

/** It embeds berth.d.ts as a text, and the compiler refuses every import of such a file. */
const MAY_IMPORT_DECLARATIONS = "src/clients/client-files.ts";

const MAX_FILE_LINES = 500;
const MAX_LINE_COLUMNS = 100;

const files = [...new Bun.Glob("src/**/*.{ts,tsx}").scanSync(root)]
  .filter((path) => !path.endsWith(".d.ts"))
  .toSorted();
const sources = files.map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

/** Removes comments: a comment may name what the code must not use. */
const stripComments = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");

const IMPORT =
  /^(?:import|export)\b[^;"'=]*?\bfrom\s*["']([^"']+)["']|^import\s*["']([^"']+)["']|\bimport\(["']([^"']+)["']\)/gm;

const listImports = (text: string): string[] =>
  [...stripComments(text).matchAll(IMPORT)].map(
    ([, named, bare, dynamic]) => named ?? bare ?? dynamic ?? "",
  );

/** Imports that exist only for the compiler. */
const TYPE_IMPORT =
  /^(?:import|export)\s+(?:type\b[^;"'=]*?|\{\s*(?:type\s+[\w$]+(?:\s+as\s+[\w$]+)?\s*,?\s*)+\})\s*from\s*["'][^"']+["'];?/gm;

const listValueImports = (text: string): string[] =>
  listImports(stripComments(text).replaceAll(TYPE_IMPORT, ""));

const topFolderOf = (path: string): string => relative("src", path).split("/")[0] ?? "";

describe("imports of the source files", () => {
  test("every file belongs to a folder that has an import rule", () => {
    expect(files.length).toBeGreaterThan(50);
    expect(files.flatMap((path) => (topFolderOf(path) in ALLOWED_IMPORTS ? [] : [path]))).toEqual(
      [],
    );
  });

  test("a folder imports only from the folders its rule allows", () => {
    const violations = sources.flatMap(({ path, text }) =>
      listImports(text)
        .filter((name) => name.startsWith("."))
        .map((name) => topFolderOf(join(dirname(path), name)))
        .filter(
          (target) =>
            target !== topFolderOf(path) &&
            target !== ".." &&
            !ALLOWED_IMPORTS[topFolderOf(path)]?.includes(target),
        )
        .map((target) => `${path} imports ${target}`),
    );
    expect(violations).toEqual([]);
  });

  test("a package is imported only by the folders that may use it", () => {
    const violations = sources.flatMap(({ path, text }) =>
      listImports(text)
        .filter((name) => !/^(?:\.|node:|bun:)/.test(name))
        .filter((name) => {
          const allowedName = Object.keys(ALLOWED_PACKAGES).find(
            (allowed) => name === allowed || name.startsWith(`${allowed}/`),
          );
          return (
            allowedName === undefined || !ALLOWED_PACKAGES[allowedName]?.includes(topFolderOf(path))
          );
        })
        .map((name) => `${path} imports ${name}`),
    );
    expect(violations).toEqual([]);
  });
});

/**
 * Groups of files that import each other, directly or through others, types included: the strongly
 * connected components of the imports (Tarjan's algorithm) that have more than one file.
 */
function findImportCycles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  const visit = (path: string): number => {
    let low = order.size;
    order.set(path, low);
    stack.push(path);
    for (const target of imports.get(path) ?? []) {
      if (!order.has(target)) low = Math.min(low, visit(target));
      else if (stack.includes(target)) low = Math.min(low, order.get(target) ?? low);
    }
    if (low === order.get(path)) {
      const component = stack.splice(stack.indexOf(path));
      if (component.length > 1) cycles.push(component.toSorted());
    }
    return low;
  };
  for (const path of imports.keys()) if (!order.has(path)) visit(path);
  return cycles;
}

describe("the page", () => {
  /** Every file and package that the page gets by value, through any number of files. */
  function collectPageImports(): { paths: Set<string>; packages: Set<string> } {
    const [paths, packages] = [new Set<string>(), new Set<string>()];
    const textOf = new Map(sources.map(({ path, text }) => [path, text]));
    const visit = (path: string): void => {
      if (paths.has(path)) return;
      paths.add(path);
      for (const name of listValueImports(textOf.get(path) ?? "")) {
        if (name.startsWith(".")) visit(join(dirname(path), name));
        else packages.add(name);
      }
    };
    for (const { path } of sources) if (topFolderOf(path) === "web") visit(path);
    return { paths, packages };
  }

  test("contains no code of the server: it takes only types from there", () => {
    const { paths, packages } = collectPageImports();
    const serverFiles = [...paths].filter(
      (path) => !["web", "domain", "license", "rules", "faults"].includes(topFolderOf(path)),
    );
    expect([...paths].filter((path) => topFolderOf(path) === "faults")).not.toEqual([]);
    expect(serverFiles).toEqual([]);
    expect([...packages].filter((name) => /^(?:node|bun):/.test(name))).toEqual([]);
  });

  test.each([
    ['import type { A } from "./a.ts";', []],
    ['import { type A, type B as C } from "./a.ts";', []],
    ['import {\n  type A,\n  type B,\n} from "./a.ts";', []],
    ['export type { A } from "./a.ts";', []],
    ['import { type A, b } from "./a.ts";', ["./a.ts"]],
    ['import { typeOf } from "./a.ts";', ["./a.ts"]],
    ['import type { A } from "./a.ts";\nimport { b } from "./b.ts";', ["./b.ts"]],
  ])("the imports by value are found in %j", (source, names) => {
    expect(listValueImports(source)).toEqual(names);
  });
});

/** What each file of src imports of src, by values or by types. */
const importedFiles: ReadonlyMap<string, readonly string[]> = new Map(
  sources.map(({ path, text }) => [
    path,
    listImports(text)
      .filter((name) => name.startsWith("."))
      .map((name) => join(dirname(path), name)),
  ]),
);

describe("the files that src/README.md lists for one request", () => {
  const heading = "## One request, from the socket to the disk";
  const section = readFileSync(join(root, "src/README.md"), "utf8").split(`${heading}\n`)[1] ?? "";
  const way = [...section.matchAll(/^\d+\. \[`([^`]+)`\]\(\1\): /gm)].map(([, name = ""]) =>
    join("src", name),
  );

  test("are ten, and the first one listens", () => {
    expect(way).toHaveLength(10);
    expect(sources.find(({ path }) => path === way[0])?.text).toContain("Bun.serve(");
  });

  /** What the files import, directly or through at most two others. */
  function collectNearImports(paths: readonly string[]): Set<string> {
    let found = new Set(paths);
    for (let step = 0; step < 3; step += 1)
      found = new Set([...found].flatMap((path) => [path, ...(importedFiles.get(path) ?? [])]));
    return found;
  }

  test("are each imported by one of those before, with at most two files between them", () => {
    const [, ...others] = way;
    const isImported = (path: string, index: number): boolean =>
      collectNearImports(way.slice(0, index + 1)).has(path);
    expect(others.filter((path, index) => !isImported(path, index))).toEqual([]);
  });
});

describe("import cycles", () => {
  test("no file of src imports itself through others, by values or by types", () => {
    expect([...importedFiles.values()].flat().length).toBeGreaterThan(1_000);
    expect(findImportCycles(importedFiles)).toEqual([]);
  });

  test("of two, three and separate files are found, and a shared file is none", () => {
    const imports = { a: ["b"], b: ["c", "e"], c: ["a"], d: ["e", "f"], e: [], f: ["d"], g: ["d"] };
    expect(findImportCycles(new Map(Object.entries(imports)))).toEqual([
      ["a", "b", "c"],
      ["d", "f"],
    ]);
  });
});

describe("the state", () => {
  const importersOf = (isTarget: (path: string) => boolean): string[] =>
    sources.flatMap(({ path, text }) =>
      !path.startsWith("src/domain/evolve/") &&
      listImports(text).some((name) => isTarget(join(dirname(path), name)))
        ? [path]
        : [],
    );

  test("is seen as changeable only by src/domain/evolve and the decoder of state.json", () => {
    const isMutable = (path: string): boolean =>
      path.startsWith("src/domain/evolve/") && path !== "src/domain/evolve/evolve.ts";
    expect(importersOf(isMutable)).toEqual(["src/store/state/state-rows.ts"]);
  });

  test("is changed only by transact and by a replay of the journal", () => {
    expect(importersOf((path) => path === "src/domain/evolve/evolve.ts")).toEqual([
      "src/domain/transact.ts",
      // For a new folder, which has no event yet.
      "src/store/folder/folder.ts",
      "src/store/journal/replay.ts",
      // Lines that the other host of a pair wrote.
      "src/store/live-state.ts",
      // A state in memory only, in which recorded demand is decided again.
      "src/usage/what-if/replayed-site.ts",
    ]);
  });
});

describe("folders of src/domain", () => {
  const folderOf = (path: string): string => {
    const inDomain = relative("src/domain", path);
    if (inDomain.startsWith("model/")) return "model";
    return inDomain.includes("/") ? dirname(inDomain) : inDomain;
  };
  const domainSources = sources.filter(({ path }) => topFolderOf(path) === "domain");

  test("have their places in one order, each once", () => {
    const folders = new Set(domainSources.map(({ path }) => folderOf(path)));
    expect(DOMAIN_ORDER.toSorted()).toEqual([...folders].toSorted());
  });

  test("import only folders that are lower in this order", () => {
    const rankOf = (path: string): number => DOMAIN_ORDER.indexOf(folderOf(path));
    const upward = domainSources.flatMap(({ path, text }) =>
      listImports(text)
        .map((name) => join(dirname(path), name))
        .filter((target) => rankOf(target) > rankOf(path))
        .map((target) => `${path} imports ${target}`),
    );
    expect(upward).toEqual([]);
  });
});

describe("files of src/domain are pure", () => {
  test.each(sources.filter(({ path }) => topFolderOf(path) === "domain"))(
    "$path uses no clock, no randomness, no I/O and no import from outside",
    ({ path, text }) => {
      const isInDomain = (target: string): boolean => target.startsWith("src/domain/");
      const impure = new Set(stripComments(text).match(new RegExp(IMPURE, "g")));
      expect([...impure]).toEqual(path === MAY_USE_CRYPTO ? ["crypto"] : []);
      const outside = listImports(text).filter((name) => !isInDomain(join(dirname(path), name)));
      expect(outside).toEqual([]);
    },
  );
});

describe("source files", () => {
  test(`have at most ${MAX_FILE_LINES} lines`, () => {
    const longFiles = sources.filter(({ text }) => text.split("\n").length > MAX_FILE_LINES);
    expect(longFiles.map(({ path }) => path)).toEqual([]);
  });

  test(`have lines of at most ${MAX_LINE_COLUMNS} columns, unless a line contains a string`, () => {
    const wideLines = sources.flatMap(({ path, text }) =>
      text
        .split("\n")
        .flatMap((line, index) =>
          line.length > MAX_LINE_COLUMNS && !/["`]/.test(line) ? [`${path}:${index + 1}`] : [],
        ),
    );
    expect(wideLines).toEqual([]);
  });

  test("contain no TODO, default export, cast through any or unknown, or console call", () => {
    const banned =
      /\b(?:TODO|FIXME|XXX)\b|\bexport default\b|\bas any\b|@ts-|as unknown as|console\./;
    const offenders = sources.filter(({ path, text }) =>
      banned.test(path === MAY_IMPORT_DECLARATIONS ? text.replace("@ts-expect-error", "") : text),
    );
    expect(offenders.map(({ path }) => path)).toEqual([]);
  });

  test("name no file of the build, which imports the sources and not the reverse", () => {
    const buildPath = /["'`/]build\/|\b(?:join|resolve)\([^)]*["'`]build["'`]/;
    const offenders = sources.filter(({ text }) => buildPath.test(stripComments(text)));
    expect(offenders.map(({ path }) => path)).toEqual([]);
  });

  test("use the standard streams only in the terminal and the log", () => {
    const streams = /process\.std(?:in|out|err)|\bwriteSync\((?:0|1|2|NUMBERS)\b/;
    const writers = sources.filter(({ text }) => streams.test(stripComments(text)));
    expect(writers.map(({ path }) => path)).toEqual([
      "src/cli/frame/process-terminal.ts",
      "src/platform/log.ts",
    ]);
  });
});

describe("words in the source files", () => {
  test("no name and no text uses a word that has a plain replacement", () => {
    expect(sources.flatMap(({ path, text }) => findBannedWords(path, text))).toEqual([]);
  });

  test.each([
    ["a name", "export const asked = 1;", 'name "asked": use request, query or input'],
    ["a part of a name", "class OpenDoors {}", 'name "OpenDoors": use exposures, or listeners'],
    ["a private name", "class A { #errands = 1; }", 'name "errands": use maintenance jobs'],
    ["a text", 'throw new Error("one word too many");', "use unexpected argument"],
    ["a part of a template", "print(`${slot} is given back`);", "use release a slot"],
    ["a text of the page", "const a = <p>Nobody is here</p>;", "use the user"],
  ])("%s in banned words is found, with its replacement", (_kind, source, message) => {
    expect(findBannedWords("sample.tsx", source)).toEqual([expect.stringContaining(message)]);
  });

  test("plain words, names of modules and comments are not reported", () => {
    const source = 'import a from "./door.ts"; // nobody\nconst borrowedUntil = "2026";';
    expect(findBannedWords("sample.ts", source)).toEqual([]);
  });
});
