import { findGap } from "../../domain/audit/audit-gaps.ts";
import type { Instant } from "../../domain/time.ts";
import {
  decodeLine,
  parseLinePrefix,
  type JournalLine,
  type LinePrefix,
} from "../journal/journal.ts";
import { readLinesForward } from "../journal/line-reader.ts";
import { monthOf } from "./audit-log.ts";
import { AuditLineDamaged, AuditLineLocator, type AuditLogSource } from "./line-locator.ts";
import { findEndOfMatches } from "./line-search.ts";

/** When lines were written; null: from the beginning, to the end. */
export interface TimeRange {
  readonly since: Instant | null;
  readonly until: Instant | null;
}

const PART_BYTES = 256 * 1024;
/** After so many bytes, waiting requests are served. */
const SLICE_BYTES = 128 * 1024;
const LF = Buffer.from("\n");

/**
 * The raw lines of the audit log, oldest first, in parts. A part may be empty where many lines were
 * skipped. Begins with the first line written at `since` or later, and ends before the first line
 * written after `until`. The result is a chain whose only gaps are declared ones;
 * `checkAuditExport` checks that it is undamaged.
 */
export function* readForward(
  source: AuditLogSource,
  { since, until }: TimeRange,
): Generator<Buffer> {
  let hasStarted = false;
  let chunks: Uint8Array[] = [];
  let size = 0;
  for (const { bytes, writtenAt } of new ForwardReader(source, since).readLines()) {
    if (writtenAt !== null) {
      hasStarted ||= since === null || writtenAt >= since;
      if (hasStarted && until !== null && writtenAt > until) break;
      if (hasStarted) chunks.push(bytes, LF);
    }
    size += bytes.length + 1;
    if (size < PART_BYTES) continue;
    yield Buffer.concat(chunks);
    chunks = [];
    size = 0;
  }
  yield Buffer.concat(chunks);
}

/** Where decoding begins: with a line by its number, or in the month of an instant. */
export type ForwardStart = { readonly auditSeq: number } | { readonly since: Instant | null };

/** What a reader does about a line that it cannot read: it throws `AuditLineDamaged`, or goes on. */
export type OnDamage = "throw" | "skip";

/**
 * The audit log, oldest line first, decoded. Null comes after every 128 KiB, so that a server can
 * serve requests. Begins with the oldest kept line if the wanted one is older. The numbers of the
 * lines show what was skipped.
 */
export function* decodeForward(
  source: AuditLogSource,
  start: ForwardStart,
  onDamage: OnDamage = "throw",
): Generator<JournalLine | null> {
  const since = "since" in start ? start.since : null;
  const reader = new ForwardReader(source, since, onDamage);
  if ("auditSeq" in start) reader.nextSeq = Math.max(reader.nextSeq, start.auditSeq);
  let size = 0;
  for (const { bytes, writtenAt } of reader.readLines()) {
    if (writtenAt !== null) {
      const line = decodeLine(bytes);
      if (line !== null) yield line;
      else if (onDamage === "throw") throw new AuditLineDamaged(reader.nextSeq - 1);
    }
    size += bytes.length + 1;
    if (size < SLICE_BYTES) continue;
    size = 0;
    yield null;
  }
}

/** The number of the line with which `decodeForward` begins. */
export const findFirstLine = (
  source: AuditLogSource,
  since: Instant | null,
  onDamage: OnDamage,
): number => new ForwardReader(source, since, onDamage).nextSeq;

interface VisitedLine {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** When it was written; null: it is not the next line. */
  readonly writtenAt: Instant | null;
}

const MAX_STALLED_READS = 3;
/** Stands for so many bytes that were read. */
const SLICE = new Uint8Array(SLICE_BYTES);

/** Reads forward from file to file, and through the journal where the audit files end. */
class ForwardReader {
  readonly #source: AuditLogSource;
  #locator: AuditLineLocator;
  readonly #onDamage: OnDamage;
  /** The last journal line that was read. */
  #lastJournalSeq = 0;
  nextSeq: number;

  constructor(source: AuditLogSource, since: Instant | null, onDamage: OnDamage = "throw") {
    this.#source = source;
    this.#onDamage = onDamage;
    this.#locator = this.#createLocator();
    const { auditFiles } = this.#locator;
    const month = since === null ? "" : monthOf(since);
    const index = auditFiles.findIndex(({ name }) => name >= month);
    const first = auditFiles[index] ?? auditFiles.at(-1);
    this.nextSeq = first?.firstSeq ?? 1;
    const previous = auditFiles[index - 1];
    // With a line before the first one: else nothing would show that the first ones are missing.
    if (onDamage === "skip" && previous !== undefined)
      this.nextSeq = this.#hasLine(this.nextSeq - 1) ? this.nextSeq - 1 : previous.firstSeq;
  }

