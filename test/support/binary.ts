// The compiled executable: built once, started as a process, called over HTTP.
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { flock } from "../../src/platform/files/flock.ts";

const root = join(import.meta.dir, "..", "..");
const OUT = join(root, "build", "out");

/** The executable that is tested, the one that users get. */
export const buildBinary = (): string => build(RELEASE);

/**
 * The same, except that it takes the machine that it is on from an environment variable: for tests
 * that serve copies of one data folder at the same time, which a server otherwise refuses.
 */
export const buildMultiMachineBinary = (): string => build(FOR_TESTS);

interface Build {
  readonly path: string;
  readonly flags: readonly string[];
  isDone: boolean;
}

const RELEASE: Build = { path: join(OUT, "berth"), flags: [], isDone: false };
const FOR_TESTS: Build = {
  path: join(OUT, "for-tests", "berth"),
  flags: ["--for-tests"],
  isDone: false,
};

/** Builds the binary unless it is newer than all its sources; checks only once. */
function build(wanted: Build): string {
  if (!wanted.isDone && isOutdated(wanted)) compileOnce(wanted);
  wanted.isDone = true;
  return wanted.path;
}

const isOutdated = ({ path }: Build): boolean =>
  !existsSync(path) || statSync(path).mtimeMs <= newestSource();

/** Test files run in several processes; the first one builds, and the others wait for it. */
function compileOnce(wanted: Build): void {
  mkdirSync(OUT, { recursive: true });
  const fd = openSync(join(OUT, "build.lock"), "w");
  try {
    while (!flock(fd)) Bun.sleepSync(100);
    if (isOutdated(wanted)) compile(wanted);
  } finally {
    closeSync(fd);
  }
}

function compile({ flags }: Build): void {
  const script = join(root, "build", "compile.ts");
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, script, ...flags]);
  if (exitCode !== 0) throw new Error(`the build failed: ${stderr.toString()}`);
}

function newestSource(): number {
  const sources = [join(root, "package.json"), join(root, "bun.lock")];
  for (const folder of ["src", "build"]) {
    for (const name of readdirSync(join(root, folder), { recursive: true })) {
      if (/\.(?:tsx?|m?js|py|[ch]|css|html|md|svg)$/.test(String(name)))
        sources.push(join(root, folder, String(name)));
    }
  }
  return Math.max(...sources.map((path) => statSync(path).mtimeMs));
}

/** From now on, sources in this test process start checkpoints and other children with the executable. */
export function startChildrenWithExecutable(): void {
  Object.defineProperty(globalThis, "BERTH_PROGRAM", { get: buildBinary, configurable: true });
}

export interface ServerProcess {
  readonly url: string;
  readonly pid: number;
  readonly output: string;
  /** Its standard error so far. */
  stderr(): string;
  /** The exit code, however the process ended. */
  readonly exited: Promise<number>;
  signal(name: NodeJS.Signals): void;
  /** SIGKILL, which for a process is like a power failure. */
  kill(): Promise<void>;
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number>;
}

/** Starts the binary and waits for `ready`; otherwise throws an error with its output. */
export const startBinary = (...args: string[]): Promise<ServerProcess> =>
  startProgram([buildBinary(), ...args]);

/** Names the machine of a process of `buildMultiMachineBinary`. */
export const MACHINE_VARIABLE = "BERTH_TEST_MACHINE";

/**
 * Starts a server as if the folder were on its own machine: servers look for a running copy of
 * their appliance on the same machine, and this allows copies to run at the same time.
 */
export const serveAsSeparateMachine = (
  folder: string,
  ...flags: string[]
): Promise<ServerProcess> =>
  startProgram([
    "env",
    `${MACHINE_VARIABLE}=${folder}`,
    buildMultiMachineBinary(),
    "serve",
    "--data",
    folder,
    ...flags,
  ]);

/** Starts any program that prints its URL and `ready`. */
export async function startProgram(command: readonly string[]): Promise<ServerProcess> {
  const child = Bun.spawn([...command], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    env: {},
  });
  let stderr = "";
  const stderrRead = (async () => {
    const decoder = new TextDecoder();
    for await (const part of child.stderr) stderr += decoder.decode(part, { stream: true });
  })();
  const output = await readUntilReady(child.stdout);
  const url = /https?:\/\/[^\s,]+/.exec(output)?.[0];
  if (url === undefined) {
    child.kill("SIGKILL");
    await stderrRead;
    throw new Error(`the program did not start: ${output}${stderr}`);
  }
  return {
    url,
    pid: child.pid,
    output,
    stderr: () => stderr,
    // Only after its standard error was read completely.
    exited: Promise.all([child.exited, stderrRead]).then(([code]) => code),
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

/** Runs one command to its end, with `input` as its standard input. */
export async function runBinary(args: readonly string[], input = ""): Promise<CommandResult> {
  const child = Bun.spawn([buildBinary(), ...args], {
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
