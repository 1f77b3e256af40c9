// The compiled server as a process that can go down with its machine, its helpers included.
import { buildBinary } from "../../support/binary.ts";
import { PATIENCE } from "../../support/patience.ts";
import { atEnd } from "../../support/suite-harness.ts";

export class PowerServer {
  readonly #child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  readonly #complaint: Promise<string>;
  /** Its address once it serves; null when it ended instead. */
  readonly ready: Promise<string | null>;

  constructor(folder: string) {
    const words = ["serve", "--data", folder, "--listen", "127.0.0.1:0"];
    // A process group of its own: a checkpoint is a process too, and goes down with it.
    this.#child = Bun.spawn([buildBinary(), ...words], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      cwd: "/",
      env: {},
      detached: true,
    });
    atEnd(() => this.#signalAll());
    this.#complaint = new Response(this.#child.stderr).text();
    this.ready = this.#inTime(addressIn(this.#child.stdout));
  }

  /** Nobody is told, nothing is finished. */
  async kill(): Promise<void> {
    this.#signalAll();
    await this.#child.exited;
  }

  /** Asks it to end, and says with which code it did. */
  stop(): Promise<number> {
    this.#child.kill("SIGTERM");
    return this.#inTime(this.#child.exited);
  }

  /** What it said on its way out. */
  async describeExit(): Promise<string> {
    const code = await this.#child.exited;
    return `exit ${code}: ${(await this.#complaint).trim()}`;
  }

  async #inTime<T>(done: Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.#signalAll(), PATIENCE);
    try {
      return await done;
    } finally {
      clearTimeout(timer);
    }
  }

  #signalAll(): void {
    try {
      process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // All of them are gone already.
    }
  }
}

async function addressIn(stdout: ReadableStream<Uint8Array>): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of stdout) {
    text += decoder.decode(part, { stream: true });
    if (/^ready$/m.test(text)) return /https?:\/\/[\d.]+:\d+/.exec(text)?.[0] ?? null;
  }
  return null;
}
