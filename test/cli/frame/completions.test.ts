import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { commands } from "../../../src/cli/command-table.ts";
import { completions, SHELLS, type Shell } from "../../../src/cli/frame/completions.ts";
import { manPage } from "../../../src/cli/frame/man-page.ts";
import { runBerth, runOrThrow } from "../../support/run-berth.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const visible = commands.filter(({ isHidden }) => isHidden !== true);
const FIRST_WORDS = [...new Set(visible.map(({ name }) => name.split(" ")[0] ?? ""))];
const flagsOf = (name: string): string[] => [
  ...(visible.find((command) => command.name === name)?.options ?? []).map(
    (option) => `--${option.name}`,
  ),
  "--help",
];

/** What each shell must offer after these words; the last word is still being typed. */
const OFFERED: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ["every command", [""], FIRST_WORDS],
  ["commands that begin with the typed text", ["serv"], ["serve", "service"]],
  ["the second word", ["admin", ""], ["token", "password", "session", "user"]],
  ["the third word", ["admin", "user", "re"], ["remove"]],
  ["flags", ["license", "request", "--"], flagsOf("license request")],
  ["flags after flags", ["slots", "--json", "--pro"], ["--product"]],
  ["flags of a command with subcommands", ["clock", "--"], flagsOf("clock")],
  ["subcommands of a command", ["clock", ""], ["accept", "repair"]],
  ["flags after a file", ["license", "add", "x.jwt", "--js"], ["--json"]],
  [
    "subcommands of the words before an unknown word",
    ["admin", "x", "user", ""],
    ["token", "password", "session", "user"],
  ],
  ["the names of the shells", ["completions", ""], ["bash", "zsh", "fish"]],
  ["nothing for a command without arguments", ["version", ""], []],
  ["nothing for a flag with a free value", ["release", "--user", ""], []],
];

/** Writes the completion script and a file to complete into a new folder. */
function writeScript(shell: Shell): { script: string; cwd: string } {
  const cwd = tempFolder();
  const script = join(cwd, "script");
  writeFileSync(script, completions(shell, commands));
  writeFileSync(join(cwd, "license.jwt"), "");
  return { script, cwd };
}

const runLines = (words: readonly string[], cwd: string): string[] => {
  const { stdout, stderr } = Bun.spawnSync([...words], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", HOME: cwd },
  });
  expect(stderr.toString()).toBe("");
  return stdout.toString().split("\n").filter(Boolean).toSorted();
};

describe.skipIf(Bun.which("bash") === null)("the bash completion", () => {
  const reply = (words: readonly string[]): string[] => {
    const { script, cwd } = writeScript("bash");
    const line = ["berth", ...words].map((word) => `'${word}'`).join(" ");
    const run = `. ${script}; COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _berth`;
    return runLines(["bash", "-c", `${run}; printf '%s\\n' "\${COMPREPLY[@]}"`], cwd);
  };

  test.each(OFFERED)("offers %s", (_what, words, offered) => {
    expect(reply(words)).toEqual(offered.toSorted());
  });

  test("offers files for a FILE argument and for --out", () => {
    expect(reply(["license", "add", "li"])).toEqual(["license.jwt"]);
    expect(reply(["license", "request", "--out", "li"])).toEqual(["license.jwt"]);
  });
});

describe.skipIf(Bun.which("fish") === null)("the fish completion", () => {
  test.each(OFFERED)("offers %s", (_what, words, offered) => {
    const { script, cwd } = writeScript("fish");
    const line = ["berth", ...words].join(" ");
    const run = `source ${script}; complete -C "${line}"`;
    const offers = runLines(["fish", "--no-config", "-c", run], cwd).map(
      (offer) => offer.split("\t")[0] ?? "",
    );
    expect(offers.filter((offer) => offer !== "-h")).toEqual(offered.toSorted());
  });
});

describe.skipIf(Bun.which("zsh") === null)("the zsh completion", () => {
  // Replaces the two functions that show completions by ones that print them.
  test.each(OFFERED)("offers %s", (_what, words, offered) => {
    const { script, cwd } = writeScript("zsh");
    const line = ["berth", ...words].map((word) => `'${word}'`).join(" ");
    const run = [
      "compdef() { : }; _files() { : }",
      `compadd() { shift; for one in "$@"; do [[ $one == "$words[CURRENT]"* ]] && print -r -- $one; done }`,
      `. ${script}; words=(${line}); CURRENT=${words.length + 1}; _berth; true`,
    ].join("; ");
    expect(runLines(["zsh", "-f", "-c", run], cwd)).toEqual(offered.toSorted());
  });
});

test.each([...SHELLS])("berth completions %s prints the completion script", async (shell) => {
  expect(await runOrThrow(["completions", shell])).toBe(completions(shell, commands));
});

test("berth completions exits with 2 for another shell and names the supported ones", async () => {
  for (const words of [["csh"], []]) {
    const { code, stderr } = await runBerth(["completions", ...words]);
    expect(code).toBe(2);
    expect(stderr).toContain("bash, zsh, fish");
  }
});

describe("the man page", () => {
  test("has a section for every command that is not hidden", async () => {
    const page = await runOrThrow(["man"]);
    for (const { name } of visible) {
      expect(page).toContain(`\n.SS berth ${name.replaceAll("-", "\\-")}`);
    }
    expect(page).not.toContain("checkpoint\n");
  });

  test("escapes roff commands in a summary", () => {
    const summary = ".so /etc/passwd - a\\b";
    const page = manPage([{ name: "x", summary, options: [], run: async () => 0 }]);
    expect(page).toContain("\n\\&.so /etc/passwd \\- a\\eb.\n");
  });

  test.skipIf(Bun.which("groff") === null)(
    "is rendered by groff without a warning, with every command and flag",
    async () => {
      const page = await runOrThrow(["man"]);
      const { stdout, stderr } = Bun.spawnSync(
        ["groff", "-man", "-Tutf8", "-ww", "-P-cbu", "-rLL=80n"],
        { stdin: Buffer.from(page) },
      );
      expect(stderr.toString()).toBe("");
      const text = stdout.toString();
      for (const { name, options } of visible) {
        expect(text).toContain(`berth ${name}`);
        for (const option of options) expect(text).toContain(`--${option.name}`);
      }
      expect(text).toContain("apiKey=…");
    },
  );

  test.skipIf(Bun.which("man") === null)("is shown by man without a warning", async () => {
    const path = join(tempFolder(), "berth.1");
    writeFileSync(path, await runOrThrow(["man"]));
    const { exitCode, stdout, stderr } = Bun.spawnSync(["man", "--warnings", "-l", path], {
      env: { PATH: process.env["PATH"] ?? "", MANPAGER: "cat", LC_ALL: "C.UTF-8", MANWIDTH: "100" },
    });
    expect([exitCode, stderr.toString()]).toEqual([0, ""]);
    expect(stdout.toString()).toContain("berth service install");
  });
});
