import { err, ok, type Result } from "../../domain/result.ts";
import type { Instant } from "../../domain/time.ts";
import type { AuditLogDamagedFault, MaintenanceFault } from "../../faults/fault-types.ts";
import { runBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";
import { AuditLineDamaged, type AuditLogSource } from "../../store/audit/line-locator.ts";
import { decodeForward } from "../../store/audit/read-forward.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { Store } from "../../store/store.ts";
import { SiteRecordCollector } from "../../usage/collect-site-record.ts";
import { computeUsage } from "../../usage/compute-usage.ts";
import {
  captureEndedSlots,
  captureFinalState,
  type FinalState,
  type PoolSizes,
} from "../../usage/final-state.ts";
import type { TimeSpan } from "../../usage/time-span.ts";
import { UsageTable } from "../../usage/usage-table.ts";
import { decodeAfter } from "./lines-after-position.ts";
import { rebuildUsage, type RebuiltUsage } from "./rebuild-usage.ts";
import { addLinesBetweenRequests } from "./read-site-record.ts";
import { filterFiles, readUsageFile, UsageDamaged } from "./usage-files.ts";
import { UsageUpdates } from "./usage-updates.ts";
import { knownBefore, readPosition, readSpans, type UsagePosition } from "./usage-position.ts";

/** Usage until now: of the wanted span at least, and perhaps of more. */
export interface UsageRead {
  readonly now: Instant;
  readonly table: UsageTable;
}

type UsageResult = Result<UsageRead, StorageFault | AuditLogDamagedFault>;

/** The lines since the newest update of the files, as far as they were read. */
interface RecentLines {
  /** What they follow; null: they are the whole audit log. */
  readonly position: UsagePosition | null;
  readonly collector: SiteRecordCollector;
  nextSeq: number;
  /** The sum of the last one. */
  lastSum: string;
}

interface StoreEnd {
  readonly source: AuditLogSource;
  readonly final: FinalState;
  /** Null: `final` lists all held slots. */
  readonly sizes: PoolSizes | null;
}

/** A longer audit log is counted in a process of its own. */
const MAX_LINES_IN_SERVER = 50_000;

/** Reads usage from the files, and what is newer from the audit log. */
export class UsageReader {
  readonly #store: Store;
  readonly #updates: UsageUpdates;
  #recent: RecentLines | null = null;
  #lastRead: Promise<unknown> = Promise.resolve();

  constructor(store: Store, updates = new UsageUpdates()) {
    this.#store = store;
    this.#updates = updates;
  }

  /** The time of the appliance. */
  readTime(): Promise<Result<Instant, StorageFault>> {
    return this.#store.read((_state, { at }) => at);
  }

  rebuild(): Promise<Result<RebuiltUsage, StorageFault | MaintenanceFault>> {
    return rebuildUsage(this.#store, this.#updates);
  }

  /** One read at a time: they share the lines that were read. */
  read(span: TimeSpan): Promise<UsageResult> {
    const result = this.#lastRead.then(() => this.#read(span));
    this.#lastRead = result.catch(() => {});
    return result;
  }

  async #read(span: TimeSpan): Promise<UsageResult> {
    try {
      const result = await this.#tryRead(span, false);
      if (result !== null) return result;
      // The files are missing, or not enough to go on from. A checkpoint writes them anew.
      if (this.#store.status().auditSeq > MAX_LINES_IN_SERVER) {
        await this.#store.checkpoint();
        const next = await this.#tryRead(span, false);
        if (next !== null) return next;
      }
      return (await this.#tryRead(span, true)) ?? err({ code: "audit_log_damaged", line: 1 });
    } catch (error) {
      this.#recent = null;
      if (!(error instanceof AuditLineDamaged)) throw error;
      this.#store.auditHealth.noteUnreadableLine(error.auditSeq);
      return err({ code: "audit_log_damaged", line: error.auditSeq });
    }
  }

  /** Null: the files cannot be used. `readsAll`: they are not wanted. */
  async #tryRead(span: TimeSpan, readsAll: boolean): Promise<UsageResult | null> {
    const end = await this.#store.read((state, { at: now }) => ({
      source: this.#store.auditLogSource(),
      ...(readsAll
        ? { final: captureFinalState(state, now), sizes: null }
        : captureEndedSlots(state, now)),
    }));
    if (!end.ok) return end;
    const { disk, folder } = end.value.source;
    const position = readsAll ? null : readPosition(disk, folder);
    if (position === null && !readsAll) return null;
    try {
      return await this.#readFrom(position, end.value, span);
    } catch (error) {
      if (!(error instanceof UsageDamaged)) throw error;
      // An update may have replaced the files since the position was read.
      const isReplaced = readPosition(disk, folder)?.newest_file !== position?.newest_file;
      return isReplaced ? this.#tryRead(span, false) : null;
    }
  }

  async #readFrom(
    position: UsagePosition | null,
    { source, final, sizes }: StoreEnd,
    span: TimeSpan,
  ): Promise<UsageResult | null> {
    const recent = await this.#readRecentLines(position, source);
    const { collector } = recent;
    if (position !== null && (collector.hasSetBack || collector.needsOlderLines)) return null;
    const table = position === null ? new UsageTable() : readSpans(position);
    for (const file of position === null ? [] : filterFiles(position, span.from, span.to)) {
      await runBetweenRequests(() => readUsageFile(source.disk, source.folder, file, table));
    }
    const untouched = sizes === null ? [] : collector.listUntouched(final, sizes);
    table.addTable(
      await runBetweenRequests(() => computeUsage(collector.finish(final), untouched)),
    );
    return ok({ now: final.now, table });
  }

  async #readRecentLines(
    position: UsagePosition | null,
    source: AuditLogSource,
  ): Promise<RecentLines> {
    const recent = this.#findRecentLines(position, source) ?? startAfter(position);
    this.#recent = recent;
    const start = { audit_seq: recent.nextSeq - 1, audit_sum: recent.lastSum };
    const isFirst = recent.nextSeq === 1 || (position === null && recent.lastSum === "");
    const lines = isFirst ? decodeForward(source, { auditSeq: 1 }) : decodeAfter(source, start);
    await addLinesBetweenRequests(lines, (line) => {
      recent.collector.addLine(line);
      recent.lastSum = line.sum;
      recent.nextSeq = (line.audit_seq ?? 0) + 1;
    });
    return recent;
  }

  /** The lines that were read before, if they still belong to the files and to the audit log. */
  #findRecentLines(
    position: UsagePosition | null,
    { lastSeq }: AuditLogSource,
  ): RecentLines | null {
    const recent = this.#recent;
    if (recent === null || recent.nextSeq > lastSeq + 1) return null;
    const isSame = recent.position?.audit_sum === position?.audit_sum;
    return isSame && recent.position?.until === position?.until ? recent : null;
  }
}

const startAfter = (position: UsagePosition | null): RecentLines =>
  position === null
    ? { position, collector: new SiteRecordCollector(), nextSeq: 1, lastSum: "" }
    : {
        position,
        collector: new SiteRecordCollector(position.until, knownBefore(position)),
        nextSeq: position.audit_seq + 1,
        lastSum: position.audit_sum,
      };
