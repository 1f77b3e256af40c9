import { listUnrecorded } from "../../domain/model/demand/episode.ts";
import { limits } from "../../domain/model/limits.ts";
import { ok, type Result } from "../../domain/result.ts";
import { DAY, earliest, later, startOfDay, type Instant } from "../../domain/time.ts";
import type { AuditLogDamagedFault } from "../../faults/fault-types.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { SiteRecord } from "../../usage/site-record.ts";
import {
  computeStatementFigures,
  type DayRange,
  type StatementFigures,
} from "../../usage/statement/statement-figures.ts";
import { readSiteRecord } from "../usage/read-site-record.ts";
import type { SiteHistory } from "../usage/site-history.ts";

/** The days that the next statement for a vendor may cover. */
export interface StatementRequest {
  readonly vendor: string;
  /** The end of the last statement; null: this is the first one. */
  readonly next: Instant | null;
  /** The end of the last whole day. */
  readonly end: Instant;
  /** Fewer than usual, if their figures do not fit into a document. */
  readonly maxDays: number;
}

export interface StatementUsage {
  /** The first day; null: the vendor had no license since the last statement. */
  readonly from: Instant | null;
  /** Null: no whole day has passed since the first one. */
  readonly covered: { readonly range: DayRange; readonly figures: StatementFigures } | null;
}

export const USUAL_DAYS = limits.statementDays;

/** What was used of a vendor's licenses in the days of the next statement. */
export async function computeStatementUsage(
  history: SiteHistory,
  { vendor, next, end, maxDays }: StatementRequest,
): Promise<Result<StatementUsage, StorageFault | AuditLogDamagedFault>> {
  const openEpisodes = await history.read(listUnrecorded);
  if (!openEpisodes.ok) return openEpisodes;
  const record = await readSiteRecord(history, next);
  if (!record.ok) return record;
  const from = findFirstDay(record.value, vendor, next, end);
  if (from === null || from >= end) return ok({ from, covered: null });
  const range = { from, to: earliest(later(from, maxDays * DAY), end) };
  const figures = computeStatementFigures(record.value, openEpisodes.value, vendor, range);
  return ok({ from, covered: { range, figures } });
}

/** Null: the vendor had no license since then. */
function findFirstDay(
  { terms }: SiteRecord,
  vendor: string,
  next: Instant | null,
  end: Instant,
): Instant | null {
  const periods = terms.filter((period) => period.vendor === vendor);
  const [first] = periods.map(({ from }) => from).toSorted((a, b) => a - b);
  if (first === undefined || (next !== null && first >= end)) return null;
  return next ?? startOfDay(first);
}
