import { err, ok, type Result } from "../../domain/result.ts";
import type { MaintenanceFault } from "../../faults/fault-types.ts";
import type { Environment } from "../../platform/environment.ts";
import { lowerPriority } from "../../platform/system/low-priority.ts";
import { selfCommand } from "../../platform/embedded/version.ts";
import { parseJsonRefusal } from "../frame/json-refusal.ts";
import type { CommandExit } from "./maintenance-fault.ts";

interface CommandResult extends CommandExit {
  readonly stdout: string;
}

/** Runs a command with `--json` of this executable in a child process; the signal kills it. */
export async function runChildCommand(
  args: readonly string[],
  environment: Environment,
  signal: AbortSignal,
): Promise<Result<CommandResult, MaintenanceFault>> {
  if (signal.aborted) return err({ code: "request_cancelled" });
  const child = Bun.spawn([...selfCommand, ...args], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
    env: { ...environment },
  });
  const kill = (): void => child.kill("SIGKILL");
  signal.addEventListener("abort", kill, { once: true });
  lowerPriority(child.pid);
  const [exitCode, stdout] = await Promise.all([child.exited, child.stdout.text()]);
  signal.removeEventListener("abort", kill);
  if (signal.aborted) return err({ code: "request_cancelled" });
  return ok({ exitCode, stdout, refusal: exitCode === 0 ? null : parseJsonRefusal(stdout) });
}
