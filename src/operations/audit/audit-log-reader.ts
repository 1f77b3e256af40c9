import type { Event } from "../../domain/model/event.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { State } from "../../domain/model/state.ts";
import type { Instant } from "../../domain/time.ts";
import { beginStep, runBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";
import type { AuditLogDamagedFault } from "../../faults/fault-types.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { JournalLine } from "../../store/journal/journal.ts";
import { readBackward, type LineRead } from "../../store/audit/read-backward.ts";
import { readForward, type TimeRange } from "../../store/audit/read-forward.ts";
import { AuditLineDamaged } from "../../store/audit/line-locator.ts";
import {
  positionBefore,
  parsePosition,
  formatPosition,
  type AuditPosition,
} from "../../store/audit/position.ts";
import { monthOf } from "../../store/audit/audit-log.ts";
import type { Store } from "../../store/store.ts";

export { parsePosition, type AuditPosition as Position };

/** One event of the audit log. */
export interface AuditEntry {
  /** Line number in the audit log (one line per command), and index of the event in it, from 0. */
  readonly seq: number;
  readonly part: number;
  readonly event: Event;
  /** Product of the event's license, also after its removal; null: none, or unknown. */
  readonly product: string | null;
}

export interface AuditQuery<T> {
  /** Null: start with the newest event. */
  readonly from: AuditPosition | null;
  /** Maximum number of entries. */
  readonly limit: number;
  /** `pick` returns null for every event before this time, so older months are not read. */
  readonly since: Instant | null;
  /** Converts an event to an entry; null: the event is not wanted. */
  readonly pick: (entry: AuditEntry) => T | null;
}

export interface AuditPage<T> {
  readonly entries: readonly T[];
  /** Where the next page starts; null: there are no older events. */
  readonly nextPosition: string | null;
  /** Time of the oldest line that was read. */
  readonly scannedUntil: Instant | null;
}

/** Maximum bytes to read for one page; a single longer line is still read. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** Share of its bytes that a skipped line (a renewal) counts: skipping is cheaper than parsing. */
const SKIPPED_LINE_WEIGHT = 1 / 8;

/** Reads the audit log. Everything it returns is already on disk. */
export class AuditLogReader {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Newest first. Every page makes progress, so repeated calls reach the beginning. */
  async readPage<T>({
    from,
    limit,
    since,
    pick,
  }: AuditQuery<T>): Promise<Result<AuditPage<T>, StorageFault | AuditLogDamagedFault>> {
    const snapshot = await this.#store.read((state) => ({
      source: this.#store.auditLogSource(),
      products: productsOf(state),
    }));
    if (!snapshot.ok) return snapshot;
    const { source, products } = snapshot.value;
    const end = positionBefore(source.lastSeq + 1);
    const start = from === null || from.auditSeq > end.auditSeq ? end : from;
    const page = new PageCollector(start, limit, (seq, part, event) =>
      pick({ seq, part, event, product: productOf(event, products) }),
    );
    const lines = readBackward(source, start, since === null ? "" : monthOf(since));
    try {
      for (;;) {
        const isComplete = await runBetweenRequests(() => page.addLines(lines));
        if (isComplete !== null) return ok(page.finish(isComplete));
      }
    } catch (error) {
      if (!(error instanceof AuditLineDamaged)) throw error;
      this.#store.auditHealth.noteUnreadableLine(error.auditSeq);
      // Entries found before the damage are returned; the next page then starts at the damage.
      if (page.isEmpty) return err({ code: "audit_log_damaged", line: error.auditSeq });
      return ok(page.finish(false));
    }
  }

  /** The stored lines, oldest first, in parts that may be empty. */
  async exportLines(range: TimeRange): Promise<Result<Iterator<Buffer>, StorageFault>> {
    const source = await this.#store.read(() => this.#store.auditLogSource());
    return source.ok ? ok(readForward(source.value, range)) : source;
  }
}

/** Collects the entries of a page, and the position up to which was read. */
class PageCollector<T> {
  readonly #limit: number;
  readonly #pick: (seq: number, part: number, event: Event) => T | null;
  readonly #entries: T[] = [];
  #position: AuditPosition;
  #readBytes = 0;
  #scannedUntil: Instant | null = null;

  constructor(
    start: AuditPosition,
    limit: number,
    pick: (seq: number, part: number, event: Event) => T | null,
  ) {
    this.#position = start;
    this.#limit = limit;
    this.#pick = pick;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /**
   * Reads for one step. True: the audit log was read to its beginning; false: the page is full;
   * null: continue.
   */
  addLines(lines: Iterator<LineRead>): boolean | null {
    const isOver = beginStep();
    do {
      const { done, value } = lines.next();
      if (done === true) return true;
      if (this.#add(value)) return false;
    } while (!isOver());
    return null;
  }

  /** True: the page is full. */
  #add({ line, size, writtenAt, journalSeq }: LineRead): boolean {
    this.#scannedUntil = writtenAt ?? this.#scannedUntil;
    this.#readBytes += line === null ? size * SKIPPED_LINE_WEIGHT : size;
    if (line === null) this.#position = { ...this.#position, journalSeq };
    else if (this.#addLine(line, journalSeq)) return true;
    return this.#readBytes >= MAX_PAGE_BYTES;
  }

  finish(isComplete: boolean): AuditPage<T> {
    const { auditSeq, eventIndex } = this.#position;
    const isFirst = auditSeq === 1 && eventIndex === 0;
    return {
      entries: this.#entries,
      nextPosition: isComplete || isFirst ? null : formatPosition(this.#position),
      scannedUntil: this.#scannedUntil,
    };
  }

  #addLine({ audit_seq: line = 0, events }: JournalLine, journalSeq: number): boolean {
    const first =
      line === this.#position.auditSeq
        ? Math.min(this.#position.eventIndex, events.length)
        : events.length;
    for (let part = first - 1; part >= 0; part -= 1) {
      const event = events[part];
      const picked = event ? this.#pick(line, part, event) : null;
      if (picked === null) continue;
      this.#entries.push(picked);
      if (this.#entries.length < this.#limit) continue;
      // The next page starts with the remaining events of this line.
      this.#position = {
        auditSeq: line,
        eventIndex: part,
        journalSeq: part === 0 ? journalSeq : journalSeq + 1,
      };
      return true;
    }
    this.#position = { auditSeq: line, eventIndex: 0, journalSeq };
    return false;
  }
}

type Products = ReadonlyMap<number, string>;

/** Products by license id, including returned licenses. */
const productsOf = ({ licenses, tombstones }: State): Products =>
  new Map([
    ...[...tombstones.values()].map(({ license, product }) => [license, product] as const),
    ...[...licenses.values()].map(({ id, terms }) => [id, terms.product] as const),
  ]);

function productOf(event: Event, products: Products): string | null {
  if (event.type === "LicenseInstalled") return event.terms.product;
  if (event.type === "RequestMade") return event.request.product;
  if (event.type === "RequestCancelled") return event.product;
  if (event.type === "RefusalsCounted" || event.type === "EpisodeEnded") return event.product;
  if ("place" in event || event.type === "ReservationRecalled") return event.product;
  return "license" in event ? (products.get(event.license) ?? null) : null;
}
