import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../../../package.json";
import { buildBinary } from "../../../support/binary.ts";
import { runBerth, runJsonOrThrow, runOnTerminal, runOrThrow } from "../../../support/run-berth.ts";
import { repositoryRoot } from "../../../support/sources.ts";

/** The files of each language in src/clients: the client, and the example application. */
const FILES = [
  ["python", "berth.py", "examples/app.py"],
  ["c", "berth.h", "examples/app.c"],
  ["javascript", "berth.js", "examples/app.mjs"],
  ["typescript", "berth.d.ts", "examples/app.mjs"],
] as const;

const readClientFile = (path: string): Buffer =>
  readFileSync(join(repositoryRoot, "src", "clients", path));

/** The bytes that the executable prints, without a conversion to text. */
async function printBytes(...words: string[]): Promise<Buffer> {
  const child = Bun.spawn([buildBinary(), ...words], { cwd: "/", env: {}, stdin: "ignore" });
  return Buffer.from(await new Response(child.stdout).arrayBuffer());
}

describe("berth client", () => {
  test.each(FILES)("prints the client for %s byte for byte", async (language, file) => {
    expect((await printBytes("client", language)).equals(readClientFile(file))).toBe(true);
  });

  test.each(FILES)(
    "prints the example for %s byte for byte with --example",
    async (language, _file, example) => {
      const printed = await printBytes("client", language, "--example");
      expect(printed.equals(readClientFile(example))).toBe(true);
    },
  );

  test.each(FILES)("describes the client for %s with --json", async (language, file) => {
    const bytes = readClientFile(file);
    expect(await runJsonOrThrow<object>(["client", language])).toEqual({
      language,
      file,
      version: manifest.version,
      sha256: createHash("sha256").update(bytes).digest("hex"),
      text: bytes.toString(),
    });
  });

  test("prints the whole client on a terminal too", async () => {
    const { code, text } = await runOnTerminal(["client", "python"]);
    expect(code).toBe(0);
    expect(text.replaceAll("\r\n", "\n")).toBe(readClientFile("berth.py").toString());
  });

  test("lists the command for each language if none is given", async () => {
    const text = await runOrThrow(["client"]);
    for (const [language, file] of FILES) {
      expect(text).toContain(`  berth client ${language} > ${file} `);
    }
    expect(text).toContain("  berth client typescript --example > app.mjs");
    const { clients } = await runJsonOrThrow<{ readonly clients: readonly object[] }>(["client"]);
    expect(clients[0]).toEqual({
      language: "python",
      command: "berth client python > berth.py",
      example_command: "berth client python --example > app.py",
    });
    expect(clients).toHaveLength(FILES.length);
  });

  test.each(["fortran", "Python", "constructor", "__proto__"])(
    "refuses %s, for which there is no client, and lists the languages",
    async (language) => {
      const { code, stdout, stderr } = await runBerth(["client", language]);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toBe(
        `berth: error: there is no client for ${language}\n` +
          "berth: hint: the languages are python, c, javascript, typescript\n",
      );
    },
  );
});

describe("the client files", () => {
  const paths = [...new Set(FILES.flatMap(([, file, example]) => [file, example]))];

  test.each(paths)("%s has lines of at most 100 columns without white space at the end", (path) => {
    const lines = readClientFile(path).toString().split("\n");
    expect(lines.filter((line) => line.length > 100 || /\s$/.test(line))).toEqual([]);
  });

  test.each(paths)("%s ends with one line break", (path) => {
    expect(readClientFile(path).toString()).toMatch(/[^\n]\n$/);
  });
});
