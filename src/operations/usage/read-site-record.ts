import { findGap } from "../../domain/audit/audit-gaps.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { earliest, type Instant } from "../../domain/time.ts";
import type { AuditLogDamagedFault } from "../../faults/fault-types.ts";
import { runBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";
import {
  AuditLineDamaged,
  AuditLineLocator,
  type AuditLogSource,
} from "../../store/audit/line-locator.ts";
import { decodeForward, type OnDamage } from "../../store/audit/read-forward.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import { SiteRecordCollector } from "../../usage/collect-site-record.ts";
import { cutSiteRecord } from "../../usage/cut-site-record.ts";
import { captureFinalState } from "../../usage/final-state.ts";
import type { RecordedLine } from "../../usage/recorded-line.ts";
import type { SiteRecord } from "../../usage/site-record.ts";
import { decodeRecorded } from "./recorded-lines.ts";
import { UsageDamaged } from "./usage-files.ts";
import type { SiteHistory } from "./site-history.ts";

/**
 * Reads the record of a site from its audit log, from the first line at `from` to now; null: from
 * the oldest kept line. Requests are served while it reads. Damaged lines are skipped, and the
 * record says which, or they refuse the whole record.
 */
export async function readSiteRecord(
  history: SiteHistory,
  from: Instant | null,
  onDamage: OnDamage = "throw",
): Promise<Result<SiteRecord, StorageFault | AuditLogDamagedFault>> {
  try {
    return await tryWithRows(history, { from, onDamage, decode: decodeRecorded });
  } catch (error) {
    if (!(error instanceof AuditLineDamaged)) throw error;
    history.noteUnreadableLine(error.auditSeq);
    return err({ code: "audit_log_damaged", line: error.auditSeq });
  }
}

const PROGRESS_LINES = 10_000;

type RecordResult = Result<SiteRecord, StorageFault>;

interface ReadOptions {
  readonly from: Instant | null;
  readonly onDamage: OnDamage;
  readonly decode: typeof decodeRecorded;
}

/** An update may replace the rows while they are read; the audit log itself has all lines. */
async function tryWithRows(history: SiteHistory, options: ReadOptions): Promise<RecordResult> {
  try {
    return await readEnoughLines(history, options);
  } catch (error) {
    if (!(error instanceof UsageDamaged)) throw error;
    return readEnoughLines(history, { ...options, decode: decodeAuditLog });
  }
}

const decodeAuditLog: typeof decodeRecorded = (source, since, onDamage) =>
  decodeForward(source, { since }, onDamage);

async function readEnoughLines(history: SiteHistory, options: ReadOptions): Promise<RecordResult> {
  const result =
    (await tryReadSiteRecord(history, options, false)) ??
    (await tryReadSiteRecord(history, options, true));
  if (result === null) throw new Error("the whole audit log was read, and more is wanted");
  return result;
}

/** Null: older lines are needed. */
async function tryReadSiteRecord(
  history: SiteHistory,
  { from, onDamage, decode }: ReadOptions,
  readsAll: boolean,
): Promise<RecordResult | null> {
  const end = await history.read((state, { at: now }) => ({
    source: history.auditLogSource(),
    final: captureFinalState(state, now),
  }));
  if (!end.ok) return end;
  const { source, final } = end.value;
  let collector = new SiteRecordCollector();
  let isFirst = true;
  /** Where the wanted part of the record begins; null: not reached. */
  let start: { readonly at: Instant; readonly clockPeriod: number } | null = null;
  const lines = decode(source, readsAll ? null : from, onDamage);
  let firstSeq: number | null = null;
  await addLinesBetweenRequests(lines, (line) => {
    const { audit_seq: auditSeq = 0 } = line;
    firstSeq ??= auditSeq;
    if (auditSeq % PROGRESS_LINES === 0)
      history.noteProgress((auditSeq - firstSeq) / (source.lastSeq - firstSeq + 1));
    // Nothing happened between `from` and a later first line, if the line before it is kept.
    const isKnownFrom = isFirst && from !== null && from < line.at && hasLineBefore(source, line);
    if (isKnownFrom) collector = new SiteRecordCollector(from);
    isFirst = false;
    collector.addLine(line);
    if (from === null || start !== null || line.at < from) return;
    start = { at: from, clockPeriod: collector.clockPeriodIndex };
  });
  collector.endWithout(source.lastSeq, final.now);
  const needsOlder = collector.needsOlderLines || collector.needsOlderRules;
  if (needsOlder && !readsAll && from !== null) return null;
  const record = collector.finish(final);
  noteDamage(history, source, record);
  if (from === null || from <= record.from) return ok(record);
  const clockPeriod = record.clockPeriods.length - 1;
  return ok(cutSiteRecord(record, start ?? { at: earliest(from, final.now), clockPeriod }));
}

/** Lines that were declared missing are known. */
function noteDamage(history: SiteHistory, { gaps }: AuditLogSource, { missing }: SiteRecord): void {
  for (const { firstLine, lastLine } of missing) {
    let line = firstLine;
    for (let gap = findGap(gaps, line); gap !== null; gap = findGap(gaps, line)) line = gap.to + 1;
    if (line <= lastLine) return history.noteUnreadableLine(line);
  }
}

/** Whether the line before this one is kept: it is in the file of an earlier month. */
function hasLineBefore(source: AuditLogSource, { audit_seq: auditSeq = 1 }: RecordedLine): boolean {
  const [oldest] = new AuditLineLocator(source).auditFiles;
  if (oldest === undefined || oldest.firstSeq >= auditSeq) return false;
  return findGap(source.gaps, auditSeq - 1) === null;
}

/** Calls `add` with each line; null among the lines is a pause for requests. */
export async function addLinesBetweenRequests<Line extends RecordedLine>(
  lines: Iterator<Line | null>,
  add: (line: Line) => void,
): Promise<void> {
  const addSlice = (): boolean => {
    for (;;) {
      const { done, value: line } = lines.next();
      if (done === true) return true;
      if (line === null) return false;
      add(line);
    }
  };
  while (!(await runBetweenRequests(addSlice)));
}
