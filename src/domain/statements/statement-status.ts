import type { State } from "../model/state.ts";
import type {
  AcknowledgedStatement,
  StoredStatement,
} from "../model/statements/statement-chain.ts";
import { DAY, later, MINUTE, type Instant, countDays, startOfDay } from "../time.ts";
import { findLastStatement } from "./make-statement.ts";

/** What was reported to a vendor, and what is to be reported next. */
export interface StatementStatus {
  readonly vendor: string;
  /** Null: the vendor is no longer trusted here. */
  readonly name: string | null;
  /** The statements that are kept, oldest first. */
  readonly statements: readonly StoredStatement[];
  readonly acknowledged: AcknowledgedStatement | null;
  /** The first day that the next statement covers; null: no license of the vendor is known. */
  readonly nextFrom: Instant | null;
  /** Whole days that no statement covers yet. */
  readonly unreportedDays: number;
  /** How often the vendor wants a statement; null: it did not say. */
  readonly everyDays: number | null;
  /** The next statement is later than the vendor wants it. */
  readonly isDue: boolean;
}

/**
 * Denied episodes are journaled once a minute: a day is reported when all that began in it is
 * certainly in the state.
 */
const SETTLING_TIME = 5 * MINUTE;

/** The first instant that no statement can cover yet. */
export const findReportableEnd = (now: Instant): Instant => startOfDay(later(now, -SETTLING_TIME));

/** Every vendor of a license, and every vendor that a statement was made for. */
export function listStatementStatus(state: State, now: Instant): StatementStatus[] {
  const licensed = [...state.licenses.values()].map(({ grant }) => grant.vendor);
  const returned = [...state.tombstones.values()].map(({ vendor }) => vendor);
  const vendors = new Set([...licensed, ...returned, ...state.statementChains.keys()]);
  return [...vendors].map((vendor) => describeStatements(state, vendor, now));
}

function describeStatements(state: State, vendor: string, now: Instant): StatementStatus {
  const chain = state.statementChains.get(vendor);
  const licenses = [...state.licenses.values()].filter(({ grant }) => grant.vendor === vendor);
  const intervals = licenses.flatMap(({ terms: { reportEveryDays } }) => reportEveryDays ?? []);
  const everyDays = intervals.length === 0 ? null : Math.min(...intervals);
  const addedAt = licenses.map((license) => license.addedAt);
  const firstDay = addedAt.length === 0 ? null : startOfDay(Math.min(...addedAt) as Instant);
  const nextFrom = findLastStatement(state, vendor)?.to ?? firstDay;
  const isLate = everyDays !== null && nextFrom !== null && now >= nextFrom + everyDays * DAY;
  return {
    vendor,
    name: state.vendors.get(vendor)?.name ?? null,
    statements: chain?.statements ?? [],
    acknowledged: chain?.acknowledged ?? null,
    nextFrom,
    unreportedDays:
      nextFrom === null ? 0 : Math.max(0, countDays(nextFrom, findReportableEnd(now))),
    everyDays,
    isDue: isLate && nextFrom < findReportableEnd(now),
  };
}
