import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import manifest from "../package.json";
import * as exits from "../src/cli/frame/command.ts";
import { commands } from "../src/cli/command-table.ts";
import { eventTypes } from "../src/domain/event-catalogue.ts";
import { RULES_LIMITS } from "../src/rules/limits.ts";
import { parseRules } from "../src/rules/parse-rules.ts";
import { settings } from "../src/cli/serve/settings.ts";
import { FAULTS } from "../src/faults/catalog.ts";
import { routes } from "./support/routes.ts";
import { parseTermsFile } from "../src/license/terms/terms-file.ts";
import { contactFields } from "../src/http/routes/slots/slot-reply.ts";
import { Snapshot, STATE_FORMAT } from "../src/store/state/snapshot.ts";
import {
  codeBlocksIn,
  codeIn,
  documentPaths,
  readDocument,
  tableRowsBelow,
} from "./support/documents.ts";
import { repositoryRoot } from "./support/sources.ts";

const README_LINES = 200;
const README_BYTES = 12_000;
const MAX_CELL = 100;

/** A heading's anchor, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

const anchorsIn = (path: string): string[] =>
  [...readDocument(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));

/** What is wrong with the links of a document. */
function brokenLinks(path: string): string[] {
  const text = readDocument(path).replaceAll(/^ *```[\s\S]*?^ *```$/gm, "");
  const inline = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  const references = [...text.matchAll(/^\[[^\]]+\]: (\S+)$/gm)].map(([, target = ""]) => target);
  return [...inline, ...references]
    .filter((target) => !/^https?:/.test(target))
    .filter((target) => {
      const [file = "", anchor] = target.split("#");
      const linked = file === "" ? path : join(dirname(path), file);
      if (!existsSync(join(repositoryRoot, linked))) return true;
      return anchor !== undefined && !anchorsIn(linked).includes(anchor);
    });
}

const isRules = (toml: string): boolean => toml.includes("[[rule]]");

describe("every document", () => {
  test.each(documentPaths)("%s links to files and headings that exist", (path) => {
    expect(brokenLinks(path)).toEqual([]);
  });

  test.each(documentPaths.filter((path) => path !== "CHANGELOG.md"))(
    "%s names source files that exist",
    (path) => {
      const names = codeIn(readDocument(path)).flatMap(
        (code) =>
          /\b(?:src|test|build(?!\/out))\/[\w./-]+\.(?:tsx?|md|json|js|c)\b/.exec(code)?.[0] ?? [],
      );
      expect(names.filter((name) => !existsSync(join(repositoryRoot, name)))).toEqual([]);
    },
  );

  test.each(documentPaths)("%s has no table cell of more than 100 characters", (path) => {
    const cells = readDocument(path)
      .split("\n")
      .filter((line) => line.startsWith("|"))
      .flatMap((line) => line.split("|").map((cell) => cell.trim()));
    expect(cells.filter((cell) => cell.length > MAX_CELL)).toEqual([]);
  });

  test.each(documentPaths)("%s separates a person and a machine in a user name with #", (path) => {
    expect(readDocument(path).match(/\w+@ws-\d+/g)).toBeNull();
  });

  test("defines a term as every other document does", () => {
    const definitions = new Map<string, Set<string>>();
    for (const path of documentPaths) {
      const heading = /^## (?:Terms(?: used here)?|Words)$/m.exec(readDocument(path))?.[0];
      // The terms of FORMATS.md are those of a license.
      if (heading === undefined || path.endsWith("FORMATS.md")) continue;
      for (const [term = "", definition = ""] of tableRowsBelow(path, heading)) {
        definitions.set(term, (definitions.get(term) ?? new Set()).add(definition));
      }
    }
    expect(definitions.get("slot")).toBeDefined();
    expect([...definitions].filter(([, { size }]) => size > 1)).toEqual([]);
  });

  test("names scripts of package.json that exist", () => {
    const scripts = documentPaths.flatMap((path) =>
      [...readDocument(path).matchAll(/\bbun run ([a-z][\w:]*)/g)].map(([, name = ""]) => name),
    );
    expect(scripts.length).toBeGreaterThan(10);
    expect(scripts.filter((name) => !(name in manifest.scripts))).toEqual([]);
  });

  test("shows JSON that can be parsed", () => {
    const blocks = codeBlocksIn("json");
    expect(blocks.length).toBeGreaterThan(15);
    for (const { document, line, text } of blocks) {
      expect(() => JSON.parse(text), `${document}:${line}`).not.toThrow();
    }
  });

  test("shows sharing rules without errors", () => {
    const blocks = codeBlocksIn("toml").filter(({ text }) => isRules(text));
    expect(blocks.length).toBeGreaterThan(0);
    for (const { document, line, text } of blocks) {
      expect([`${document}:${line}`, parseRules(text).findings]).toEqual([
        `${document}:${line}`,
        [],
      ]);
    }
  });

  test("shows settings files whose keys are settings", () => {
    const blocks = codeBlocksIn("toml");
    expect(blocks.length).toBeGreaterThan(0);
    const known = new Set(Object.values(settings).map(({ name }) => name.replaceAll("-", "_")));
    for (const { document, line, text } of blocks.filter(({ text: block }) => !isRules(block))) {
      const keys = Object.keys(Bun.TOML.parse(text));
      expect([`${document}:${line}`, keys.filter((key) => !known.has(key))]).toEqual([
        `${document}:${line}`,
        [],
      ]);
    }
  });
});

