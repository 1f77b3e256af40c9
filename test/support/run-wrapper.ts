// Starts `berth run` of the executable, and collects what it and its command print.
import { onTestFinished } from "bun:test";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { buildBinary } from "./binary.ts";
import { ScriptedServer, type ScriptedReply } from "./scripted-server.ts";
import { waitUntil } from "./wait-until.ts";

export interface WrapperOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Words before the executable, such as `nohup`. */
  readonly prefix?: readonly string[];
}

export class Wrapper {
  readonly #child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  readonly #ends: Promise<unknown>[];
  stdout = "";
  stderr = "";

  constructor(args: readonly string[], { env = {}, prefix = [] }: WrapperOptions = {}) {
    this.#child = Bun.spawn([...prefix, buildBinary(), "run", ...args], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      cwd: tmpdir(),
      // Without the terminal of the tests, whose Ctrl-C would reach the command by itself.
      detached: true,
      env: { PATH: process.env["PATH"] ?? "", ...env },
    });
    onTestFinished(() => this.#killGroup());
    this.#ends = [
      this.#collect(this.#child.stdout, (text) => (this.stdout += text)),
      this.#collect(this.#child.stderr, (text) => (this.stderr += text)),
    ];
  }

  get pid(): number {
    return this.#child.pid;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** The exit code, after everything that was printed has been read. */
  async end(): Promise<number> {
    const code = await this.#child.exited;
    await Promise.all(this.#ends);
    return code;
  }

  /** The exit code of the wrapper alone: its command may still run, with its output open. */
  get exited(): Promise<number> {
    return this.#child.exited;
  }

  async waitForStdout(text: string): Promise<void> {
    await waitUntil(() => this.stdout.includes(text), `${text} in ${this.stderr}`);
  }

  async waitForStderr(text: string): Promise<void> {
    await waitUntil(() => this.stderr.includes(text), text);
  }

  /** After a failed test, also the command must not go on. */
  #killGroup(): void {
    try {
      process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // All of its processes have ended.
    }
  }

  async #collect(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
    const decoder = new TextDecoder();
    for await (const part of stream) add(decoder.decode(part, { stream: true }));
  }
}

/** A server that is stopped after the test. */
export function scriptedServer(register: ScriptedReply, other?: ScriptedReply): ScriptedServer {
  const server = new ScriptedServer(register, other);
  onTestFinished(() => server.stop());
  return server;
}

/** Runs a command with a slot of CAD at a scripted server, to its end. */
export async function runWrapped(
  server: ScriptedServer,
  flags: readonly string[],
  command: readonly string[],
  options: WrapperOptions = {},
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const wrapper = startWrapped(server, flags, command, options);
  const code = await wrapper.end();
  return { code, stdout: wrapper.stdout, stderr: wrapper.stderr };
}

export const startWrapped = (
  server: Pick<ScriptedServer, "url">,
  flags: readonly string[],
  command: readonly string[],
  options: WrapperOptions = {},
): Wrapper =>
  new Wrapper(["--product", "CAD", "--server", server.url, ...flags, "--", ...command], options);

/** A command that ends when the file appears. */
export const untilFile = (path: string): string[] => [
  "sh",
  "-c",
  `echo started; while [ ! -e ${path} ]; do sleep 0.02; done`,
];

/** The only child of a process. */
export const childOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"));
