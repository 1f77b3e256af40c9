// The examples for developers of applications, built as a developer does it: in an empty folder,
// with the client that the executable prints, and with the commands of the documents.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runBinary } from "../support/binary.ts";
import { codeBlocksIn, codeIn, readDocument } from "../support/documents.ts";
import { atEnd, requirePackages } from "../support/suite-harness.ts";
import { waitUntil } from "../support/wait-until.ts";
import { C_PACKAGES, findPython } from "./conformance/clients.ts";

export const LANGUAGES = ["python", "c", "javascript"] as const;
export type Language = (typeof LANGUAGES)[number];

const GUIDE = "src/http/README.md";

interface LanguageFiles {
  readonly client: string;
  /** Of the code block in the guide. */
  readonly blockLanguage: string;
  readonly extension: string;
  /** Installs what is missing; the words that start a program. */
  readonly prepare: (program: string) => readonly string[];
}

const FILES: Readonly<Record<Language, LanguageFiles>> = {
  python: {
    client: "berth.py",
    blockLanguage: "python",
    extension: "py",
    prepare: (program) => [findPython(), "-B", `${program}.py`],
  },
  c: {
    client: "berth.h",
    blockLanguage: "c",
    extension: "c",
    prepare(program) {
      requirePackages(C_PACKAGES);
      return [`./${program}`];
    },
  },
  javascript: {
    client: "berth.js",
    blockLanguage: "js",
    extension: "mjs",
    prepare(program) {
      requirePackages({ nodejs: "node" });
      return ["node", `${program}.mjs`];
    },
  },
};

export interface ExampleProgram {
  readonly folder: string;
  readonly command: readonly string[];
}

/** The short example of the guide. */
export function prepareGuideExample(language: Language): Promise<ExampleProgram> {
  const { blockLanguage, client } = FILES[language];
  const marker = language === "python" ? "import berth" : client;
  const [block, ...others] = codeBlocksIn(blockLanguage).filter(
    ({ document, text }) => document === GUIDE && text.includes(marker),
  );
  if (block === undefined || others.length > 0) {
    throw new Error(`${GUIDE} must have one example in ${language}`);
  }
  const buildCommand = codeIn(readDocument(GUIDE)).find((code) => code.startsWith("cc "));
  return prepareProgram(language, "example", () => block.text, buildCommand);
}

/** The application that `berth client LANGUAGE --example` prints. */
export async function prepareExampleApplication(language: Language): Promise<ExampleProgram> {
  const text = await printFile(language, "--example");
  const [, buildCommand] = /Build: (cc .*?) \*\//.exec(text) ?? [];
  return prepareProgram(language, "app", () => text, buildCommand);
}

async function prepareProgram(
  language: Language,
  name: string,
  readSource: () => string,
  buildCommand: string | undefined,
): Promise<ExampleProgram> {
  const { client, extension, prepare } = FILES[language];
  // Not in a tmpfs, which may forbid running programs.
  const folder = mkdtempSync(join(tmpdir(), "berth-example-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const command = prepare(name);
  writeFileSync(join(folder, client), await printFile(language));
  writeFileSync(join(folder, `${name}.${extension}`), readSource());
  // Node before 20.19 takes a file with the extension .js for a module only with this.
  if (language === "javascript") writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  if (language === "c") build(folder, buildCommand);
  return { folder, command };
}

async function printFile(language: Language, ...flags: string[]): Promise<string> {
  const { code, stdout, stderr } = await runBinary(["client", language, ...flags]);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

const WARNINGS = ["-Wall", "-Wextra", "-Werror"];

function build(folder: string, buildCommand: string | undefined): void {
  if (buildCommand === undefined) throw new Error("no document says how to build the example in C");
  const command = [...buildCommand.split(" "), ...WARNINGS];
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd: folder });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}\n${stderr.toString()}`);
}

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that was started; its input stays open until `pressEnter`. */
export class RunningExample {
  readonly #child;
  readonly #stderr: Promise<string>;
  readonly #stdoutEnded: Promise<void>;
  #stdout = "";

  constructor({ folder, command }: ExampleProgram, args: readonly string[]) {
    this.#child = Bun.spawn([...command, ...args], {
      cwd: folder,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    const child = this.#child;
    atEnd(() => child.kill("SIGKILL"));
    this.#stderr = child.stderr.text();
    this.#stdoutEnded = this.#readOutput();
  }

  async #readOutput(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const part of this.#child.stdout) {
      this.#stdout += decoder.decode(part, { stream: true });
    }
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null;
  }

  async waitForOutput(text: string): Promise<void> {
    await waitUntil(() => this.#stdout.includes(text) || !this.isRunning, `it prints ${text}`);
    if (!this.#stdout.includes(text)) throw new Error(`it ended: ${await this.#stderr}`);
  }

  async pressEnter(): Promise<void> {
    await this.#child.stdin.write("\n");
    await this.#child.stdin.flush();
  }

  async end(): Promise<Outcome> {
    const code = await this.#child.exited;
    await this.#stdoutEnded;
    return { code, stdout: this.#stdout, stderr: await this.#stderr };
  }
}

export const runExample = (program: ExampleProgram, args: readonly string[]): Promise<Outcome> =>
  new RunningExample(program, args).end();

/** The vendor's public root key of `berth demo`. */
export function readDemoRootKey(dataFolder: string): string {
  const trust = readFileSync(join(dataFolder, "demo", "vendor", "trust.jwt"), "utf8");
  const payload = Buffer.from(trust.split(".")[1] ?? "", "base64url").toString();
  return (JSON.parse(payload) as { readonly jwk: { readonly x: string } }).jwk.x;
}
