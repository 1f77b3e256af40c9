import type { Event, SlotRestored, SlotTaken } from "../domain/event.ts";
import type { ExpiringItem } from "../domain/index/expiry-index.ts";
import { countSlotsInUse } from "../domain/slots/slots.ts";
import type { State } from "../domain/state.ts";
import { earliest, later, latest, type Instant } from "../domain/time.ts";
import { findUsageStart, type Usage } from "./usage.ts";

/** One license's slots at the instant reached while reading backwards. */
interface LicenseSlots {
  inUse: number;
  since: Instant;
  /**
   * Slots whose end was not reached yet while reading backwards: before their end, they were held.
   */
  readonly endsToCome: LatestEndHeap;
  readonly endedSlots: Set<number>;
}

/**
 * Fills in the usage before the start from the audit log, the newest line first. It reads backwards
 * for three reasons: the current state is certain, even where the beginning of the audit log is not
 * kept; a slot's end may be written long after it, and is then read before it is needed; and thirty
 * days are enough.
 */
export class UsageBackfill {
  readonly #usage: Usage;
  readonly #slots = new Map<number, LicenseSlots>();
  readonly #from: Instant;
  /**
   * No line read after this one counts as later: times written before the clock was set back are
   * not trusted.
   */
  #reachedAt: Instant;

  constructor(usage: Usage, state: State, now: Instant) {
    this.#usage = usage;
    this.#from = findUsageStart(now);
    this.#reachedAt = now;
    for (const { id, pool } of state.licenses.values()) {
      const inUse = countSlotsInUse(pool, now);
      this.#slots.set(id, {
        inUse,
        since: now,
        endsToCome: new LatestEndHeap(),
        endedSlots: new Set(),
      });
      for (const { slot, end } of pool.expiryIndex.ended(now, Infinity))
        this.#expire(id, slot, end);
    }
  }

  /** Applies one line of the audit log; false: it is too old, and so is everything before it. */
  applyLine(at: Instant, events: readonly Event[], countsRefusals: boolean): boolean {
    this.#reachedAt = earliest(this.#reachedAt, at);
    if (this.#reachedAt < this.#from) return false;
    for (const event of events.toReversed()) this.#undo(event, countsRefusals);
    return true;
  }

  /** Returns the instant from which usage is known. */
  finish(): Instant {
    const knownFrom = latest(this.#reachedAt, this.#from);
    for (const license of this.#slots.keys()) this.#rewindTo(license, knownFrom);
    return knownFrom;
  }

  #undo(event: Event, countsRefusals: boolean): void {
    const at = earliest(event.at, this.#reachedAt);
    switch (event.type) {
      case "SlotTaken":
        return this.#take(event, at);
      case "SlotRestored":
        return event.isHeld ? undefined : this.#take(event, at);
      case "SlotReleased":
        return this.#release(event.license, at);
      case "SlotExpired":
        return this.#expire(event.license, event.slot, at);
      case "LicenseRemoved":
        // The license was installed again later; how many slots it had when it was removed is not
        // recorded.
        this.#rewindTo(event.license, at);
        if (this.#slots.delete(event.license)) this.#usage.markUnknownBefore(event.license, at);
        return;
      case "ClockSetBack":
        this.#reachedAt = earliest(this.#reachedAt, event.to);
        return;
      case "RefusalsCounted":
        if (countsRefusals) {
          const feature = event.feature ?? null;
          this.#usage.recordRefusals({ ...event, feature }, at, event.count);
        }
        return;
      default:
    }
  }

  #take({ license, slot, at: writtenAt }: SlotTaken | SlotRestored, at: Instant): void {
    const slots = this.#rewindTo(license, at);
    // A slot whose end was set back to before its start, by a clock change, was never held.
    if (slots === null || slots.endedSlots.delete(slot)) return;
    // Another slot may have been released in the same millisecond: both were in use together.
    // A time that is not trusted says nothing about that.
    if (writtenAt === at) this.#usage.recordSlotsInUse(license, at, later(at, 1), slots.inUse);
    slots.inUse -= 1;
  }

  #release(license: number, at: Instant): void {
    const slots = this.#rewindTo(license, at);
    if (slots !== null) slots.inUse += 1;
  }

  #expire(license: number, slot: number, end: Instant): void {
    const slots = this.#slots.get(license);
    slots?.endsToCome.add({ slot, end });
    slots?.endedSlots.add(slot);
  }

  /** Records the slots in use between `at` and the instant reached before. */
  #rewindTo(license: number, at: Instant): LicenseSlots | null {
    const slots = this.#slots.get(license);
    if (slots === undefined) return null;
    const recordFrom = (from: Instant): void => {
      this.#usage.recordSlotsInUse(license, from, slots.since, slots.inUse);
      slots.since = from;
    };
    for (
      let next = slots.endsToCome.latest;
      next !== null && next.end > at;
      next = slots.endsToCome.latest
    ) {
      slots.endsToCome.removeLatest();
      if (!slots.endedSlots.delete(next.slot)) continue;
      recordFrom(earliest(next.end, slots.since));
      slots.inUse += 1;
    }
    recordFrom(earliest(at, slots.since));
    return slots;
  }
}

/** A heap: the item with the latest end is first. */
class LatestEndHeap {
  readonly #items: ExpiringItem[] = [];

  get latest(): ExpiringItem | null {
    return this.#items[0] ?? null;
  }

  add(item: ExpiringItem): void {
    let index = this.#items.length;
    for (;;) {
      const parent = this.#items[(index - 1) >> 1];
      if (index === 0 || parent === undefined || parent.end >= item.end) break;
      this.#items[index] = parent;
      index = (index - 1) >> 1;
    }
    this.#items[index] = item;
  }

  removeLatest(): void {
    const last = this.#items.pop();
    if (last === undefined || this.#items.length === 0) return;
    let index = 0;
    for (;;) {
      const [left, right] = [this.#items[2 * index + 1], this.#items[2 * index + 2]];
      const isRight = left !== undefined && right !== undefined && right.end > left.end;
      const child = isRight ? right : left;
      if (child === undefined || child.end <= last.end) break;
      this.#items[index] = child;
      index = 2 * index + (isRight ? 2 : 1);
    }
    this.#items[index] = last;
  }
}
