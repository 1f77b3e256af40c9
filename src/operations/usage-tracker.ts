import type { State } from "../domain/state.ts";
import { SECOND, type Instant } from "../domain/time.ts";
import { UsageBackfill } from "../domain/usage-backfill.ts";
import { Usage, type UsageRange, type UsageView } from "../domain/usage.ts";
import { log } from "../platform/log.ts";
import { readLinesNewestFirst } from "../store/audit/read-backward.ts";
import type { Store } from "../store/store.ts";
import type { OperationResult } from "./operations.ts";

export interface UsageResult extends UsageView {
  /** False: the record is still being read, and what it tells is not in here yet. */
  readonly complete: boolean;
}

const SAMPLE = 5 * SECOND;

/**
 * How much is in use, watched since the start; what was before is read from the record when
 * somebody first asks, and is not kept anywhere else.
 */
export class UsageTracker {
  readonly #store: Store;
  readonly #usage = new Usage();
  /** The last line before this watch: refusals in later ones are counted as they happen. */
  readonly #startedAfter: number;
  readonly #sampling: Timer;
  #known: Instant | null = null;
  #reading: Promise<void> | null = null;
  #complete = false;
  #stopped = false;

  constructor(store: Store) {
    this.#store = store;
    this.#startedAfter = store.health().seq;
    void this.#sample();
    this.#sampling = setInterval(() => void this.#sample(), SAMPLE);
    this.#sampling.unref();
  }

  recordSlotTaken(state: State, license: number, now: Instant): void {
    this.#usage.sampleLicense(state, license, now);
  }

  /** `wait`: with all that the record tells, however long that takes. */
  async view(span: UsageRange, wait: boolean): OperationResult<UsageResult> {
    this.#reading ??= this.#readPast();
    if (wait) await this.#reading;
    return this.#store.read((state, now) => ({
      ...this.#usage.view(state, span, now, (this.#known ??= now)),
      complete: this.#complete,
    }));
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#sampling);
  }

  async #sample(): Promise<void> {
    await this.#store.read((state, now) => {
      this.#known ??= now;
      this.#usage.sample(state, now);
    });
  }

  async #readPast(): Promise<void> {
    try {
      const asked = await this.#store.read((state, now) => {
        this.#usage.sample(state, now);
        return {
          record: this.#store.auditLogSource(),
          past: new UsageBackfill(this.#usage, state, now),
        };
      });
      if (!asked.ok) return;
      const { record, past } = asked.value;
      for await (const { seq, at, events } of readLinesNewestFirst(record)) {
        if (this.#stopped) return;
        if (!past.applyLine(at, events, seq <= this.#startedAfter)) break;
      }
      this.#known = past.finish();
      this.#complete = true;
    } catch (error) {
      log.error("could not read the audit log for usage", { error });
    } finally {
      // What did not come to its end is tried again when somebody asks again.
      if (!this.#complete) this.#reading = null;
    }
  }
}
