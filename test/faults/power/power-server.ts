// The compiled server as a process that can be killed together with its child processes.
import { buildBinary } from "../../support/binary.ts";
import { PATIENCE } from "../../support/patience.ts";
import { atEnd } from "../../support/suite-harness.ts";

export class PowerServer {
  readonly #child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  readonly stderrText: Promise<string>;
  /** Its URL when it serves; null if it ended first. */
  readonly ready: Promise<string | null>;

  constructor(folder: string) {
    const args = ["serve", "--data", folder, "--listen", "127.0.0.1:0"];
    // A new process group, because a checkpoint is a child process that must be killed too.
    this.#child = Bun.spawn([buildBinary(), ...args], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      cwd: "/",
      env: {},
      detached: true,
    });
    atEnd(() => this.#killGroup());
    this.stderrText = new Response(this.#child.stderr).text();
    this.ready = this.#withTimeout(readAddress(this.#child.stdout));
  }

  /** Kills the server and its children with SIGKILL. */
  async kill(): Promise<void> {
    this.#killGroup();
    await this.#child.exited;
  }

  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number> {
    this.#child.kill("SIGTERM");
    return this.#withTimeout(this.#child.exited);
  }

  /** The exit code and the error output. */
  async describeExit(): Promise<string> {
    const code = await this.#child.exited;
    return `exit ${code}: ${(await this.stderrText).trim()}`;
  }

  async #withTimeout<T>(result: Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.#killGroup(), PATIENCE);
    try {
      return await result;
    } finally {
      clearTimeout(timer);
    }
  }

  #killGroup(): void {
    try {
      process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // All processes of the group have ended already.
    }
  }
}

async function readAddress(stdout: ReadableStream<Uint8Array>): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of stdout) {
    text += decoder.decode(part, { stream: true });
    if (/^ready$/m.test(text)) return /https?:\/\/[\d.]+:\d+/.exec(text)?.[0] ?? null;
  }
  return null;
}
