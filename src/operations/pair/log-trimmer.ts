import type { Pair } from "../../domain/model/pair/pair.ts";
import { DAY, MINUTE, SECOND } from "../../domain/time.ts";
import { log } from "../../platform/log.ts";
import { LogUnavailable, type HostLog, type HostRow } from "../../store/log/shared-log.ts";
import type { Store } from "../../store/store.ts";
import type { LeadershipListener } from "./leadership-listeners.ts";

/** So long a host may be restored from a backup and still continue. */
export const KEPT_MS = 7 * DAY;
const INTERVAL_MS = 10 * MINUTE;
/** A statement of this size takes far less than its deadline. */
const LINES_AT_ONCE = 5_000;
/** Between two such statements. */
const PAUSE_MS = SECOND;

interface LogTrimmerOptions {
  readonly store: Pick<Store, "peek">;
  readonly log: Pick<HostLog, "readHosts" | "trim">;
  /** Between two checks. */
  readonly intervalMs?: number;
}

/**
 * Removes lines from the beginning of the log that no host needs: those that the checkpoints of all
 * hosts cover, after a week. Only the leader does it.
 */
export class LogTrimmer implements LeadershipListener {
  readonly #options: LogTrimmerOptions;
  #timer: Timer | null = null;
  /** Changes with each term, so that a step of an earlier one schedules nothing. */
  #term = 0;

  constructor(options: LogTrimmerOptions) {
    this.#options = options;
  }

  async begin(): Promise<void> {
    this.end();
    this.#schedule(this.#options.intervalMs ?? INTERVAL_MS);
  }

  end(): void {
    this.#term += 1;
    clearTimeout(this.#timer ?? undefined);
  }

  /** Resolves to whether there may be more to remove. */
  async trim(): Promise<boolean> {
    const { store, log: shared } = this.#options;
    const pair = store.peek((state) => state.pair);
    const upTo = findCoveredLine(pair, await shared.readHosts());
    if (upTo === null) return false;
    const count = await shared.trim(upTo, KEPT_MS, LINES_AT_ONCE);
    if (count > 0) log.info("removed old lines from the log of the pair", { count });
    return count === LINES_AT_ONCE;
  }

  #schedule(delay: number): void {
    const { intervalMs = INTERVAL_MS } = this.#options;
    const term = this.#term;
    this.#timer = setTimeout(async () => {
      const hasMore = await this.#tryTrim();
      if (term === this.#term)
        this.#schedule(hasMore ? Math.min(PAUSE_MS, intervalMs) : intervalMs);
    }, delay);
    this.#timer.unref();
  }

  async #tryTrim(): Promise<boolean> {
    try {
      return await this.trim();
    } catch (error) {
      // The leadership says that the log cannot be reached.
      if (!(error instanceof LogUnavailable))
        log.error("could not remove old lines from the log of the pair", { error });
      return false;
    }
  }
}

/** The last line that all hosts of the pair cover; null: one of them did not say. */
function findCoveredLine(pair: Pair | null, rows: readonly HostRow[]): number | null {
  if (pair === null) return null;
  const covered = new Map(rows.map((row) => [row.host, row.covered]));
  const lines = [...pair.hosts.keys()].map((host) => covered.get(host));
  return lines.every((line) => line !== undefined) ? Math.min(...lines) : null;
}
