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
const KILLED = [EXIT_FAILURE, ""] as const;

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
  if (signal.aborted) return err({ code: "request_cancelled" });
  const child = withReserve(() =>
    Bun.spawn([...selfCommand(), ...args], {
      stdin: input === null ? "ignore" : new Blob([input]),
      stdout: "pipe",
      stderr: "ignore",
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
  const exit = Promise.all([child.exited, child.stdout.text()]);
  const [exitCode, stdout] = (await Promise.race([exit, timeout])) ?? KILLED;
  signal.removeEventListener("abort", kill);
  if (signal.aborted) return err({ code: "request_cancelled" });
  return ok({ exitCode, stdout, refusal: exitCode === 0 ? null : parseJsonRefusal(stdout) });
}