/** The berth commands that a reader would paste, with the place where each stands. */
const commandLines = codeBlocksIn("sh").flatMap(({ document, line, text }) =>
  text
    .replaceAll("\\\n", " ")
    .split(/\n|&&|\||;/)
    .map((part) => part.trim().replace(/^sudo (?:-u \S+ )?/, ""))
    .flatMap((part) => /^(?:\S*\/)?berth (.*?)(?:\s# .*)?$/.exec(part)?.[1] ?? [])
    .map((words) => [`${document}:${line}`, words] as const),
);

describe("a command line in a document", () => {
  test.each(commandLines)("%s: berth %s", (_place, line) => {
    if (line.startsWith("help")) return;
    const [command] = commands
      .filter(({ name }) => `${line} `.startsWith(`${name} `))
      .toSorted((a, b) => b.name.length - a.name.length);
    expect(command?.name).toBeString();
    const flags = [...line.matchAll(/ --([\w-]+)/g)].map(([, flag = ""]) => flag);
    const known = command?.options.map(({ name }) => name) ?? [];
    expect(flags.filter((flag) => !known.includes(flag))).toEqual([]);
  });

  test("is found in the documents for operators, developers and vendors", () => {
    for (const path of ["README.md", "src/cli/README.md", "src/desk/README.md"]) {
      const count = commandLines.filter(([place]) => place.startsWith(`${path}:`)).length;
      expect([path, count > 3]).toEqual([path, true]);
    }
  });
});

describe("README.md", () => {
  test("has at most 200 lines and 12 kB", () => {
    const text = readDocument("README.md");
    expect(text.split("\n").length).toBeLessThanOrEqual(README_LINES);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(README_BYTES);
  });

  test("lists seven operations with routes that the server has", () => {
    const calls = tableRowsBelow("README.md", "## The seven operations").map(([, call = ""]) =>
      codeIn(call)[0]?.split(" "),
    );
    expect(calls).toHaveLength(7);
    for (const [method = "", path = ""] of calls.map((call) => call ?? [])) {
      expect([path, routes.get(path)]).toEqual([
        path,
        expect.objectContaining({ [method]: expect.any(String) }),
      ]);
    }
  });
});

describe("SECURITY.md", () => {
  test("names every refusal with a status of 5xx", () => {
    const codes = Object.entries(FAULTS).flatMap(([code, { status }]) =>
      status < 500 ? [] : code,
    );
    const text = readDocument("SECURITY.md");
    expect(codes.filter((code) => !text.includes(`\`${code}\``))).toEqual([]);
  });

  test("states the largest body of a request with sharing rules", () => {
    expect<number>(RULES_LIMITS.bytes).toBe(1024 * 1024);
    expect(readDocument("SECURITY.md")).toContain("sharing rules 1 MiB");
  });
});

describe("src/README.md", () => {
  const LAYERS = [
    "domain/model",
    "domain",
    "operations",
    "http/routes",
    "cli/commands",
    "web",
  ] as const;
  const folders = new Set(
    [...new Bun.Glob("src/*/**/*").scanSync(repositoryRoot)].map((path) =>
      relative("src", dirname(path)),
    ),
  );
  const families = tableRowsBelow("src/README.md", "### Families");

  test.each(families)("says which layers have a folder for the family %s", (name, ...cells) => {
    const family = codeIn(name).join();
    expect(cells.slice(0, LAYERS.length)).toEqual(
      LAYERS.map((layer) => (folders.has(`${layer}/${family}`) ? "x" : "")),
    );
  });

  test("lists every folder of src, as a folder of a layer, a family or another folder", () => {
    const foldersBelow = (heading: string): string[] =>
      tableRowsBelow("src/README.md", heading).flatMap(([name = ""]) => codeIn(name));
    const ofFamilies = foldersBelow("### Families").flatMap((family) =>
      LAYERS.map((layer) => `${layer}/${family}`).filter((path) => folders.has(path)),
    );
    const listed = [
      ...ofFamilies,
      ...foldersBelow("### Other folders"),
      ...foldersBelow("## Folders"),
      "http/routes",
    ];
    expect(listed.toSorted()).toEqual([...folders].toSorted());
  });
});

describe("src/http/README.md", () => {
  test("describes every error code with its status, and no other", () => {
    const listed = tableRowsBelow("src/http/README.md", "### Error codes").flatMap(
      ([codes = "", status = ""]) => codeIn(codes).map((code) => `${code} ${status}`),
    );
    const served = Object.entries(FAULTS).map(([code, { status }]) => `${code} ${status}`);
    expect(listed.toSorted()).toEqual(served.toSorted());
  });

  test("lists every field with which a caller describes itself, with its limit", () => {
    const listed = tableRowsBelow("src/http/README.md", "### Fields and limits").flatMap(
      ([names = "", limit = ""]) => codeIn(names).map((name) => `${name} ${limit}`),
    );
    const limits = Object.entries(contactFields).map(
      ([name, { bytes }]) => `${name} ${String(bytes)} bytes`,
    );
    expect(listed).toEqual(expect.arrayContaining(limits));
  });

  test("lists every route of the administration API, and no other", () => {
    const rows = tableRowsBelow("src/http/README.md", "## Administration API");
    const listed = rows.map(([route = ""]) =>
      `${codeIn(route)[0]}`.replace(" ", " /api/admin/v1/"),
    );
    const served = [...routes].flatMap(([path, planes]) =>
      path.startsWith("/api/admin/v1/")
        ? Object.keys(planes).map((method) => `${method} ${path}`)
        : [],
    );
    expect(listed.toSorted()).toEqual(served.toSorted());
  });

  test("generates clients with the versions that bun run test:clients uses", () => {
    const text = readDocument("src/http/README.md");
    const pinned = (file: string, version: RegExp): string =>
      version.exec(readFileSync(join(import.meta.dir, "clients", file), "utf8"))?.[1] ??
      `none in ${file}`;
    const python = pinned("python/requirements.txt", /^openapi-python-client==(.+)$/m);
    const types = pinned("typescript/package.json", /"openapi-typescript": "(.+)"/);
    const compiler = pinned("typescript/package.json", /"typescript": "(.+)"/);
    const go = pinned("go.suite.ts", /"(github\.com\/oapi-codegen\/.+)"/);
    expect(text).toContain(`pip install openapi-python-client==${python}\n`);
    expect(text).toContain(`npx -y -p openapi-typescript@${types} -p typescript@${compiler} `);
    expect(text).toContain(`go run ${go} `);
  });
});

describe("src/cli/README.md", () => {
  test("lists every setting, and no other", () => {
    const rows = tableRowsBelow("src/cli/README.md", "## Settings");
    const listed = rows.flatMap(([names = ""]) => codeIn(names));
    const known = Object.values(settings).map(({ name }) => name.replaceAll("-", "_"));
    expect(listed.toSorted()).toEqual(known.toSorted());
  });

  test("lists every command but those of the desk, and no other", () => {
    const rows = tableRowsBelow("src/cli/README.md", "## Commands");
    const listed = rows.flatMap(([cell = ""]) => {
      const [first = "", ...others] = codeIn(cell).map((name) => name.replace(/^berth /, ""));
      const family = first.split(" ").slice(0, -1).join(" ");
      const isCommand = (name: string): boolean => commands.some((one) => one.name === name);
      return [first, ...others.map((name) => (isCommand(name) ? name : `${family} ${name}`))];
    });
    const shown = commands.filter(
      ({ isHidden, name }) => isHidden !== true && !name.startsWith("vendor"),
    );
    expect(listed.filter((name) => name !== "vendor …").toSorted()).toEqual(
      shown.map(({ name }) => name).toSorted(),
    );
  });

  test("lists every exit code, and no other", () => {
    const rows = tableRowsBelow("src/cli/README.md", "## Exit codes");
    const listed = rows.map(([code = ""]) => code).filter((code) => /^\d+$/.test(code));
    const codes = Object.entries(exits).filter(([name]) => name.startsWith("EXIT_"));
    expect(listed.toSorted()).toEqual(codes.map(([, code]) => String(code)).toSorted());
  });

  test("explains error codes that exist", () => {
    const rows = tableRowsBelow("src/cli/README.md", "## Troubleshooting by error code");
    const codes = rows.flatMap(([cell = ""]) => codeIn(cell));
    expect(codes.length).toBeGreaterThan(10);
    expect(codes.filter((code) => !(code in FAULTS))).toEqual([]);
  });
});

describe("src/desk/README.md", () => {
  test("shows a file of terms that the desk accepts", () => {
    const files = codeBlocksIn("json").filter(
      ({ document, text }) => document === "src/desk/README.md" && text.includes('"slots"'),
    );
    expect(files.map(({ text }) => parseTermsFile(JSON.parse(text)))).toEqual(
      files.map(() => expect.objectContaining({ ok: true })),
    );
    expect(files.length).toBeGreaterThan(0);
  });
});

describe("src/license/FORMATS.md", () => {
  test.each(["Events", "Effects of events"])(
    "lists every event that can be in the journal, and no other, under %s",
    (heading) => {
      const rows = tableRowsBelow("src/license/FORMATS.md", `### ${heading}`);
      const names = rows.flatMap(([type = ""]) => codeIn(type));
      // The names of members, which other tables have, begin with a small letter.
      const listed = names.filter((name) => /^[A-Z]/.test(name));
      expect(listed.toSorted()).toEqual([...eventTypes].toSorted());
    },
  );

  test("lists every member of state.json, and no other", () => {
    const rows = tableRowsBelow("src/license/FORMATS.md", "### state.json");
    // A second table has the order of some of the lists.
    const listed = new Set(rows.flatMap(([member = ""]) => codeIn(member)));
    expect([...listed].toSorted()).toEqual(Object.keys(Snapshot.properties).toSorted());
  });

  test("describes the formats from the current one down to the oldest that can be read", () => {
    const rows = tableRowsBelow("src/license/FORMATS.md", "### Format numbers");
    const numbers = rows.flatMap(([format = ""]) => (/^\d+$/.test(format) ? [Number(format)] : []));
    expect(numbers).toEqual(
      Array.from({ length: STATE_FORMAT - 5 }, (_, index) => STATE_FORMAT - index),
    );
  });
});

describe("test/README.md", () => {
  test("names every fault suite", () => {
    const folder = join(import.meta.dir, "faults");
    const suites = readdirSync(folder).filter((name) =>
      ["suite.ts", `${name}.suite.ts`].some((file) => existsSync(join(folder, name, file))),
    );
    const text = readDocument("test/README.md");
    expect(suites.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });
});

describe("CHANGELOG.md", () => {
  test("begins with the version of package.json after what is unreleased, and dates every version", () => {
    const versions = [...readDocument("CHANGELOG.md").matchAll(/^## (.*)$/gm)].map(
      ([, heading = ""]) => heading,
    );
    const released = versions.slice(versions[0] === "Unreleased" ? 1 : 0);
    expect(released[0]).toStartWith(`${manifest.version} (`);
    for (const version of released) expect(version).toMatch(/^\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)$/);
  });

  test("says each change in one line", () => {
    const lines = readDocument("CHANGELOG.md").split("\n## ").slice(1).join("\n").split("\n");
    expect(lines.filter((line) => line.length > 110 || line.startsWith("  "))).toEqual([]);
  });
});
