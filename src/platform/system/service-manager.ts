import { sendDatagram } from "./datagram.ts";

type NotifyMessage = "STOPPING=1" | "WATCHDOG=1" | `STATUS=${string}`;

/**
 * Notifies systemd of the state, if the unit has `Type=notify` or `WatchdogSec`. Does nothing when
 * the server was started by hand.
 */
export class ServiceManager {
  readonly #socket: string | null;
  readonly #watchdogIntervalMs: number | null;
  #watchdogTimer: Timer | null = null;

  constructor(environment: Readonly<Record<string, string | undefined>>) {
    const { NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID } = environment;
    this.#socket = NOTIFY_SOCKET !== undefined && NOTIFY_SOCKET !== "" ? NOTIFY_SOCKET : null;
    const isForThisProcess = WATCHDOG_PID === undefined || Number(WATCHDOG_PID) === process.pid;
    const limitMs = Number(WATCHDOG_USEC) / 1_000;
    // Twice as often as required, so that one delay of the event loop does no harm.
    this.#watchdogIntervalMs = isForThisProcess && limitMs > 0 ? limitMs / 2 : null;
  }

  /** Reports that requests are served, and starts the watchdog messages. */
  notifyReady(status: string): void {
    if (this.#socket !== null) sendDatagram(this.#socket, `READY=1\nSTATUS=${status}`, true);
    if (this.#socket === null || this.#watchdogIntervalMs === null) return;
    this.#watchdogTimer = setInterval(() => this.#notify("WATCHDOG=1"), this.#watchdogIntervalMs);
  }

  /** Watchdog messages continue: a stop that hangs must be detected too. */
  notifyStopping(): void {
    this.#notify("STOPPING=1", "STATUS=stopping");
  }

  stopWatchdog(): void {
    if (this.#watchdogTimer !== null) clearInterval(this.#watchdogTimer);
  }

  #notify(...messages: readonly NotifyMessage[]): void {
    if (this.#socket !== null) sendDatagram(this.#socket, messages.join("\n"));
  }
}
