// The compiled executable as a user has it: built once, started as a process, spoken to over HTTP.
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..", "..");
const BINARY = join(root, "build", "out", "berth");

let isBuilt = false;

/** Builds the binary unless it is newer than everything it is made of; looks once. */
export function buildBinary(): string {
  if (isBuilt) return BINARY;
  if (!existsSync(BINARY) || statSync(BINARY).mtimeMs <= newestSource()) compile();
  isBuilt = true;
  return BINARY;
}

function compile(): void {
  const built = Bun.spawnSync([process.execPath, join(root, "build", "compile.ts")]);
  if (built.exitCode !== 0) throw new Error(`the build failed: ${built.stderr.toString()}`);
}

function newestSource(): number {
  const sources = [join(root, "package.json"), join(root, "bun.lock")];
  for (const folder of ["src", "build"]) {
    for (const name of readdirSync(join(root, folder), { recursive: true })) {
      if (/\.(?:tsx?|css|html|svg)$/.test(String(name)))
        sources.push(join(root, folder, String(name)));
    }
  }
  return Math.max(...sources.map((path) => statSync(path).mtimeMs));
}

export interface ServerProcess {
  readonly url: string;
  readonly pid: number;
  readonly output: string;
  /** What it has said on stderr so far. */
  stderr(): string;
  /** The exit code, however it came to its end. */
  readonly exited: Promise<number>;
  signal(name: NodeJS.Signals): void;
  /** SIGKILL: what a power cut is to a process. */
  kill(): Promise<void>;
  /** SIGTERM, and the exit code it ended with. */
  stop(): Promise<number>;
}

/** Starts it and waits for `ready`; anything else is an error that shows what it said. */
export const startBinary = (...words: string[]): Promise<ServerProcess> =>
  startProgram([buildBinary(), ...words]);

/**
 * The same on a machine of the folder's own, as far as servers look for a copy of their folder:
 * copies can be served at once.
 */
export const serveAsSeparateMachine = (
  folder: string,
  ...words: string[]
): Promise<ServerProcess> =>
  startProgram([
    "env",
    `BERTH_TEST_MACHINE=${folder}`,
    buildBinary(),
    "serve",
    "--data",
    folder,
    ...words,
  ]);

/** The same for any program that says where it listens, and `ready`. */
export async function startProgram(words: readonly string[]): Promise<ServerProcess> {
  const child = Bun.spawn([...words], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    env: {},
  });
  let complaint = "";
  const complained = (async () => {
    const decoder = new TextDecoder();
    for await (const part of child.stderr) complaint += decoder.decode(part, { stream: true });
  })();
  const output = await readUntilReady(child.stdout);
  const url = /https?:\/\/[^\s,]+/.exec(output)?.[0];
  if (url === undefined) {
    child.kill("SIGKILL");
    await complained;
    throw new Error(`it did not get ready: ${output}${complaint}`);
  }
  return {
    url,
    pid: child.pid,
    output,
    stderr: () => complaint,
    // Only once all it said has been read.
    exited: Promise.all([child.exited, complained]).then(([code]) => code),
    signal: (name) => child.kill(name),
    async kill() {
      child.kill("SIGKILL");
      await child.exited;
    },
    async stop() {
      child.kill("SIGTERM");
      return child.exited;
    },
  };
}

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs one command to its end, with something on its standard input or nothing. */
export async function runBinary(words: readonly string[], input = ""): Promise<CommandResult> {
  const child = Bun.spawn([buildBinary(), ...words], {
    stdin: Buffer.from(input),
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    env: {},
  });
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ]);
  return { code, stdout, stderr };
}

async function readUntilReady(stdout: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  const reader = stdout.getReader();
  while (!/^ready$/m.test(text)) {
    const { done, value } = await reader.read();
    if (done) return "";
    text += decoder.decode(value, { stream: true });
  }
  reader.releaseLock();
  return text;
}
