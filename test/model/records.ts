// The data of the model. Almost nothing is ever removed from these lists: whether a slot is held,
// and how much was counted, is computed from all records each time it is needed.
import type { Contact } from "../../src/domain/model/slots/contact.ts";
import type { FeatureTerms, Terms } from "../../src/domain/model/licenses/terms.ts";
import { instant, type Instant, type Period } from "../../src/domain/time.ts";

export interface LicenseRecord {
  readonly id: number;
  readonly addedAt: Instant;
  terms: Terms;
  serial: number;
  document: string;
  /** Every feature it ever had, in order of arrival; for removed features, the last terms. */
  features: FeatureTerms[];
  isRemoved: boolean;
}

/** An instant, with the time it was recorded at, so that setting the clock back can move it. */
export interface RecordedInstant {
  value: Instant;
  /** What the clock showed when it was recorded. */
  setAt: Instant;
  /** The number of commands before it. */
  readonly commandCount: number;
}

/** The end of a borrow, and the device that has its lease; null: no device asked for one. */
export interface BorrowRecord extends RecordedInstant {
  leasedTo: string | null;
}

/** A slot that a user took, of a license or (if `feature` is set) of one of its features. */
export interface SlotRecord {
  readonly license: LicenseRecord;
  readonly feature: string | null;
  readonly user: string;
  readonly takenAt: RecordedInstant;
  /** The last contact plus the timeout. */
  timeoutAt: RecordedInstant;
  /**
   * The ends of its borrows, each later than the one before. The first is still promised if the
   * second turns out to have been set by a wrong clock.
   */
  borrows: BorrowRecord[];
  contact: Contact | null;
  /** For a feature slot: the license slot that it belongs to, and with which it ends. */
  licenseSlot: SlotRecord | null;
  /** It was released, or its license was returned. */
  isReleased: boolean;
  /** Its expiry was recorded as an event. */
  isExpiryWritten: boolean;
}

/** An entry of a counter: a count, a change of the period, or a clock that was set back. */
export type CounterEntry = { readonly at: RecordedInstant } & (
  | { readonly what: "count"; readonly count: number }
  | { readonly what: "period"; readonly period: Period | null }
  /** Time is `at` again; all entries from command `wrongSince` on were made by a wrong clock. */
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
  /** A copy: its instants are moved with the key when the clock is set back. */
  readonly outcome: Record<string, unknown>;
}

export interface RequestRecord {
  readonly request: string;
  readonly at: Instant;
}

/** A jump ahead that was followed and not undone. */
export interface JumpRecord {
  readonly from: Instant;
  readonly to: Instant;
  readonly position: number;
}

/** The latest end of its borrows; 0 if it was never borrowed. */
export const latestBorrowEnd = ({ borrows }: SlotRecord): Instant =>
  instant(Math.max(0, ...borrows.map(({ value }) => value)));

/** The later of the borrow end and the last contact plus the timeout. */
export const computeSlotEnd = (slot: SlotRecord): Instant => {
  const ownEnd = Math.max(latestBorrowEnd(slot), slot.timeoutAt.value);
  return instant(
    slot.licenseSlot === null ? ownEnd : Math.min(ownEnd, computeSlotEnd(slot.licenseSlot)),
  );
};

export const isHeld = (slot: SlotRecord, at: Instant): boolean =>
  !slot.isReleased && !slot.isExpiryWritten && at < computeSlotEnd(slot);

/** The end of its borrow, if that is still to come. */
export function findBorrowEnd(slot: SlotRecord, at: Instant): Instant | null {
  const until = latestBorrowEnd(slot);
  return at < until ? until : null;
}

/** The device that has the lease of a borrow which has not ended. */
export const findLeasedDevice = (slot: SlotRecord, at: Instant): string | null =>
  slot.borrows.findLast(({ value }) => at < value && value === latestBorrowEnd(slot))?.leasedTo ??
  null;

/** A name that is the same for all instants of one day, week, month or year (UTC). */
function namePeriod(period: Period, at: Instant): string {
  const date = new Date(at);
  if (period === "weekly") date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  const length = { daily: 10, weekly: 10, monthly: 7, annually: 4 }[period];
  return date.toISOString().slice(0, length);
}

/** Adds up all entries, starting at zero again in every new period. */
export function computeTotal(entries: readonly CounterEntry[], at: Instant): number {
  const last = entries.findLastIndex(({ what }) => what === "set back");
  const setBack = entries[last];
  let total = 0;
  let period: Period | null = null;
  let currentTime = instant(0);
  if (setBack?.what === "set back") {
    const earlier = entries.slice(0, last);
    total = computeTotalAfterSetBack(earlier, setBack);
    period = findLastPeriod(earlier);
    currentTime = setBack.at.value;
  }
  const moveTo = (next: Instant): void => {
    if (next <= currentTime) return;
    if (period !== null && namePeriod(period, currentTime) !== namePeriod(period, next)) total = 0;
    currentTime = next;
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

/** What the right clock had counted in the current period, plus all that was counted since. */
function computeTotalAfterSetBack(
  entries: readonly CounterEntry[],
  { wrongSince, at }: SetBackEntry,
): number {
  const before = entries.filter((entry) => entry.at.commandCount < wrongSince);
  const since = entries.filter((entry) => entry.at.commandCount >= wrongSince);
  const counts = since.map((entry) => (entry.what === "count" ? entry.count : 0));
  return computeTotal(before, at.value) + counts.reduce((sum, count) => sum + count, 0);
}
