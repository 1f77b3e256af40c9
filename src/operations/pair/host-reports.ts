import { log } from "../../platform/log.ts";
import {
  LogUnavailable,
  type DatabaseReport,
  type HostReport,
  type HostRow,
} from "../../store/log/shared-log.ts";
import type { LeadershipOptions } from "./leadership-types.ts";
import { isMember } from "./require-member.ts";

const REPORT_MS = 2_000;

type HostReportsOptions = Pick<
  LeadershipOptions,
  "log" | "store" | "host" | "hardware" | "hardwareId" | "url" | "version" | "bootMs" | "systemTime"
>;

/**
 * Says every few seconds what this host has, and reads what the other one says, and the state of
 * the database. It does not decide which host leads: a late report delays nothing.
 */
export class HostReports {
  readonly #options: HostReportsOptions;
  #hosts: readonly HostRow[] = [];
  #readAt = 0;
  #database: DatabaseReport | null = null;
  #timer: Timer | null = null;
  #isStopped = false;
  #current: Promise<void> = Promise.resolve();

  constructor(options: HostReportsOptions) {
    this.#options = options;
  }

  /** The hosts as the log had them, with their age now. */
  get hosts(): readonly HostRow[] {
    const passed = Math.max(0, this.#options.bootMs() - this.#readAt);
    return this.#hosts.map((row) => ({ ...row, ageMs: row.ageMs + passed }));
  }

  /** Null: it was not read yet, or cannot be reached. */
  get database(): DatabaseReport | null {
    return this.#database;
  }

  /** Why the database acknowledges no change although it can be read; null: it does. */
  get standbyProblem(): string | null {
    return this.#database?.lacksStandby === true
      ? "the database waits for its standby, and none is connected"
      : null;
  }

  start(): void {
    this.#schedule(0);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer ?? undefined);
    await this.#current;
  }

  /** Reports this host, and reads the others. Rejects if the log cannot be used. */
  async refresh(): Promise<readonly HostRow[]> {
    const { log: shared, store, bootMs } = this.#options;
    // A machine that was replaced would overwrite what its successor says under the same name.
    if (
      isMember(
        store.peek(({ pair }) => pair),
        this.#options,
      )
    )
      await shared.reportHost(this.#describeHost());
    this.#hosts = await shared.readHosts();
    this.#readAt = bootMs();
    return this.#hosts;
  }

  async #readDatabase(): Promise<void> {
    try {
      this.#database = await this.#options.log.readDatabase();
    } catch (error) {
      // Another server may take its place.
      this.#database = null;
      throw error;
    }
  }

  #describeHost(): HostReport {
    const { store, host, hardwareId, url, version, systemTime } = this.#options;
    const { head, coveredSeq: covered } = store.status();
    return { host, hardwareId, url, version, head, covered, systemTime: systemTime() };
  }

  #schedule(delay: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#current = this.#report().finally(() => this.#schedule(REPORT_MS));
    }, delay);
    this.#timer.unref();
  }

  async #report(): Promise<void> {
    try {
      // First: it also succeeds where every change waits for a standby.
      await this.#readDatabase();
      await this.refresh();
    } catch (error) {
      // The leadership says that the log cannot be reached.
      if (error instanceof LogUnavailable) return;
      log.error("could not report this host to the log of the pair", { error });
    }
  }
}
