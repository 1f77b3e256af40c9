// A clock that was believed to have gone ahead, and is set right again.
import type { JumpClock, SetClockBack } from "../../src/domain/command.ts";
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

/** What was set under the right clock stays; what was set under a wrong one moves back with it. */
export function setClockBack(site: ModelSite, { to }: SetClockBack, from: Instant): Answer {
  const undone = site.jumps.filter((jump) => jump.to > to);
  // Of a jump across the time that is right now, the first part happened.
  site.jumps = site.jumps
    .filter((jump) => jump.from < to)
    .map((jump) => (jump.to <= to ? jump : { ...jump, to }));
  const wrongSince = Math.min(site.commandCount, ...undone.map(({ position }) => position));
  const here = (value: Instant): RecordedInstant => site.recordInstant(value, value);
  const move = (dated: RecordedInstant): void => {
    const by = computeClockSkew(dated, undone, from, to);
    dated.value = addMilliseconds(dated.value, -by);
    dated.setAt = addMilliseconds(dated.setAt, -by);
  };
  for (const { takenAt, timeoutAt, borrows } of site.slots) {
    for (const dated of [takenAt, timeoutAt, ...borrows]) move(dated);
  }
  for (const { at, outcome } of site.keys) {
    const before = at.value;
    move(at);
    moveOutcome(outcome, before - at.value, to);
  }
  for (const { entries } of site.counters) {
    if (WRONG_CLOCK_OPTIONS.canCountExactly) for (const { at } of entries) move(at);
    else entries.push({ what: "set back", at: here(to), wrongSince });
  }
  restoreBorrows(site, to);
  return makeGrant({});
}

/** Who asks again is told of the slot as it is now. */
function moveOutcome(outcome: Record<string, unknown>, by: number, to: Instant): void {
  for (const name of ["registeredAt", "end", "borrowedUntil"]) {
    const value = outcome[name];
    // The slot may have been taken before, and stays as it was then.
    const isKept = name === "registeredAt" && Number(value) <= to;
    if (typeof value === "number" && !isKept) outcome[name] = value - by;
  }
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

/** Its end was written down: from now on it can only come back as a borrow. */
export function writeExpiry(site: ModelSite, slot: SlotRecord): void {
  slot.isExpiryWritten = true;
  dropEndedBorrows(site, slot, instant(Infinity));
}

/** Forgets borrows that are over, unless it may turn out that the clock had jumped past the end. */
export function dropEndedBorrows(site: ModelSite, slot: SlotRecord, at: Instant): void {
  slot.borrows = slot.borrows.filter(
    ({ value, commandCount }) =>
      at < value || site.jumps.some((jump) => jump.position > commandCount),
  );
}

/** A borrow that ended by the wrong clock alone is held again, whatever the pool looks like. */
function restoreBorrows(site: ModelSite, at: Instant): void {
  const lapsed = site.slots.filter(
    (slot) => slot.isExpiryWritten && !slot.isReleased && findBorrowEnd(slot, at) !== null,
  );
  for (const slot of lapsed) {
    const again = site.slots.find(
      (other) =>
        other.license === slot.license &&
        other.user === slot.user &&
        other.feature === null &&
        !other.isReleased &&
        !other.isExpiryWritten,
    );
    // As a borrow, not as the contact that was lost meanwhile.
    slot.timeoutAt = { ...slot.timeoutAt, value: slot.takenAt.value };
    // The user has a slot again by now: that one is borrowed for as long as either was.
    slot.isReleased = again !== undefined;
    slot.isExpiryWritten = again !== undefined;
    again?.borrows.push(...slot.borrows);
  }
}
