import { sendDatagram } from "./datagram.ts";

type NotifyMessage = "STOPPING=1" | "WATCHDOG=1" | `STATUS=${string}`;

/**
 * Tells systemd how it goes, where systemd asked: `Type=notify` in the unit, and `WatchdogSec`.
 * Started by hand there is nobody to tell.
 */
export class ServiceManager {
  readonly #socket: string | null;
  readonly #every: number | null;
  #alive: Timer | null = null;

  constructor(environment: Readonly<Record<string, string | undefined>>) {
    const { NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID } = environment;
    this.#socket = NOTIFY_SOCKET !== undefined && NOTIFY_SOCKET !== "" ? NOTIFY_SOCKET : null;
    const mine = WATCHDOG_PID === undefined || Number(WATCHDOG_PID) === process.pid;
    const limit = Number(WATCHDOG_USEC) / 1_000;
    // Twice as often as it must: one late turn of the loop is not the end.
    this.#every = mine && limit > 0 ? limit / 2 : null;
  }

  /** Requests are answered from now on; and from now on it says so in time, or is restarted. */
  notifyReady(status: string): void {
    if (this.#socket !== null) sendDatagram(this.#socket, `READY=1\nSTATUS=${status}`, true);
    if (this.#socket === null || this.#every === null) return;
    this.#alive = setInterval(() => this.#tell("WATCHDOG=1"), this.#every);
  }

  /** The watchdog is fed to the end: a stop that hangs is a hang as well. */
  notifyStopping(): void {
    this.#tell("STOPPING=1", "STATUS=stopping");
  }

  stopWatchdog(): void {
    if (this.#alive !== null) clearInterval(this.#alive);
  }

  #tell(...words: readonly NotifyMessage[]): void {
    if (this.#socket !== null) sendDatagram(this.#socket, words.join("\n"));
  }
}
