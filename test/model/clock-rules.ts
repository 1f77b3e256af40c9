// A clock that jumps ahead and is set back to the right time.
import type { JumpClock, SetClockBack } from "../../src/domain/clock/clock.ts";
import { instant, type Instant } from "../../src/domain/time.ts";
import { WRONG_CLOCK_OPTIONS } from "./wrong-clock-options.ts";
import {
  findBorrowEnd,
  type RecordedInstant,
  type JumpRecord,
  type SlotRecord,
} from "./records.ts";
import { makeGrant, addMilliseconds, type Answer, type ModelSite } from "./site.ts";

export function jumpClock(site: ModelSite, { from, to }: JumpClock): Answer {
  site.jumps.push({ from, to, position: site.commandCount });
  return makeGrant({});
}

/**
 * Instants set under the right clock stay; those set under a wrong clock move back with it. The end
 * of a borrow stays in any case: it is in a signed lease.
 */
export function setClockBack(site: ModelSite, { to }: SetClockBack, from: Instant): Answer {
  const undone = site.jumps.filter((jump) => jump.to > to);
  // Of a jump across the new time, the part before that time stays.
  site.jumps = site.jumps
    .filter((jump) => jump.from < to)
    .map((jump) => (jump.to <= to ? jump : { ...jump, to }));
  const wrongSince = Math.min(site.commandCount, ...undone.map(({ position }) => position));
  const recordNow = (value: Instant): RecordedInstant => site.recordInstant(value, value);
  const move = (recorded: RecordedInstant): void => {
    const by = computeClockSkew(recorded, undone, from, to);
    recorded.value = addMilliseconds(recorded.value, -by);
    recorded.setAt = addMilliseconds(recorded.setAt, -by);
  };
  for (const { takenAt, timeoutAt } of site.slots) {
    for (const recorded of [takenAt, timeoutAt]) move(recorded);
  }
  for (const { at, outcome } of site.keys) {
    const before = at.value;
    move(at);
    moveOutcome(outcome, before - at.value, to);
  }
  for (const { entries } of site.counters) {
    if (WRONG_CLOCK_OPTIONS.canCountExactly) for (const { at } of entries) move(at);
    else entries.push({ what: "set back", at: recordNow(to), wrongSince });
  }
  restoreBorrows(site, to);
  return makeGrant({});
}

/** A repeated call is answered with the slot as it is now. */
function moveOutcome(outcome: Record<string, unknown>, by: number, to: Instant): void {
  for (const name of ["registeredAt", "end"]) {
    const value = outcome[name];
    // A slot that was taken before keeps the time it was taken.
    const isKept = name === "registeredAt" && Number(value) <= to;
    if (typeof value === "number" && !isKept) outcome[name] = value - by;
  }
  const { end, borrowedUntil } = outcome;
  if (typeof borrowedUntil === "number") outcome["end"] = Math.max(Number(end), borrowedUntil);
}

/** How much less the clock would have shown when this was written, had it been right. */
function computeClockSkew(
  { commandCount, setAt }: RecordedInstant,
  undone: readonly JumpRecord[],
  from: Instant,
  to: Instant,
): number {
  const isBefore = undone.every((jump) => commandCount < jump.position);
  if (isBefore && setAt <= to) return 0;
  const later = undone.filter((jump) => jump.position > commandCount);
  const jumped = later.reduce((sum, jump) => sum + (jump.to - jump.from), 0);
  return Math.max(0, from - to - jumped);
}

/** Marks the expiry as recorded: from now on the slot can only be restored as a borrow. */
export function writeExpiry(site: ModelSite, slot: SlotRecord): void {
  slot.isExpiryWritten = true;
  dropEndedBorrows(site, slot, instant(Infinity));
}

/** Drops borrows that have ended, unless the clock may have jumped past their end by mistake. */
export function dropEndedBorrows(site: ModelSite, slot: SlotRecord, at: Instant): void {
  if (site.jumps.length > 0) return;
  slot.borrows = slot.borrows.filter(({ value }) => at < value);
}

/**
 * Restores borrows that ended only by the wrong clock, even if that exceeds the number of slots.
 */
function restoreBorrows(site: ModelSite, at: Instant): void {
  const lapsed = site.slots.filter(
    (slot) => slot.isExpiryWritten && !slot.isReleased && findBorrowEnd(slot, at) !== null,
  );
  for (const slot of lapsed) {
    const newSlot = site.slots.find(
      (other) =>
        other.license === slot.license &&
        other.user === slot.user &&
        other.feature === null &&
        !other.isReleased &&
        !other.isExpiryWritten,
    );
    // Restored as a borrow only, without the timeout of a contact that was lost meanwhile.
    slot.timeoutAt = { ...slot.timeoutAt, value: slot.takenAt.value };
    // If the user holds a new slot by now, that slot gets the borrows instead.
    slot.isReleased = newSlot !== undefined;
    slot.isExpiryWritten = newSlot !== undefined;
    newSlot?.borrows.push(...slot.borrows);
  }
}
