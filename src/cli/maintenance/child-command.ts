import { err, ok, type Result } from "../../domain/result.ts";
import type { MaintenanceFault } from "../../faults/fault-types.ts";
import type { Environment } from "../../platform/environment.ts";
import { withReserve } from "../../platform/files/descriptor-reserve.ts";
import { lowerPriority } from "../../platform/system/low-priority.ts";
import { selfCommand } from "../../platform/embedded/version.ts";
import { EXIT_FAILURE } from "../frame/command.ts";
import { parseJsonRefusal } from "../frame/json-refusal.ts";
import type { CommandExit } from "./maintenance-fault.ts";

interface CommandResult extends CommandExit {
  readonly stdout: string;
}

const KILL_TIMEOUT = 5_000;
const KILLED = [EXIT_FAILURE, new Uint8Array()] as const;

/**
 * Runs a command with `--json` of this executable in a child process, with this standard input; the
 * signal kills it.
 */
export async function runChildCommand(
  args: readonly string[],
  environment: Environment,
  signal: AbortSignal,
  input: string | null = null,
): Promise<Result<CommandResult, MaintenanceFault>> {
  const exit = await runChild(args, environment, signal, { input });
  if (!exit.ok) return exit;
  const { exitCode, stdout: bytes } = exit.value;
  const stdout = new TextDecoder().decode(bytes);
  return ok({ exitCode, stdout, refusal: exitCode === 0 ? null : parseJsonRefusal(stdout) });
}

interface ChildExit {
  readonly exitCode: number;
  readonly stdout: Uint8Array<ArrayBuffer>;
}

interface ChildStreams {
  /** The standard input; null: there is none. */
  readonly input: string | null;
  /** Called with each line of the standard error. */
  readonly onErrorLine?: (line: string) => void;
}

/** Runs this executable in a child process with a low priority; the signal kills it. */
export async function runChild(
  args: readonly string[],
  environment: Environment,
  signal: AbortSignal,
  { input, onErrorLine }: ChildStreams,
): Promise<Result<ChildExit, MaintenanceFault>> {
  if (signal.aborted) return err({ code: "request_cancelled" });
  const child = withReserve(() =>
    Bun.spawn([...selfCommand(), ...args], {
      stdin: input === null ? "ignore" : new Blob([input]),
      stdout: "pipe",
      stderr: onErrorLine === undefined ? "ignore" : "pipe",
      env: { ...environment },
    }),
  );
  const { promise: timeout, resolve: giveUp } = Promise.withResolvers<null>();
  const kill = (): void => {
    child.kill("SIGKILL");
    // A process that waits for a disk which does not answer cannot be killed.
    child.unref();
    setTimeout(() => giveUp(null), KILL_TIMEOUT).unref();
  };
  signal.addEventListener("abort", kill, { once: true });
  lowerPriority(child.pid);
  if (child.stderr !== undefined && onErrorLine !== undefined) {
    void readLines(child.stderr, onErrorLine);
  }
  const exit = Promise.all([child.exited, child.stdout.bytes()]);
  const [exitCode, stdout] = (await Promise.race([exit, timeout])) ?? KILLED;
  signal.removeEventListener("abort", kill);
  return signal.aborted ? err({ code: "request_cancelled" }) : ok({ exitCode, stdout });
}

async function readLines(
  stream: ReadableStream<Uint8Array>,
  onLine: (line: string) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const part of stream) {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  }
}
