import { messageOfError } from "../error-message.ts";
import { withReserve } from "../files/descriptor-reserve.ts";
import { errorCode } from "../files/system-error.ts";
import { sacrificeBeforeServer } from "./low-priority.ts";

export interface ProgramOptions {
  /** The absolute path of the program, and its arguments. No shell reads them. */
  readonly command: readonly string[];
  /** For its standard input. */
  readonly input: string;
  /** All variables that it gets. */
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Kills it. */
  readonly signal: AbortSignal;
}

export interface ProgramOutcome {
  /** Null: it was not started, or it was killed. */
  readonly exitCode: number | null;
  /** Why it did not succeed; null: its exit code is 0. */
  readonly failure: string | null;
  /** The beginning of what it wrote, to standard output and standard error. */
  readonly output: string;
  readonly durationMs: number;
}

/** After that, the pipe is closed: this process has no time to read an endless output. */
const MAX_OUTPUT_BYTES = 64 * 1024;
/** How long a killed process may need to end; one that waits for a broken disk never does. */
const KILL_TIMEOUT_MS = 2_000;
/** A process that left the group may keep the pipe open. */
const DRAIN_TIMEOUT_MS = 500;

/**
 * Runs a program in a process group of its own. At its end, at the time limit and when the signal
 * aborts, the whole group is killed: nothing that it started in the group stays.
 */
export async function runProgram(options: ProgramOptions): Promise<ProgramOutcome> {
  const startedAt = performance.now();
  const { signal, timeoutMs } = options;
  const finish = (
    exitCode: number | null,
    failure: string | null,
    output = "",
  ): ProgramOutcome => ({
    exitCode,
    failure,
    output,
    durationMs: Math.round(performance.now() - startedAt),
  });
  if (signal.aborted) return finish(null, "it was not started: the server is stopping");
  let child: Child;
  try {
    child = withReserve(() => spawn(options));
  } catch (error) {
    return finish(null, `it cannot be started: ${explainStartError(error)}`);
  }
  sacrificeBeforeServer(child.pid);
  const output = new OutputReader([child.stdout, child.stderr]);
  const timeout = AbortSignal.timeout(timeoutMs);
  const end = await waitForEnd(child, AbortSignal.any([signal, timeout]));
  // What it left behind in its group.
  killGroup(child);
  const text = await output.finish();
  if (timeout.aborted) {
    return finish(null, `it did not end within ${timeoutMs / 1_000} seconds and was killed`, text);
  }
  if (signal.aborted) return finish(null, "it was killed: the server is stopping", text);
  if (end === 0) return finish(0, null, text);
  return child.signalCode === null
    ? finish(end, `it exited with code ${end}`, text)
    : finish(null, `it was ended by ${child.signalCode}`, text);
}

type Child = ReturnType<typeof spawn>;

const spawn = ({ command, input, environment }: ProgramOptions) =>
  Bun.spawn([...command], {
    stdin: new TextEncoder().encode(input),
    stdout: "pipe",
    stderr: "pipe",
    env: { ...environment },
    cwd: "/",
    // With a group of its own.
    detached: true,
  });

function explainStartError(error: unknown): string {
  const code = errorCode(error);
  if (code === "ENOENT") return "the file does not exist (ENOENT)";
  if (code === "EACCES") return "the user of the server may not execute it (EACCES)";
  if (code === "ENOEXEC") return "it is no program, and its first line does not name one (ENOEXEC)";
  return code ?? messageOfError(error);
}

/** The exit code; null: it was killed when the signal aborted. */
async function waitForEnd(child: Child, stop: AbortSignal): Promise<number | null> {
  const { promise: gaveUp, resolve: giveUp } = Promise.withResolvers<null>();
  let timer: Timer | null = null;
  const kill = (): void => {
    killGroup(child);
    timer = setTimeout(() => giveUp(null), KILL_TIMEOUT_MS);
  };
  if (stop.aborted) kill();
  else stop.addEventListener("abort", kill, { once: true });
  const end = await Promise.race([child.exited, gaveUp]);
  stop.removeEventListener("abort", kill);
  if (timer !== null) clearTimeout(timer);
  // It must not keep this process running.
  child.unref();
  return end;
}

function killGroup({ pid }: Child): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    // EPERM: only processes of other users are left, which a program with the setuid bit started.
    if (!["ESRCH", "EPERM"].includes(errorCode(error) ?? "")) throw error;
  }
}

type Reader = ReturnType<typeof readerOf>;

const readerOf = (stream: Child["stdout"]) => stream.getReader();

/** Collects the beginning of several streams as one text. */
class OutputReader {
  readonly #readers: readonly Reader[];
  readonly #chunks: Uint8Array[] = [];
  readonly #done: Promise<unknown>;
  #size = 0;

  constructor(streams: readonly Child["stdout"][]) {
    this.#readers = streams.map(readerOf);
    this.#done = Promise.all(this.#readers.map((reader) => this.#read(reader)));
  }

  /** Waits a little for what is on its way, and closes the streams. */
  async finish(): Promise<string> {
    await Promise.race([this.#done, Bun.sleep(DRAIN_TIMEOUT_MS)]);
    for (const reader of this.#readers) cancelQuietly(reader);
    return new TextDecoder().decode(Buffer.concat(this.#chunks));
  }

  async #read(reader: Reader): Promise<void> {
    try {
      while (this.#size < MAX_OUTPUT_BYTES) {
        const { value, done } = await reader.read();
        if (done) return;
        const chunk = value.slice(0, MAX_OUTPUT_BYTES - this.#size);
        this.#size += chunk.length;
        this.#chunks.push(chunk);
      }
      cancelQuietly(reader);
    } catch {
      // The stream was closed while it was read.
    }
  }
}

const cancelQuietly = (reader: Reader): void => void reader.cancel().catch(() => undefined);
