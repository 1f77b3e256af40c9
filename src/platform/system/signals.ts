import { closeSync, openSync } from "node:fs";
import { isatty } from "node:tty";

/**
 * The signals of a server. The handlers stay in place until the process ends: an unhandled SIGHUP
 * would end it, also during its start and its stop.
 */
export class ServerSignals {
  /** Resolves with the first signal that asks the server to stop. */
  readonly stopRequested: Promise<void>;
  /** False under `nohup`: the process then has a terminal but does not use it. */
  readonly #usesTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor)) && hasTerminal();
  #isStopRequested = false;
  #reload: (() => void) | null = null;
  #isReloadPending = false;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.stopRequested = promise;
    const stop = (): void => {
      this.#isStopRequested = true;
      resolve();
    };
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, stop);
    process.on("SIGHUP", () => {
      if (this.#usesTerminal && !hasTerminal()) stop();
      else if (this.#reload === null) this.#isReloadPending = true;
      else this.#reload();
    });
  }

  get isStopRequested(): boolean {
    return this.#isStopRequested;
  }

  /** Sets what SIGHUP does. A signal that came earlier is handled immediately. */
  onReload(reload: () => void): void {
    this.#reload = reload;
    if (!this.#isReloadPending) return;
    this.#isReloadPending = false;
    reload();
  }
}

/**
 * SIGHUP has two meanings: "reload", from a service manager or an operator, and "your terminal was
 * closed", from the kernel. In the second case the process has no terminal any more.
 */
function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}
