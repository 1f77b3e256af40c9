import { isAudited } from "../domain/audited-events.ts";
import type { Event } from "../domain/event.ts";
import { instant, type Instant } from "../domain/time.ts";
import { GENESIS, sha256 } from "../platform/hash.ts";

/**
 * One command's events as one line of the journal. Its last member, `sum`, is the SHA-256 of
 * everything before it: the line's checksum, and what the next line's `prev` points back to.
 */
export interface JournalLine {
  readonly seq: number;
  /** The first seq of the batch this line was written and synced with. */
  readonly from: number;
  readonly at: Instant;
  /** A chain of its own through the lines an auditor keeps; absent on renewals. */
  readonly audit_seq?: number;
  readonly audit_prev?: string;
  readonly events: readonly Event[];
  readonly prev: string;
  readonly sum: string;
}

/** Where the two chains stand. */
export interface ChainHead {
  readonly seq: number;
  readonly sum: string;
  readonly auditSeq: number;
  readonly auditSum: string;
}

export const genesisHead: ChainHead = { seq: 0, sum: GENESIS, auditSeq: 0, auditSum: GENESIS };

/** The text of the next line (with its line feed) and the head after it. */
export function encodeLine(
  head: ChainHead,
  from: number | null,
  at: Instant,
  events: readonly Event[],
): { readonly text: string; readonly head: ChainHead } {
  const seq = head.seq + 1;
  const audited = events.some(isAudited);
  const content = JSON.stringify({
    seq,
    from: from ?? seq,
    at,
    ...(audited && { audit_seq: head.auditSeq + 1, audit_prev: head.auditSum }),
    events,
    prev: head.sum,
  }).slice(0, -1);
  const sum = sha256(content);
  return { text: `${content},"sum":"${sum}"}\n`, head: makeHead(head, seq, sum, audited) };
}

const makeHead = (head: ChainHead, seq: number, sum: string, audited: boolean): ChainHead => ({
  seq,
  sum,
  auditSeq: audited ? head.auditSeq + 1 : head.auditSeq,
  auditSum: audited ? sum : head.auditSum,
});

const SUM = /^,"sum":"([0-9a-f]{64})"\}$/;
const SUM_LENGTH = `,"sum":"${GENESIS}"}`.length;

/** Null when the bytes are not exactly what `encodeLine` makes. */
export function decodeLine(bytes: Uint8Array<ArrayBuffer>): JournalLine | null {
  const end = bytes.length - SUM_LENGTH;
  if (end <= 0) return null;
  const sum = SUM.exec(text(bytes.subarray(end)))?.[1];
  if (sum === undefined || sha256(bytes.subarray(0, end)) !== sum) return null;
  // The checksum is right, so this is what was written: parsing cannot surprise us.
  return JSON.parse(text(bytes)) as JournalLine;
}

const text = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");

/** How a line begins. */
export interface LinePrefix {
  readonly seq: number;
  readonly from: number;
  readonly at: Instant;
  /** Null: it is not on the record. */
  readonly auditSeq: number | null;
}

const LINE_PREFIX =
  /^\{"seq":(\d{1,16}),"from":(\d{1,16}),"at":(-?\d{1,16}),(?:"audit_seq":(\d{1,16}),)?/;
const LINE_PREFIX_LENGTH = 128;

/**
 * For finding a line, at a tenth of the cost of reading it; says nothing about the rest of it. Null
 * when no line begins like this.
 */
export function parseLinePrefix(bytes: Uint8Array): LinePrefix | null {
  const found = LINE_PREFIX.exec(text(bytes.subarray(0, LINE_PREFIX_LENGTH)));
  if (found === null) return null;
  const [, seq, from, at, auditSeq] = found;
  return {
    seq: Number(seq),
    from: Number(from),
    at: instant(Number(at)),
    auditSeq: auditSeq === undefined ? null : Number(auditSeq),
  };
}

/** The head after `line`, or null when the line does not continue the chain. */
export function advanceChain(head: ChainHead, line: JournalLine): ChainHead | null {
  if (line.seq !== head.seq + 1 || line.prev !== head.sum || line.from > line.seq) return null;
  const audited = line.audit_seq !== undefined;
  if (audited && (line.audit_seq !== head.auditSeq + 1 || line.audit_prev !== head.auditSum)) {
    return null;
  }
  return makeHead(head, line.seq, line.sum, audited);
}

export interface JournalDamage {
  readonly offset: number;
  /** The seq that should have stood there. */
  readonly seq: number;
  /** True when this cannot be the torn tail of the last, unsynced batch. */
  readonly isCorruption: boolean;
}

export interface SegmentScan {
  readonly head: ChainHead;
  /** Where the last good line ends. */
  readonly end: number;
  readonly damage: JournalDamage | null;
}

const LF = 10;

/** Walks a segment from `head` on, handing over each good line with its raw bytes. */
export function scanSegment(
  bytes: Uint8Array<ArrayBuffer>,
  start: ChainHead,
  each: (line: JournalLine, raw: Uint8Array<ArrayBuffer>) => void,
): SegmentScan {
  let head = start;
  let offset = 0;
  while (offset < bytes.length) {
    const feed = bytes.indexOf(LF, offset);
    const line = feed < 0 ? null : decodeLine(bytes.subarray(offset, feed));
    const next = line && advanceChain(head, line);
    if (line === null || next === null) {
      const seq = head.seq + 1;
      // A whole line that does not chain was never the end of an interrupted write.
      const inside = line !== null || laterBatchFollows(bytes, offset, seq);
      return { head, end: offset, damage: { offset, seq, isCorruption: inside } };
    }
    each(line, bytes.subarray(offset, feed + 1));
    head = next;
    offset = feed + 1;
  }
  return { head, end: offset, damage: null };
}

/**
 * Lines of one unsynced batch may reach the disk out of order, so lines behind a bad one prove
 * nothing by themselves. But a batch is written only after the one before it was synced: a line of
 * a batch that began after the bad line means the bad line had been safe on disk once. The start of
 * such a line is proof enough: damage that reaches every line would else look like a torn tail.
 */
function laterBatchFollows(bytes: Uint8Array<ArrayBuffer>, offset: number, seq: number): boolean {
  // By how a line begins, not by where the one before ends: its line feed may be what is damaged.
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let from = buffer.indexOf(LINE_BEGINNING, offset);
  while (from >= 0) {
    const start = parseLinePrefix(bytes.subarray(from));
    if (start !== null && start.from > seq && start.from <= start.seq) return true;
    from = buffer.indexOf(LINE_BEGINNING, from + 1);
  }
  return false;
}

const LINE_BEGINNING = '{"seq":';