  #createLocator = (): AuditLineLocator =>
    new AuditLineLocator(this.#source, this.#onDamage === "skip");

  #hasLine(auditSeq: number): boolean {
    const isDeclared = findGap(this.#source.gaps, auditSeq) !== null;
    return isDeclared || this.#locator.findInAuditFiles(auditSeq) !== null;
  }

  *readLines(): Generator<VisitedLine> {
    for (let stalledReads = 0; this.nextSeq <= this.#source.lastSeq;) {
      const gap = findGap(this.#source.gaps, this.nextSeq);
      if (gap !== null) {
        this.nextSeq = gap.to + 1;
        continue;
      }
      const progressBefore = `${this.nextSeq} ${this.#lastJournalSeq}`;
      yield* this.#readFile();
      stalledReads =
        `${this.nextSeq} ${this.#lastJournalSeq}` === progressBefore ? stalledReads + 1 : 0;
      // The folder changes while it is read, so a read is retried; real damage fails every time.
      this.#locator = this.#createLocator();
      if (stalledReads < MAX_STALLED_READS) continue;
      if (this.#onDamage === "throw") throw new AuditLineDamaged(this.nextSeq);
      this.nextSeq = this.#findReadableLine() ?? Infinity;
      stalledReads = 0;
      // The search may have taken long: other requests are served.
      yield { bytes: SLICE, writtenAt: null };
    }
  }

  /** The number of the first line from the next one on that can be read; null: there is none. */
  #findReadableLine(): number | null {
    const { disk, lastSeq } = this.#source;
    for (const { path, from, end } of this.#listPlacesToSearch()) {
      for (const { bytes, isComplete } of readLinesForward(disk, path, from, end)) {
        const auditSeq = isComplete ? parseLinePrefix(bytes)?.auditSeq : null;
        if (auditSeq != null && auditSeq > this.nextSeq && auditSeq <= lastSeq) return auditSeq;
      }
    }
    return null;
  }

  /** In the order of their lines; the journal is last. */
  *#listPlacesToSearch(): Generator<{ path: string; from: number; end: number }> {
    const { disk } = this.#source;
    const { auditFiles, segments } = this.#locator;
    const isBefore = ({ auditSeq }: LinePrefix): boolean => (auditSeq ?? 0) <= this.nextSeq;
    const index = auditFiles.findLastIndex(({ firstSeq }) => firstSeq <= this.nextSeq);
    for (const file of auditFiles.slice(Math.max(0, index))) {
      const end = this.#locator.findEndOfFile(file);
      yield { path: file.path, from: findEndOfMatches(disk, file.path, end, isBefore), end };
    }
    for (const segment of segments) {
      yield { path: segment.path, from: 0, end: this.#locator.getSize(segment) };
    }
  }

  /** Reads the next lines from one file. */
  *#readFile(): Generator<VisitedLine> {
    const { disk, lastSeq, gaps } = this.#source;
    const { path, from, end } = this.#locateNext();
    for (const { bytes, isComplete } of readLinesForward(disk, path, from, end)) {
      const start = isComplete ? parseLinePrefix(bytes) : null;
      if (start === null && this.#onDamage === "skip") continue;
      if (start === null || (start.auditSeq ?? 0) > this.nextSeq) return;
      this.#lastJournalSeq = start.seq;
      const isWanted = start.auditSeq === this.nextSeq;
      if (isWanted) this.nextSeq += 1;
      yield { bytes, writtenAt: isWanted ? start.at : null };
      if (this.nextSeq > lastSeq || (isWanted && findGap(gaps, this.nextSeq) !== null)) return;
    }
  }

  #locateNext(): { readonly path: string; readonly from: number; readonly end: number } {
    const { disk } = this.#source;
    const found = this.#locator.findInAuditFiles(this.nextSeq);
    if (found !== null) {
      const { path } = found.file;
      const isBefore = ({ auditSeq }: LinePrefix): boolean => (auditSeq ?? 0) < this.nextSeq;
      const end = this.#locator.findEndOfFile(found.file);
      return { path, from: findEndOfMatches(disk, path, found.end, isBefore), end };
    }
    const segment = this.#locator.findSegmentAfter(this.#lastJournalSeq);
    if (segment === null) throw new AuditLineDamaged(this.nextSeq);
    const { path } = segment;
    const end = this.#locator.getSize(segment);
    const isPassed = ({ seq }: LinePrefix): boolean => seq <= this.#lastJournalSeq;
    return { path, from: findEndOfMatches(disk, path, end, isPassed), end };
  }
}
