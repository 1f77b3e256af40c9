import type { Event } from "../domain/event.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { State } from "../domain/state.ts";
import type { Instant } from "../domain/time.ts";
import { runBetweenRequests } from "../platform/yield-to-requests.ts";
import type { StorageFault } from "../store/group-commit.ts";
import type { JournalLine } from "../store/journal.ts";
import { readBackward, SLICE_BYTES, type LineRead } from "../store/audit/read-backward.ts";
import { readForward, type TimeRange } from "../store/audit/read-forward.ts";
import { AuditLineDamaged } from "../store/audit/line-locator.ts";
import {
  positionBefore,
  parsePosition,
  formatPosition,
  type AuditPosition,
} from "../store/audit/position.ts";
import { monthOf } from "../store/audit/audit-log.ts";
import type { Store } from "../store/store.ts";

export { parsePosition, type AuditPosition as Position, type TimeRange as Span };

/** One event as it stands on the record. */
export interface AuditEntry {
  /** The line of the record, one for each command, and which of its events, from 0 on. */
  readonly seq: number;
  readonly part: number;
  readonly event: Event;
  /** Of its license, also when that is gone; null: of none, or nobody knows. */
  readonly product: string | null;
}

export interface AuditQuery<T> {
  /** Null: from the newest on. */
  readonly from: AuditPosition | null;
  /** At most so many. */
  readonly limit: number;
  /** Nothing that happened before this will be picked. */
  readonly since: Instant | null;
  /** What to make of an event; null: nothing. */
  readonly pick: (entry: AuditEntry) => T | null;
}

export interface AuditPage<T> {
  readonly entries: readonly T[];
  /** Where to go on; null: there is nothing before. */
  readonly nextPosition: string | null;
  /** When the oldest line that was looked at was written. */
  readonly scannedUntil: Instant | null;
}

export interface AuditLogDamagedFault {
  readonly code: "audit_log_damaged";
  readonly line: number;
}

/** How much one question may look at, in bytes; a longer line is read all the same. */
const MOST = 4 * 1024 * 1024;
/** A renewal is only passed over, which costs less. */
const PASSED_OVER = 1 / 8;

/** The auditor's record, read for people; what is shown is on disk. */
export class AuditLogReader {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Newest first. Always gets on: as often as it is asked, the beginning is reached. */
  async readPage<T>({
    from,
    limit,
    since,
    pick,
  }: AuditQuery<T>): Promise<Result<AuditPage<T>, StorageFault | AuditLogDamagedFault>> {
    const asked = await this.#store.read((state) => ({
      record: this.#store.auditLogSource(),
      products: productsOf(state),
    }));
    if (!asked.ok) return asked;
    const { record, products } = asked.value;
    const end = positionBefore(record.lastSeq + 1);
    const start = from === null || from.auditSeq > end.auditSeq ? end : from;
    const page = new PageCollector(start, limit, (seq, part, event) =>
      pick({ seq, part, event, product: productOf(event, products) }),
    );
    const looks = readBackward(record, start, since === null ? "" : monthOf(since));
    try {
      for (;;) {
        const isAll = await runBetweenRequests(() => page.addSlice(looks));
        if (isAll !== null) return ok(page.done(isAll));
      }
    } catch (error) {
      if (!(error instanceof AuditLineDamaged)) throw error;
      // What was found before it is not lost: the next question runs into it.
      if (page.isEmpty) return err({ code: "audit_log_damaged", line: error.auditSeq });
      return ok(page.done(false));
    }
  }

  /** The lines as they stand, oldest first, in parts that may be empty. */
  async exportLines(span: TimeRange): Promise<Result<Iterator<Buffer>, StorageFault>> {
    const asked = await this.#store.read(() => this.#store.auditLogSource());
    return asked.ok ? ok(readForward(asked.value, span)) : asked;
  }
}

/** What was found so far, and where it stands. */
class PageCollector<T> {
  readonly #limit: number;
  readonly #pick: (seq: number, part: number, event: Event) => T | null;
  readonly #found: T[] = [];
  #at: AuditPosition;
  #spent = 0;
  #reached: Instant | null = null;

  constructor(
    start: AuditPosition,
    limit: number,
    pick: (seq: number, part: number, event: Event) => T | null,
  ) {
    this.#at = start;
    this.#limit = limit;
    this.#pick = pick;
  }

  get isEmpty(): boolean {
    return this.#found.length === 0;
  }

  /** What can be looked at in one turn: whether that was all there is; null: it goes on. */
  addSlice(looks: Iterator<LineRead>): boolean | null {
    for (let bytes = 0; bytes < SLICE_BYTES;) {
      const { done, value } = looks.next();
      if (done === true) return true;
      if (this.#add(value)) return false;
      bytes += value.size;
    }
    return null;
  }

  /** True: that is enough. */
  #add({ line, size, writtenAt, journalSeq }: LineRead): boolean {
    this.#reached = writtenAt ?? this.#reached;
    this.#spent += line === null ? size * PASSED_OVER : size;
    if (line === null) this.#at = { ...this.#at, journalSeq };
    else if (this.#addLine(line, journalSeq)) return true;
    return this.#spent >= MOST;
  }

  done(isAll: boolean): AuditPage<T> {
    const { auditSeq, eventIndex } = this.#at;
    const isFirst = auditSeq === 1 && eventIndex === 0;
    return {
      entries: this.#found,
      nextPosition: isAll || isFirst ? null : formatPosition(this.#at),
      scannedUntil: this.#reached,
    };
  }

  #addLine({ audit_seq: line = 0, events }: JournalLine, seen: number): boolean {
    const first =
      line === this.#at.auditSeq ? Math.min(this.#at.eventIndex, events.length) : events.length;
    for (let part = first - 1; part >= 0; part -= 1) {
      const event = events[part];
      const picked = event ? this.#pick(line, part, event) : null;
      if (picked === null) continue;
      this.#found.push(picked);
      if (this.#found.length < this.#limit) continue;
      // The rest of this line is still to be read.
      this.#at = { auditSeq: line, eventIndex: part, journalSeq: part === 0 ? seen : seen + 1 };
      return true;
    }
    this.#at = { auditSeq: line, eventIndex: 0, journalSeq: seen };
    return false;
  }
}

type Products = ReadonlyMap<number, string>;

/** Of licenses that were given back, too. */
const productsOf = ({ licenses, tombstones }: State): Products =>
  new Map([
    ...[...tombstones.values()].map(({ license, product }) => [license, product] as const),
    ...[...licenses.values()].map(({ id, terms }) => [id, terms.product] as const),
  ]);

function productOf(event: Event, products: Products): string | null {
  if (event.type === "LicenseInstalled") return event.terms.product;
  if (event.type === "RequestMade") return event.request.product;
  if (event.type === "RefusalsCounted") return event.product;
  return "license" in event ? (products.get(event.license) ?? null) : null;
}
