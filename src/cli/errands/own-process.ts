import { setPriority } from "node:os";
import { err, ok, type Result } from "../../domain/result.ts";
import type { MaintenanceFault } from "../../http/running-server.ts";
import type { Environment } from "../../platform/options.ts";
import { ownCommand } from "../../platform/version.ts";
import type { LastWords } from "./refusals.ts";

interface Ended extends LastWords {
  readonly stdout: string;
}

const LATER = 10;

/** Runs a command of this very program beside it, unless and until the signal ends it. */
export async function runOwn(
  words: readonly string[],
  environment: Environment,
  signal: AbortSignal,
): Promise<Result<Ended, MaintenanceFault>> {
  if (signal.aborted) return err({ code: "request_cancelled" });
  const child = Bun.spawn([...ownCommand, ...words], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...environment },
  });
  const end = (): void => child.kill("SIGKILL");
  signal.addEventListener("abort", end, { once: true });
  giveWay(child.pid);
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ]);
  signal.removeEventListener("abort", end);
  if (signal.aborted) return err({ code: "request_cancelled" });
  return ok({ code, stdout, error: lastOf(stderr, ERROR), hint: lastOf(stderr, HINT) });
}

/** Answers go first. Where a process may not say so, it is only slower. */
function giveWay(pid: number): void {
  try {
    setPriority(pid, LATER);
  } catch {
    // Then it has the priority of everything else.
  }
}

const ERROR = /^berth: error: (.*)$/gm;
const HINT = /^berth: hint: (.*)$/gm;

const lastOf = (text: string, line: RegExp): string => [...text.matchAll(line)].at(-1)?.[1] ?? "";
