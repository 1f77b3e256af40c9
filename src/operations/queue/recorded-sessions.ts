import { later, type Instant } from "../../domain/time.ts";
import { log } from "../../platform/log.ts";
import { decodeForward, type ForwardStart } from "../../store/audit/read-forward.ts";
import type { Store } from "../../store/store.ts";
import { addLinesBetweenRequests } from "../usage/read-site-record.ts";
import { SESSION_AGE, type EndedSessions, type SessionLengths } from "./session-lengths.ts";

/** Of a longer audit log, only the newest lines are read: it takes a few seconds, in pieces. */
const MAX_LINES = 300_000;

/**
 * The session lengths of the audit log and of the time since the start. The audit log is read in
 * the background when they are wanted first: most sites have no queue, and no start waits for it.
 */
export class RecordedSessions {
  readonly #store: Store;
  readonly #lengths: SessionLengths;
  #reading: Promise<void> | null = null;

  constructor(store: Store, lengths: SessionLengths) {
    this.#store = store;
    this.#lengths = lengths;
  }

  /** As far as they are known now. */
  read(product: string, at: Instant): EndedSessions {
    void this.load(at);
    return this.#lengths.read(product, at);
  }

  /** Reads the audit log, unless it was read or is being read. */
  load(at: Instant): Promise<void> {
    this.#reading ??= this.#load(later(at, -SESSION_AGE));
    return this.#reading;
  }

  async #load(since: Instant): Promise<void> {
    try {
      const end = await this.#store.read(() => this.#store.auditLogSource());
      if (!end.ok) return;
      const source = end.value;
      const oldest = source.lastSeq - MAX_LINES;
      const start: ForwardStart = oldest > 0 ? { auditSeq: oldest } : { since };
      await addLinesBetweenRequests(decodeForward(source, start), ({ at, events }) => {
        if (at < since) return;
        this.#store.peek((state) => {
          for (const event of events) this.#lengths.addRecorded(event, state);
        });
      });
    } catch (error) {
      log.warn("could not read session lengths from the audit log", { error });
    } finally {
      this.#lengths.endRecorded();
    }
  }
}
