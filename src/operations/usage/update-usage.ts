import { join } from "node:path";
import type { State } from "../../domain/model/state.ts";
import { instant } from "../../domain/time.ts";
import type { Disk } from "../../platform/files/disk.ts";
import {
  AuditLineDamaged,
  AuditLineLocator,
  type AuditLogSource,
} from "../../store/audit/line-locator.ts";
import { decodeForward } from "../../store/audit/read-forward.ts";
import { decodeAfter } from "./lines-after-position.ts";
import { USAGE_FOLDER } from "../../store/folder/files.ts";
import type { ChainHead, JournalLine } from "../../store/journal/journal.ts";
import { SiteRecordCollector } from "../../usage/collect-site-record.ts";
import { computeUsage } from "../../usage/compute-usage.ts";
import {
  captureEndedSlots,
  captureFinalState,
  type FinalState,
  type PoolSizes,
} from "../../usage/final-state.ts";
import type { KnownBefore } from "../../usage/recorded-line.ts";
import { keepUsageBefore, UsageTable } from "../../usage/usage-table.ts";
import {
  DEFAULT_USAGE_MONTHS,
  findOldestMonth,
  makeUsageFolder,
  readUsageFile,
  UsageDamaged,
  UsageWriter,
} from "./usage-files.ts";
import { RecordedLinesWriter } from "./recorded-lines.ts";
import {
  knownBefore,
  knownFields,
  readPosition,
  readSpans,
  spanFields,
  type UsagePosition,
} from "./usage-position.ts";

/** The state of a checkpoint, and the position of its chains. */
export interface CheckpointedState {
  readonly state: State;
  readonly head: ChainHead;
}

export interface UpdateOptions {
  /** Compute everything again. */
  readonly rebuilds?: boolean;
  /** Months to keep besides the current one. */
  readonly keepMonths?: number;
  /** Called now and then with the number of lines that were read. */
  readonly onProgress?: (lines: number) => void;
}

/** `busy`: another process updates the files; it or the next update writes what is missing. */
export type UpdateResult =
  { readonly kind: "busy" } | { readonly kind: "continued" | "rebuilt"; readonly lines: number };

/**
 * Brings the files of the folder `usage/` up to a checkpoint: from the line of the audit log that
 * they cover, or from the oldest kept line if they are missing, damaged or of another history.
 */
export async function updateUsage(
  disk: Disk,
  folder: string,
  checkpointed: CheckpointedState,
  options: UpdateOptions = {},
): Promise<UpdateResult> {
  await makeUsageFolder(disk, folder);
  const lock = disk.lock(join(folder, USAGE_FOLDER, LOCK_FILE));
  if (lock === null) return { kind: "busy" };
  try {
    const update = new UsageUpdate(disk, folder, checkpointed, options);
    const lines = options.rebuilds === true ? null : await update.tryContinue();
    if (lines !== null) return { kind: "continued", lines };
    return { kind: "rebuilt", lines: await update.rebuild() };
  } finally {
    lock.release();
  }
}

const LOCK_FILE = "lock";
/** After so many damaged lines, reading is given up. */
const MAX_DAMAGED_LINES = 1_000;

class UsageUpdate {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #head: ChainHead;
  readonly #state: State;
  readonly #final: FinalState;
  readonly #sizes: PoolSizes;
  readonly #source: AuditLogSource;
  readonly #position: UsagePosition | null;
  readonly #onProgress: (lines: number) => void;
  readonly #keepMonths: number;

