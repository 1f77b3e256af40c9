import { isAudited } from "../../domain/event-catalogue.ts";
import type { Event } from "../../domain/model/event.ts";
import { instant, type Instant } from "../../domain/time.ts";
import { GENESIS, sha256 } from "../../platform/crypto/hash.ts";

/**
 * The events of one command as one line of the journal, or those of several heartbeats of one
 * batch. Its last member, `sum`, is the SHA-256 of everything before it: the line's checksum, and
 * the value of the next line's `prev`.
 */
export interface JournalLine {
  readonly seq: number;
  /** The first seq of the batch this line was written and synced with. */
  readonly from: number;
  readonly at: Instant;
  /** A separate chain through the audited lines; absent on renewals. */
  readonly audit_seq?: number;
  readonly audit_prev?: string;
  readonly events: readonly Event[];
  readonly prev: string;
  readonly sum: string;
}

/** The position of the two chains. */
export interface ChainHead {
  readonly seq: number;
  readonly sum: string;
  readonly auditSeq: number;
  readonly auditSum: string;
}

export const genesisHead: ChainHead = { seq: 0, sum: GENESIS, auditSeq: 0, auditSum: GENESIS };

/** The text of the next line, with its line feed, and the head after it. */
export function encodeLine(
  head: ChainHead,
  from: number | null,
  at: Instant,
  events: readonly Event[],
): { readonly text: string; readonly head: ChainHead } {
  const seq = head.seq + 1;
  const isAuditedLine = events.some(isAudited);
  const audit = isAuditedLine
    ? `"audit_seq":${head.auditSeq + 1},"audit_prev":"${head.auditSum}",`
    : "";
  // Only the events can contain what must be escaped.
  const content =
    `{"seq":${seq},"from":${from ?? seq},"at":${at},${audit}` +
    `"events":${JSON.stringify(events)},"prev":"${head.sum}"`;
  const sum = sha256(content);
  return { text: `${content},"sum":"${sum}"}\n`, head: makeHead(head, seq, sum, isAuditedLine) };
}

const makeHead = (
  head: ChainHead,
  seq: number,
  sum: string,
  isAuditedLine: boolean,
): ChainHead => ({
  seq,
  sum,
  auditSeq: isAuditedLine ? head.auditSeq + 1 : head.auditSeq,
  auditSum: isAuditedLine ? sum : head.auditSum,
});

const SUM_BEGINNING = ',"sum":"';
const SUM_END = '"}';
const SUM_LENGTH = SUM_BEGINNING.length + GENESIS.length + SUM_END.length;

/** Null if the bytes are not exactly what `encodeLine` writes. */
export function decodeLine(bytes: Uint8Array<ArrayBuffer>): JournalLine | null {
  const end = bytes.length - SUM_LENGTH;
  if (end <= 0) return null;
  const text = decodeText(bytes);
  const hasSum = text.startsWith(SUM_BEGINNING, text.length - SUM_LENGTH) && text.endsWith(SUM_END);
  const sum = text.slice(SUM_BEGINNING.length - SUM_LENGTH, -SUM_END.length);
  if (!hasSum || sha256(bytes.subarray(0, end)) !== sum) return null;
  // The checksum is correct, so these are the bytes that were written: parsing cannot fail.
  return JSON.parse(text) as JournalLine;
}

const decodeText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");

/** The first fields of a line. */
export interface LinePrefix {
  readonly seq: number;
  readonly from: number;
  readonly at: Instant;
  /** Null: the line is not audited. */
  readonly auditSeq: number | null;
}

const LINE_PREFIX =
  /^\{"seq":(\d{1,16}),"from":(\d{1,16}),"at":(-?\d{1,16}),(?:"audit_seq":(\d{1,16}),)?/;
const LINE_PREFIX_LENGTH = 128;

/**
 * For finding a line, at a tenth of the cost of decoding it; says nothing about the rest of the
 * line. Null: no line begins like this.
 */
export function parseLinePrefix(bytes: Uint8Array): LinePrefix | null {
  const match = LINE_PREFIX.exec(decodeText(bytes.subarray(0, LINE_PREFIX_LENGTH)));
  if (match === null) return null;
  const [, seq, from, at, auditSeq] = match;
  return {
    seq: Number(seq),
    from: Number(from),
    at: instant(Number(at)),
    auditSeq: auditSeq === undefined ? null : Number(auditSeq),
  };
}

/** The head after `line`; null: the line does not continue the chain. */
export function advanceChain(head: ChainHead, line: JournalLine): ChainHead | null {
  if (line.seq !== head.seq + 1 || line.prev !== head.sum || line.from > line.seq) return null;
  const isAuditedLine = line.audit_seq !== undefined;
  if (
    isAuditedLine &&
    (line.audit_seq !== head.auditSeq + 1 || line.audit_prev !== head.auditSum)
  ) {
    return null;
  }
  return makeHead(head, line.seq, line.sum, isAuditedLine);
}

export interface JournalDamage {
  readonly offset: number;
  /** The seq of the line that is expected there. */
  readonly seq: number;
  /** True if this cannot be the torn tail of the last, unsynced batch. */
  readonly isCorruption: boolean;
}

export interface SegmentScan {
  readonly head: ChainHead;
  /** Where the last good line ends. */
  readonly end: number;
  readonly damage: JournalDamage | null;
}

const LF = 10;

/**
 * Reads a segment that continues `start`, and calls `each` for every valid line with its raw bytes.
 */
export function scanSegment(
  bytes: Uint8Array<ArrayBuffer>,
  start: ChainHead,
  each: (line: JournalLine, raw: Uint8Array<ArrayBuffer>) => void,
): SegmentScan {
  let head = start;
  let offset = 0;
  while (offset < bytes.length) {
    const lineEnd = bytes.indexOf(LF, offset);
    const line = lineEnd < 0 ? null : decodeLine(bytes.subarray(offset, lineEnd));
    const next = line && advanceChain(head, line);
    if (line === null || next === null) {
      const seq = head.seq + 1;
      // A complete line that does not continue the chain cannot be the end of an interrupted write.
      const isCorruption = line !== null || hasLaterBatch(bytes, offset, seq);
      return { head, end: offset, damage: { offset, seq, isCorruption } };
    }
    each(line, bytes.subarray(offset, lineEnd + 1));
    head = next;
    offset = lineEnd + 1;
  }
  return { head, end: offset, damage: null };
}

/**
 * Lines of one unsynced batch may reach the disk out of order, so lines after a bad one prove
 * nothing by themselves. But a batch is written only after the one before it was synced: a line of
 * a batch that began after the bad line means that the bad line had been safe on disk once. The
 * beginning of such a line is proof enough: otherwise damage in every line would look like a torn
 * tail.
 */
function hasLaterBatch(bytes: Uint8Array<ArrayBuffer>, offset: number, seq: number): boolean {
  // Searches for line beginnings, not for line feeds: the line feed may be what is damaged.
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let index = buffer.indexOf(LINE_BEGINNING, offset);
  while (index >= 0) {
    const prefix = parseLinePrefix(bytes.subarray(index));
    if (prefix !== null && prefix.from > seq && prefix.from <= prefix.seq) return true;
    index = buffer.indexOf(LINE_BEGINNING, index + 1);
  }
  return false;
}

const LINE_BEGINNING = '{"seq":';
