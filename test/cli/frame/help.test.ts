import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import manifest from "../../../package.json";
import { commands } from "../../../src/cli/command-table.ts";
import type { Option } from "../../../src/cli/frame/options.ts";
import { settings } from "../../../src/cli/serve/settings.ts";
import { runBerth, runOrThrow, runJsonOrThrow } from "../../support/run-berth.ts";
import { PATIENCE } from "../../support/patience.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const words = (text: string): string[] => text.split(" ");
const SETTINGS = new Set(Object.values<Option>(settings).map(({ name }) => name));
const VISIBLE = commands.filter(({ isHidden }) => isHidden !== true);
const COMMANDS = VISIBLE.map(({ name }) => name);
const GROUPS = words("server licenses users maintenance pair access vendor tools");

/** The names of the commands in a printed list. */
const listedCommands = (text: string): string[] =>
  [...text.matchAll(/^ {2}(\S+(?: \S+){0,2}) {2,}\S/gm)].map(([, name = ""]) => name);

describe("berth help", () => {
  test("is one screen with examples, printed with exit code 0 when berth has no arguments", async () => {
    const { code, stdout, stderr } = await runBerth([]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("usage: berth COMMAND");
    expect(stdout).toContain("examples:");
    const lines = stdout.trimEnd().split("\n");
    expect(lines.length).toBeLessThan(25);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    // Every group, with commands that all exist.
    const rows = [...stdout.matchAll(/^ {2}(\w+) {2,}(\S.*)$/gm)].slice(0, 8);
    expect(rows.map(([, group]) => group)).toEqual(GROUPS);
    const named = rows.flatMap(([, , names = ""]) => names.split(", "));
    expect(named.filter((name) => !COMMANDS.includes(name))).toEqual([]);
    // What a developer of an application needs.
    expect(named).toContain("client");
  });

  test("lists every command exactly once with --all", async () => {
    const text = await runOrThrow(["help", "--all"]);
    expect(listedCommands(text).toSorted()).toEqual(COMMANDS.toSorted());
  });

  test("lists the commands of one GROUP, and all groups together list every command", async () => {
    const all = await Promise.all(
      GROUPS.map(async (group) => listedCommands(await runOrThrow(["help", group]))),
    );
    expect(all.flat().toSorted()).toEqual(COMMANDS.toSorted());
    expect(all[GROUPS.indexOf("users")]).toEqual([
      "slots",
      "queue",
      "queue front",
      "queue drop",
      "run",
      "usage",
      "usage rebuild",
      "usage statement",
      "usage statements",
      "usage acknowledge",
      "report",
      "report what-if",
      "release",
      "rules check",
      "rules apply",
      "rules show",
      "rules explain",
      "rules clear",
      "rules import",
    ]);
  });

  test("lists the commands that begin with a WORD", async () => {
    const names = ["request", "requests", "cancel", "add", "list", "remove"].map(
      (name) => `license ${name}`,
    );
    expect(listedCommands(await runOrThrow(["help", "license"]))).toEqual(names);
    const { code, stderr } = await runBerth(["license"]);
    expect(code).toBe(2);
    expect(stderr).toContain("needs a subcommand: request, requests, cancel, add, list, remove");
    expect(stderr).toContain("berth: hint: berth help license describes them\n");
  });

  test.each(["license", "vendor", "vendor product"])(
    "is the same list as that of berth %s --help",
    async (family) => {
      const help = await runOrThrow(["help", ...words(family)]);
      expect(listedCommands(help).every((name) => name.startsWith(`${family} `))).toBe(true);
      for (const flag of ["--help", "-h"]) {
        expect(await runOrThrow([...words(family), flag])).toBe(help);
      }
    },
  );

  test("is the same for berth, berth help, berth --help and berth -h", async () => {
    const [plain, ...others] = await Promise.all(
      [[], ["help"], ["--help"], ["-h"]].map((words) => runOrThrow(words)),
    );
    for (const text of others) expect(text).toBe(plain ?? "");
  });
});

/** These accept every setting of the server, and refer to it. */
const SETTINGS_ELSEWHERE = new Set(["config", "doctor", "support-bundle"]);

test.each(VISIBLE.map((command) => [command.name, command] as const))(
  "berth %s --help lists every flag with its environment variable",
  async (name, { options }) => {
    const text = await runOrThrow([...name.split(" "), "--help"]);
    expect(text).toContain(`usage: berth ${name}`);
    expect(
      text.split("\n").filter((line) => line.length > 80 && !/^(berth|  berth)/.test(line)),
    ).toEqual([]);
    const oneLineEach = text.replaceAll(/\n {27}/g, " ");
    const flags = [...oneLineEach.matchAll(/^ {2}(?:-\w, )?--(\S+)( .*)$/gm)];
    const hasSettings = SETTINGS_ELSEWHERE.has(name);
    const listed = options
      .map((option) => option.name)
      .filter((flag) => !hasSettings || flag === "data" || !SETTINGS.has(flag));
    expect(flags.map(([, flag = ""]) => flag)).toEqual(listed);
    expect(text.includes("berth help serve lists them")).toBe(hasSettings);
    for (const [, flag = "", about = ""] of flags) {
      expect(about).toContain(`(BERTH_${flag.replaceAll("-", "_").toUpperCase()}`);
    }
  },
);

test("berth serve --help, berth help serve and berth serve -h print the same", async () => {
  const commands = [
    ["serve", "--help"],
    ["help", "serve"],
    ["serve", "--data", "x", "-h"],
  ];
  const [text = "", ...others] = await Promise.all(commands.map((words) => runOrThrow(words)));
  for (const other of others) expect(other).toBe(text);
});

describe("berth version", () => {
  test("prints the version, the runtime and the target", async () => {
    const outputs = await Promise.all(
      ["version", "--version", "-v"].map((word) => runOrThrow([word])),
    );
    for (const text of outputs) {
      expect(text).toBe(
        `berth ${manifest.version} (from source, bun ${Bun.version}, ${process.platform}-${process.arch})\n`,
      );
    }
  });

  test("prints the same facts as JSON", async () => {
    const facts = {
      version: manifest.version,
      commit: null,
      runtime: `bun ${Bun.version}`,
      target: `${process.platform}-${process.arch}`,
    };
    expect(await runJsonOrThrow<object>(["version"])).toEqual(facts);
    const environment = { env: { BERTH_JSON: "true" } } as const;
    expect(JSON.parse(await runOrThrow(["version"], environment)) as object).toEqual(facts);
  });
});

describe("misuse", () => {
  const MISUSES: readonly [string, readonly string[], string, string][] = [
    ["an unknown command", ["fly"], "unknown command: fly", "hint: berth help --all"],
    ["a misspelt command", ["sevre"], "unknown command: sevre", "did you mean berth serve?"],
    ["a misspelt group", ["licence", "list"], "licence", "did you mean berth license list?"],
    [
      "a misspelt second word",
      ["license", "lst"],
      "needs a subcommand",
      "mean berth license list?",
    ],
    [
      "a command without its third word",
      ["admin", "session"],
      "berth admin session needs a subcommand: list, revoke",
      "berth help admin session describes them",
    ],
    ["help on a misspelt command", ["help", "stauts"], "stauts", "did you mean berth status?"],
    [
      "a flag before the command",
      ["--data", "x", "serve"],
      "unknown command: --data",
      "comes before",
    ],
    ["an unknown flag", ["serve", "--color"], "has no flag --color", "hint: berth serve --help"],
    ["a misspelt flag", ["serve", "--lisen", "x"], "no flag --lisen", "did you mean --listen?"],
    ["a flag of another command", ["status", "--listen", "x:1"], "--listen", "berth status --help"],
    ["a flag without its value", ["serve", "--data"], "--data requires", "berth serve --help"],
    ["a value for a flag that takes none", ["version", "--json=x"], "takes no", "version --help"],
    ["an unexpected argument", ["status", "x"], "unexpected argument: x", "berth status --help"],
    [
      "an address without a port",
      ["serve", "--data", "d", "--listen", "8080"],
      "HOST:PORT",
      "0.0.0.0:8080",
    ],
    ["an empty address", ["serve", "--data", "d", "--listen", ""], "HOST:PORT", "0.0.0.0:8080"],
    ["a large port", ["demo", "--listen", "127.0.0.1:65536"], "HOST:PORT", "0.0.0.0:8080"],
    ["a bare IPv6", ["demo", "--listen", "::1:8080"], "HOST:PORT", "[::]:8080"],
    [
      "a value that is not a network",
      ["serve", "--data", "d", "--client-networks", "10.0.0.0/8,ten"],
      "ten is not a network",
      "10.1.0.0/16",
    ],
    [
      "a budget that is not a number",
      ["serve", "--data", "d", "--audit-budget", "64MB"],
      "--audit-budget must be a number of MiB",
      "for example 64, or 0 for no limit",
    ],
    ["a product with a space", ["demo", "--product", "A B"], "--product", "--product CAD"],
    ["a release without a user", ["release", "--data", "d"], "--user is required", "berth slots"],
    [
      "a release of all slots without a product",
      ["release", "--data", "d", "--all", "--yes"],
      "--all requires --product",
      "berth slots",
    ],
    [
      "a release of all slots and of a user",
      ["release", "--data", "d", "--all", "--user", "ada", "--yes"],
      "--all and --user exclude each other",
      "berth slots",
    ],
    [
      "a release of all slots without a terminal",
      ["release", "--data", "d", "--all", "--product", "CAD"],
      "confirmation is required and there is no terminal",
      "--yes",
    ],
    ["a missing settings file", ["config", "--config", "nowhere"], "nowhere", "--config"],
    ["an empty --data", ["serve", "--data", "", "--listen", "127.0.0.1:0"], "--data", "--data"],
  ];

  test.each(MISUSES)(
    "exits with 2, one error and one hint, and writes no file: %s",
    async (_what, words, error, hint) => {
      const cwd = tempFolder();
      const { code, stdout, stderr } = await Promise.race([
        runBerth(words, { cwd }),
        Bun.sleep(PATIENCE).then(() => ({ code: -1, stdout: "", stderr: "berth still runs" })),
      ]);
      expect([code, stdout]).toEqual([2, ""]);
      const [errorLine = "", hintLine = "", ...rest] = stderr.split("\n");
      expect(errorLine).toMatch(/^berth: error: [^A-Z]/);
      expect(errorLine).toContain(error);
      expect(hintLine).toStartWith("berth: hint: ");
      expect(hintLine).toContain(hint);
      expect(rest).toEqual([""]);
      expect(readdirSync(cwd)).toEqual([]);
    },
  );

  test("escapes control characters in the error message", async () => {
    const { code, stderr } = await runBerth(["\u001b[31mred\u202e"]);
    expect(code).toBe(2);
    expect(stderr).not.toContain("\u001b");
    expect(stderr).not.toContain("\u202e");
  });
});

test.each([
  ["license request", ["--product", "CAD", "--product=CAE"], "--product"],
  [
    "serve",
    ["--data", "/dev/null/x", "--listen", "127.0.0.1:0", "--listen", "[::1]:0"],
    "--listen",
  ],
  ["license list", ["--data", "/nowhere/a", "--data", "/nowhere/b"], "--data"],
])("berth %s refuses a single-value flag that is given twice", async (name, flags, flag) => {
  const { code, stdout, stderr } = await runBerth([...name.split(" "), ...flags]);
  expect([code, stdout, stderr]).toEqual([
    2,
    "",
    `berth: error: ${flag} is given twice but takes one value\nberth: hint: berth ${name} --help shows its arguments and flags\n`,
  ]);
});

test("a list flag and a boolean flag may be repeated", async () => {
  const flags = ["--names", "a.lan", "--names", "b.lan", "--json", "--json"];
  const { names } = JSON.parse(await runOrThrow(["config", ...flags])) as {
    readonly names: { readonly value: readonly string[] };
  };
  expect(names.value).toEqual(["a.lan", "b.lan"]);
});
