import { accessSync, constants as modes, statSync } from "node:fs";
import { SECOND } from "../../domain/time.ts";
import type { Environment } from "../../platform/environment.ts";
import { messageOfError } from "../../platform/error-message.ts";
import { RunFailure } from "./run-failure.ts";

/** Time for the command to end by itself after SIGTERM. */
const GRACE = 10 * SECOND;

/** Refuses a command that does not exist, before a slot is waited for. */
export function requireCommand(name: string, environment: Environment): void {
  if (Bun.which(name, { PATH: environment["PATH"] ?? "" }) !== null) return;
  if (/[\\/]/.test(name) && statSync(name, { throwIfNoEntry: false }) !== undefined) {
    throw cannotStart(name, isExecutable(name) ? "it is not a program" : "it is not executable");
  }
  throw notFound(name);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, modes.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The command that holds the slot, in the process group and on the terminal of this process. */
export class CommandProcess {
  readonly #child: Bun.Subprocess;

  /** The command also ignores the signals that this process was started to ignore. */
  constructor(
    command: readonly string[],
    environment: Environment,
    ignoredSignals: readonly NodeJS.Signals[],
  ) {
    const [name = ""] = command;
    try {
      this.#child = Bun.spawn(ignoreInChild(command, ignoredSignals), {
        stdio: ["inherit", "inherit", "inherit"],
        env: { ...environment },
      });
    } catch (error) {
      throw cannotStart(name, messageOfError(error));
    }
  }

  send(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** SIGTERM, and SIGKILL if that does not end it. */
  stop(): void {
    this.#child.kill("SIGTERM");
    setTimeout(() => this.#child.kill("SIGKILL"), GRACE).unref();
  }

  /** Its exit code, and the signal that ended it; null: it ended by itself. */
  async waitForEnd(): Promise<{ exitCode: number; signal: NodeJS.Signals | null }> {
    const exitCode = await this.#child.exited;
    const { signalCode } = this.#child;
    return { exitCode, signal: typeof signalCode === "string" ? signalCode : null };
  }
}

/** The runtime resets ignored signals in a child, so a shell ignores them and becomes the child. */
function ignoreInChild(command: readonly string[], signals: readonly NodeJS.Signals[]): string[] {
  if (signals.length === 0) return [...command];
  const names = signals.map((name) => name.slice("SIG".length)).join(" ");
  return ["/bin/sh", "-c", `trap "" ${names}; exec "$@"`, "sh", ...command];
}

const notFound = (name: string): RunFailure =>
  new RunFailure("not_found", `command not found: ${name}`, "check its name and PATH");

const cannotStart = (name: string, reason: string): RunFailure =>
  new RunFailure(
    "cannot_start",
    `${name} cannot be started: ${reason}`,
    "chmod +x makes a file executable",
  );
