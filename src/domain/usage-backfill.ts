import type { Event } from "./event.ts";
import type { ExpiringItem } from "./expiry-index.ts";
import { countSlotsInUse } from "./slots.ts";
import type { State } from "./state.ts";
import { earliest, latest, type Instant } from "./time.ts";
import { findUsageStart, type Usage } from "./usage.ts";

/** One license's slots at the moment that was reached on the way back. */
interface LicenseSlots {
  inUse: number;
  since: Instant;
  /** Slots whose end is still to come on the way back: before it, they were held. */
  readonly endsToCome: LatestEndHeap;
  readonly endedSlots: Set<number>;
}

/**
 * Fills in what was before, from the record, the newest line first. Backwards for three reasons:
 * what is so now is known for certain, also where the record's beginning is not kept; a slot's end
 * may be written long after it, and so is known by the time it is met; and thirty days are enough.
 */
export class UsageBackfill {
  readonly #usage: Usage;
  readonly #slots = new Map<number, LicenseSlots>();
  readonly #from: Instant;
  /** No line further on is later than that: what a clock that was set back said is not believed. */
  #reached: Instant;

  constructor(usage: Usage, state: State, now: Instant) {
    this.#usage = usage;
    this.#from = findUsageStart(now);
    this.#reached = now;
    for (const { id, pool } of state.licenses.values()) {
      const held = countSlotsInUse(pool, now);
      this.#slots.set(id, {
        inUse: held,
        since: now,
        endsToCome: new LatestEndHeap(),
        endedSlots: new Set(),
      });
      for (const { slot, end } of pool.expiryIndex.ended(now, Infinity))
        this.#expire(id, slot, end);
    }
  }

  /** One line of the record; false: it is too long ago, and so is everything before it. */
  applyLine(at: Instant, events: readonly Event[], countsRefusals: boolean): boolean {
    this.#reached = earliest(this.#reached, at);
    if (this.#reached < this.#from) return false;
    for (const event of events.toReversed()) this.#undo(event, countsRefusals);
    return true;
  }

  /** From when on everything is known. */
  finish(): Instant {
    const known = latest(this.#reached, this.#from);
    for (const license of this.#slots.keys()) this.#backTo(license, known);
    return known;
  }

  #undo(event: Event, countsRefusals: boolean): void {
    const at = earliest(event.at, this.#reached);
    switch (event.type) {
      case "SlotTaken":
        return this.#take(event.license, event.slot, at);
      case "SlotRestored":
        return event.isHeld ? undefined : this.#take(event.license, event.slot, at);
      case "SlotReleased":
        return this.#release(event.license, at);
      case "SlotExpired":
        return this.#expire(event.license, event.slot, at);
      case "LicenseRemoved":
        // It is here again; how many slots went with it then is not on record.
        this.#backTo(event.license, at);
        if (this.#slots.delete(event.license)) this.#usage.markUnknownBefore(event.license, at);
        return;
      case "ClockSetBack":
        this.#reached = earliest(this.#reached, event.to);
        return;
      case "RefusalsCounted":
        if (countsRefusals) this.#usage.recordRefusals(event, at, event.count);
        return;
      default:
    }
  }

  #take(license: number, slot: number, at: Instant): void {
    const slots = this.#backTo(license, at);
    // One whose end was moved back to before its beginning, with a clock, was never held.
    if (slots !== null && !slots.endedSlots.delete(slot)) slots.inUse -= 1;
  }

  #release(license: number, at: Instant): void {
    const slots = this.#backTo(license, at);
    if (slots !== null) slots.inUse += 1;
  }

  #expire(license: number, slot: number, end: Instant): void {
    const slots = this.#slots.get(license);
    slots?.endsToCome.add({ slot, end });
    slots?.endedSlots.add(slot);
  }

  /** Tells what was held between there and where it was before. */
  #backTo(license: number, at: Instant): LicenseSlots | null {
    const slots = this.#slots.get(license);
    if (slots === undefined) return null;
    const held = (from: Instant): void => {
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
      held(earliest(next.end, slots.since));
      slots.inUse += 1;
    }
    held(earliest(at, slots.since));
    return slots;
  }
}

/** A heap: the one that ends last is next. */
class LatestEndHeap {
  readonly #all: ExpiringItem[] = [];

  get latest(): ExpiringItem | null {
    return this.#all[0] ?? null;
  }

  add(item: ExpiringItem): void {
    let place = this.#all.length;
    for (;;) {
      const above = this.#all[(place - 1) >> 1];
      if (place === 0 || above === undefined || above.end >= item.end) break;
      this.#all[place] = above;
      place = (place - 1) >> 1;
    }
    this.#all[place] = item;
  }

  removeLatest(): void {
    const last = this.#all.pop();
    if (last === undefined || this.#all.length === 0) return;
    let place = 0;
    for (;;) {
      const [left, right] = [this.#all[2 * place + 1], this.#all[2 * place + 2]];
      const isRight = left !== undefined && right !== undefined && right.end > left.end;
      const below = isRight ? right : left;
      if (below === undefined || below.end <= last.end) break;
      this.#all[place] = below;
      place = 2 * place + (isRight ? 2 : 1);
    }
    this.#all[place] = last;
  }
}
