// What the model remembers. Almost nothing is ever taken out of these lists: whether something is
// held, and how much was counted, is worked out anew from the whole past each time it is needed.
import type { Contact } from "../../src/domain/registration.ts";
import type { FeatureTerms, Terms } from "../../src/domain/terms.ts";
import { instant, type Instant, type Period } from "../../src/domain/time.ts";

export interface LicenseRecord {
  readonly id: number;
  readonly addedAt: Instant;
  terms: Terms;
  serial: number;
  document: string;
  /** Every feature it ever had, in the order they came; the last terms of those it lost. */
  features: FeatureTerms[];
  isRemoved: boolean;
}

/** An instant that was written down: which one, and when, so that a clock set back can move it. */
export interface RecordedInstant {
  value: Instant;
  /** What the clock showed when it was written. */
  setAt: Instant;
  /** How many commands came before. */
  readonly commandCount: number;
}

/** One user's hold on one slot, of a license or (where `feature` is named) of one of its features. */
export interface SlotRecord {
  readonly license: LicenseRecord;
  readonly feature: string | null;
  readonly user: string;
  readonly takenAt: RecordedInstant;
  /** The last contact and the time-out after it. */
  timeoutAt: RecordedInstant;
  /**
   * The ends it was borrowed until, each later than the one before: the first is still promised
   * when the second turns out to have been set by a wrong clock.
   */
  borrows: RecordedInstant[];
  contact: Contact | null;
  /** Of a feature's slot: the license's slot that it is held through, and with which it ends. */
  licenseSlot: SlotRecord | null;
  /** It was given back, or its license was. */
  isReleased: boolean;
  /** Its end was written down as an event. */
  isExpiryWritten: boolean;
}

/** A counter's past: what was counted, which period was in force from when, clocks set back. */
export type CounterEntry = { readonly at: RecordedInstant } & (
  | { readonly what: "count"; readonly count: number }
  | { readonly what: "period"; readonly period: Period | null }
  /** Time is `at` again; all that came from `wrongSince` on was by a wrong clock. */
  | { readonly what: "set back"; readonly wrongSince: number }
);

type SetBackEntry = Extract<CounterEntry, { readonly what: "set back" }>;

export interface CounterRecord {
  readonly license: LicenseRecord;
  readonly feature: string | null;
  readonly entries: CounterEntry[];
}

export interface KeyRecord {
  readonly key: string;
  readonly fingerprint: string;
  readonly license: LicenseRecord;
  readonly at: RecordedInstant;
  /** The instants in it are the key's own to move. */
  readonly outcome: Record<string, unknown>;
}

export interface RequestRecord {
  readonly request: string;
  readonly at: Instant;
}

/** A jump ahead that was believed and not undone. */
export interface JumpRecord {
  readonly from: Instant;
  readonly to: Instant;
  readonly position: number;
}

/** Until when it is or was borrowed; 0: never. */
export const latestBorrowEnd = ({ borrows }: SlotRecord): Instant =>
  instant(Math.max(0, ...borrows.map(({ value }) => value)));

/** The later of the two: the end of a borrow, and the last contact plus the time-out. */
export const computeSlotEnd = (slot: SlotRecord): Instant => {
  const own = Math.max(latestBorrowEnd(slot), slot.timeoutAt.value);
  return instant(slot.licenseSlot === null ? own : Math.min(own, computeSlotEnd(slot.licenseSlot)));
};

export const isHeld = (slot: SlotRecord, at: Instant): boolean =>
  !slot.isReleased && !slot.isExpiryWritten && at < computeSlotEnd(slot);

/** Until when it is borrowed, if it still is. */
export function findBorrowEnd(slot: SlotRecord, at: Instant): Instant | null {
  const until = latestBorrowEnd(slot);
  return at < until ? until : null;
}

/** Two instants are in the same day, week, month or year (UTC) if this says the same of both. */
function namePeriod(period: Period, at: Instant): string {
  const date = new Date(at);
  if (period === "weekly") date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  const length = { daily: 10, weekly: 10, monthly: 7, annually: 4 }[period];
  return date.toISOString().slice(0, length);
}

/** Adds everything up from the beginning and starts at zero again in every new period. */
export function computeTotal(entries: readonly CounterEntry[], at: Instant): number {
  const last = entries.findLastIndex(({ what }) => what === "set back");
  const setBack = entries[last];
  let total = 0;
  let period: Period | null = null;
  let reached = instant(0);
  if (setBack?.what === "set back") {
    const earlier = entries.slice(0, last);
    total = computeTotalAfterSetBack(earlier, setBack);
    period = findLastPeriod(earlier);
    reached = setBack.at.value;
  }
  const moveTo = (next: Instant): void => {
    if (next <= reached) return;
    if (period !== null && namePeriod(period, reached) !== namePeriod(period, next)) total = 0;
    reached = next;
  };
  for (const entry of entries.slice(last + 1)) {
    moveTo(entry.at.value);
    if (entry.what === "count") total += entry.count;
    if (entry.what === "period") period = entry.period;
  }
  moveTo(at);
  return total;
}

function findLastPeriod(entries: readonly CounterEntry[]): Period | null {
  const last = entries.findLast(({ what }) => what === "period");
  return last?.what === "period" ? last.period : null;
}

/** What the right clock had counted in the period that runs, and all that was counted since. */
function computeTotalAfterSetBack(
  entries: readonly CounterEntry[],
  { wrongSince, at }: SetBackEntry,
): number {
  const before = entries.filter((entry) => entry.at.commandCount < wrongSince);
  const since = entries.filter((entry) => entry.at.commandCount >= wrongSince);
  const counts = since.map((entry) => (entry.what === "count" ? entry.count : 0));
  return computeTotal(before, at.value) + counts.reduce((sum, count) => sum + count, 0);
}
