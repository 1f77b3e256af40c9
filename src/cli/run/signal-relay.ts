import { constants } from "node:os";
import { isIgnored, isInForeground } from "../../platform/system/job-control.ts";
import type { CommandProcess } from "./command-process.ts";

/** Ctrl-C and Ctrl-\ reach every process in the foreground, so the command has them already. */
const FROM_TERMINAL: ReadonlySet<NodeJS.Signals> = new Set(["SIGINT", "SIGQUIT"]);

const ENDING = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;
const OTHERS = ["SIGUSR1", "SIGUSR2", "SIGTSTP", "SIGCONT"] as const;
/** Windows has no others, and sends them to all programs of a window. */
const ON_WINDOWS = ["SIGINT", "SIGBREAK", "SIGHUP"] as const;

const isWindows = process.platform === "win32";

/** A signal ended the wait for a slot. */
export class WaitInterrupted extends Error {
  override readonly name = "WaitInterrupted";
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`);
    this.signal = signal;
  }

  get exitCode(): number {
    return 128 + constants.signals[this.signal];
  }
}

/** Before the command runs, a signal to this process ends the wait; later the command gets it. */
export class SignalRelay {
  /** Ignored by this process since its start, as after `nohup`; the command must ignore them too. */
  readonly ignored: readonly NodeJS.Signals[];
  readonly #wait = new AbortController();
  readonly #handlers = new Map<NodeJS.Signals, () => void>();
  #command: CommandProcess | null = null;
  #onContinue: () => void = () => {};

  constructor() {
    const endings: readonly NodeJS.Signals[] = isWindows ? ON_WINDOWS : ENDING;
    this.ignored = endings.filter(isIgnored);
    const signals = [...endings, ...(isWindows ? [] : OTHERS)];
    for (const signal of signals.filter((name) => !this.ignored.includes(name))) {
      const handler = (): void => this.#handle(signal);
      this.#handlers.set(signal, handler);
      process.on(signal, handler);
    }
  }

  /** Aborted with a `WaitInterrupted`. */
  get waitSignal(): AbortSignal {
    return this.#wait.signal;
  }

  /** From now on the command gets the signals. */
  relayTo(command: CommandProcess, onContinue: () => void): void {
    this.#command = command;
    this.#onContinue = onContinue;
  }

  /** Gives the signals their default effect again. */
  close(): void {
    for (const [signal, handler] of this.#handlers) process.off(signal, handler);
  }

  #handle(signal: NodeJS.Signals): void {
    if (signal === "SIGTSTP") this.#suspend();
    else if (signal === "SIGCONT") this.#resume();
    else if (this.#command !== null) this.#relay(this.#command, signal);
    else if (signal !== "SIGUSR1" && signal !== "SIGUSR2") {
      this.#wait.abort(new WaitInterrupted(signal));
    }
  }

  #relay(command: CommandProcess, signal: NodeJS.Signals): void {
    if (isWindows || (FROM_TERMINAL.has(signal) && isInForeground())) return;
    command.send(signal);
  }

  /**
   * Suspends the command, and this process in the same way: where the system ignores SIGTSTP, as
   * without job control, it does so for both. Without heartbeats the slot ends at its time-out.
   */
  #suspend(): void {
    const handler = this.#handlers.get("SIGTSTP");
    if (handler !== undefined) process.off("SIGTSTP", handler);
    this.#command?.send("SIGTSTP");
    process.kill(process.pid, "SIGTSTP");
  }

  #resume(): void {
    const handler = this.#handlers.get("SIGTSTP");
    if (handler !== undefined) process.off("SIGTSTP", handler).on("SIGTSTP", handler);
    this.#command?.send("SIGCONT");
    this.#onContinue();
  }
}
