import type { State } from "../domain/state.ts";
import { SECOND, type Instant } from "../domain/time.ts";
import { UsageBackfill } from "./usage-backfill.ts";
import { Usage, type UsageRange, type UsageView } from "./usage.ts";
import { log } from "../platform/log.ts";
import { readLinesNewestFirst } from "../store/audit/read-backward.ts";
import type { Store } from "../store/store.ts";
import type { StorageFault } from "../store/journal/group-commit.ts";
import type { Result } from "../domain/result.ts";

export interface UsageResult extends UsageView {
  /** False: the audit log is still being read, and its data is not included yet. */
  readonly complete: boolean;
}

const SAMPLE_INTERVAL = 5 * SECOND;

/**
 * Samples the slots in use since the start. Earlier usage is read from the audit log with the first
 * query, and is not stored anywhere else.
 */
export class UsageTracker {
  readonly #store: Store;
  readonly #usage = new Usage();
  /** Last line before the start: refusals of later lines are counted when they happen. */
  readonly #startedAfter: number;
  readonly #sampleTimer: Timer;
  #knownSince: Instant | null = null;
  #reading: Promise<void> | null = null;
  #complete = false;
  #stopped = false;

  constructor(store: Store) {
    this.#store = store;
    this.#startedAfter = store.status().seq;
    void this.#sample();
    this.#sampleTimer = setInterval(() => void this.#sample(), SAMPLE_INTERVAL);
    this.#sampleTimer.unref();
  }

  recordSlotTaken(state: State, license: number, now: Instant): void {
    this.#usage.sampleLicense(state, license, now);
  }

  /** `wait`: the result includes all of the audit log, however long the reading takes. */
  async view(range: UsageRange, wait: boolean): Promise<Result<UsageResult, StorageFault>> {
    this.#reading ??= this.#readPast();
    if (wait) await this.#reading;
    return this.#store.read((state, { at: now }) => ({
      ...this.#usage.view(state, range, now, (this.#knownSince ??= now)),
      complete: this.#complete,
    }));
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#sampleTimer);
  }

  async #sample(): Promise<void> {
    await this.#store.read((state, { at: now }) => {
      this.#knownSince ??= now;
      this.#usage.sample(state, now);
    });
  }

  async #readPast(): Promise<void> {
    try {
      const snapshot = await this.#store.read((state, { at: now }) => {
        this.#usage.sample(state, now);
        return {
          source: this.#store.auditLogSource(),
          backfill: new UsageBackfill(this.#usage, state, now),
        };
      });
      if (!snapshot.ok) return;
      const { source, backfill } = snapshot.value;
      for await (const { seq, at, events } of readLinesNewestFirst(source)) {
        if (this.#stopped) return;
        if (!backfill.applyLine(at, events, seq <= this.#startedAfter)) break;
      }
      this.#knownSince = backfill.finish();
      this.#complete = true;
    } catch (error) {
      log.error("could not read the audit log for usage", { error });
    } finally {
      // An incomplete read is repeated with the next query.
      if (!this.#complete) this.#reading = null;
    }
  }
}
