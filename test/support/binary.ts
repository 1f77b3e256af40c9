// The compiled executable as a user has it: built once, started as a process, spoken to over HTTP.
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..", "..");
const BINARY = join(root, "build", "out", "berth");

/** Builds the binary unless it is newer than everything it is made of. */
export function buildBinary(): string {
  if (existsSync(BINARY) && statSync(BINARY).mtimeMs > newestSource()) return BINARY;
  const built = Bun.spawnSync([process.execPath, join(root, "build", "compile.ts")]);
  if (built.exitCode !== 0) throw new Error(`the build failed: ${built.stderr.toString()}`);
  return BINARY;
}

function newestSource(): number {
  const sources = [join(root, "package.json"), join(root, "bun.lock")];
  for (const folder of ["src", "build"]) {
    for (const name of readdirSync(join(root, folder), { recursive: true })) {
      if (String(name).endsWith(".ts")) sources.push(join(root, folder, String(name)));
    }
  }
  return Math.max(...sources.map((path) => statSync(path).mtimeMs));
}

export interface Running {
  readonly url: string;
  readonly pid: number;
  readonly output: string;
  /** SIGKILL: what a power cut is to a process. */
  kill(): Promise<void>;
  /** SIGTERM, and the exit code it ended with. */
  stop(): Promise<number>;
}

/** Starts it and waits for `ready`; anything else is an error that shows what it said. */
export async function startBinary(...words: string[]): Promise<Running> {
  const child = Bun.spawn([buildBinary(), ...words], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    env: {},
  });
  const complaint = new Response(child.stderr).text();
  const output = await untilReady(child.stdout);
  const url = /https?:\/\/[^\s,]+/.exec(output)?.[0];
  if (url === undefined) {
    child.kill("SIGKILL");
    throw new Error(`it did not get ready: ${output}${await complaint}`);
  }
  return {
    url,
    pid: child.pid,
    output,
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

async function untilReady(stdout: ReadableStream<Uint8Array>): Promise<string> {
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