  constructor(
    disk: Disk,
    folder: string,
    { state, head }: CheckpointedState,
    { onProgress = () => {}, keepMonths = DEFAULT_USAGE_MONTHS }: UpdateOptions,
  ) {
    this.#disk = disk;
    this.#folder = folder;
    this.#head = head;
    this.#state = state;
    ({ final: this.#final, sizes: this.#sizes } = captureEndedSlots(state, state.latestEventAt));
    const { seq: coveredSeq, auditSeq: lastSeq } = head;
    this.#source = { disk, folder, coveredSeq, lastSeq, gaps: state.auditGaps };
    this.#position = readPosition(disk, folder);
    this.#onProgress = onProgress;
    this.#keepMonths = keepMonths;
  }

  /** Counts the lines since the last update; null: everything has to be counted again. */
  async tryContinue(): Promise<number | null> {
    const position = this.#position;
    if (position === null) return null;
    try {
      const collector = new SiteRecordCollector(position.until, knownBefore(position));
      const writer = new UsageWriter(this.#disk, this.#folder, position, position.newest_file);
      const rows = new RecordedLinesWriter(writer, position.lines);
      let lines = 0;
      for (const line of decodeAfter(this.#source, position)) {
        if (line === null) continue;
        collector.addLine(line);
        await rows.add(line);
        lines += 1;
      }
      if (collector.hasSetBack || collector.needsOlderLines) return null;
      if (lines === 0 && position.until === this.#final.now) return 0;
      const untouched = collector.listUntouched(this.#final, this.#sizes);
      const table = computeUsage(collector.finish(this.#final), untouched);
      const spans = readSpans(position);
      spans.addTable(table);
      await writer.append(table);
      await this.#commit(writer, rows, spans, collector.listKnown(this.#final));
      return lines;
    } catch (error) {
      if (error instanceof UsageDamaged || error instanceof AuditLineDamaged) return null;
      throw error;
    }
  }

  async rebuild(): Promise<number> {
    const newestFile = this.#position?.newest_file ?? this.#findNewestFile();
    const writer = new UsageWriter(this.#disk, this.#folder, null, newestFile);
    const rows = new RecordedLinesWriter(writer, []);
    let lines = 0;
    let collector = new SiteRecordCollector();
    let first = null as JournalLine | null;
    let [nextSeq, damaged] = [1, 0];
    for (;;) {
      try {
        for (const line of decodeForward(this.#source, { auditSeq: nextSeq })) {
          if (line === null) continue;
          first ??= line;
          collector.addLine(line);
          await rows.add(line);
          lines += 1;
          if (lines % PROGRESS_LINES === 0) this.#onProgress(lines);
        }
        break;
      } catch (error) {
        damaged += 1;
        if (!(error instanceof AuditLineDamaged) || damaged > MAX_DAMAGED_LINES) throw error;
        // What is known begins after the damage. Older figures stay, if there are any.
        nextSeq = error.auditSeq + 1;
        collector = new SiteRecordCollector();
        rows.restart();
        first = null;
      }
    }
    const table = first === null ? new UsageTable() : this.#readOlderUsage(first);
    const final = captureFinalState(this.#state, this.#final.now);
    table.addTable(computeUsage(collector.finish(final)));
    await writer.append(table);
    await this.#commit(writer, rows, table, collector.listKnown(final));
    return lines;
  }

  /** What the files say of the time before the oldest kept line. */
  #readOlderUsage({ audit_seq: auditSeq, at: before }: JournalLine): UsageTable {
    if (this.#position === null || auditSeq === 1) return new UsageTable();
    try {
      const older = readSpans(this.#position);
      for (const file of this.#position.files) {
        readUsageFile(this.#disk, this.#folder, file, older);
      }
      return keepUsageBefore(older, before);
    } catch (error) {
      if (error instanceof UsageDamaged) return new UsageTable();
      throw error;
    }
  }

  async #commit(
    writer: UsageWriter,
    rows: RecordedLinesWriter,
    spans: UsageTable,
    known: KnownBefore,
  ): Promise<void> {
    const { now: until } = this.#final;
    const oldestMonth = findOldestMonth(until, this.#keepMonths);
    await writer.compact(until, oldestMonth);
    const oldest = instant(Date.parse(`${oldestMonth}-01T00:00:00Z`));
    await writer.commit({
      audit_seq: this.#head.auditSeq,
      audit_sum: this.#head.auditSum,
      until,
      lines: [...(await rows.finish(new AuditLineLocator(this.#source)))],
      ...spanFields(spans, oldest),
      ...knownFields(known),
    });
  }

  /** A file of a lost position must not get the name of a new one. */
  #findNewestFile(): number {
    const numbers = this.#disk
      .list(join(this.#folder, USAGE_FOLDER))
      .map((name) => Number(/-(\d+)\.jsonl$/.exec(name)?.[1] ?? 0));
    return Math.max(0, ...numbers);
  }
}

const PROGRESS_LINES = 10_000;
