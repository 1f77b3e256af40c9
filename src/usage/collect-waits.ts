import type { Event } from "../domain/model/event.ts";
import type { Instant } from "../domain/time.ts";
import type { FinalState } from "./final-state.ts";
import type { RecordPosition } from "./recorded-line.ts";
import type { QueueWait } from "./site-record.ts";

type OpenWait = { -readonly [K in keyof QueueWait]: QueueWait[K] };

/** Collects from events who waited in the queue of a product. Places have numbers of their own. */
export class WaitCollector {
  readonly #placesBefore: ReadonlySet<number>;
  readonly #ended: QueueWait[] = [];
  /** By the number of the place. */
  readonly #open = new Map<number, OpenWait>();
  /** Waits that were open before missing lines, and may have ended in them. */
  readonly #endedInGap = new Map<number, { readonly at: Instant; readonly clockPeriod: number }>();

  constructor(placesBefore: ReadonlySet<number>) {
    this.#placesBefore = placesBefore;
  }

  markGap(at: Instant, clockPeriod: number): void {
    for (const place of this.#open.keys()) {
      if (!this.#endedInGap.has(place)) this.#endedInGap.set(place, { at, clockPeriod });
    }
  }

  addEvent(event: Event, { at, clockPeriod }: RecordPosition): void {
    if (event.type === "PlaceTaken") {
      const { place, product } = event;
      // The same place again: only its license or its facts changed.
      if (this.#open.has(place) || this.#placesBefore.has(place)) return;
      this.#open.set(place, {
        place,
        product,
        start: at,
        startPeriod: clockPeriod,
        end: null,
        endPeriod: clockPeriod,
      });
      return;
    }
    if (event.type !== "PlaceLeft") return;
    const { place, product } = event;
    const open = this.#open.get(place) ?? { ...BEFORE_RECORD, place, product };
    this.#open.delete(place);
    this.#endedInGap.delete(place);
    this.#ended.push({ ...open, end: at, endPeriod: clockPeriod });
  }

  /** All waits, with the state after the last line. */
  finish({ places, now }: FinalState, periodCount: number): readonly QueueWait[] {
    const endPeriod = periodCount - 1;
    const waits = [...this.#ended];
    const present = new Set<number>();
    for (const { place, product } of places) {
      present.add(place);
      const open = this.#open.get(place) ?? { ...BEFORE_RECORD, place, product };
      waits.push({ ...open, endPeriod });
    }
    for (const [place, open] of this.#open) {
      if (present.has(place)) continue;
      const { at, clockPeriod } = this.#endedInGap.get(place) ?? {
        at: now,
        clockPeriod: endPeriod,
      };
      waits.push({ ...open, end: at, endPeriod: clockPeriod });
    }
    return waits;
  }
}

const BEFORE_RECORD = { start: null, end: null, startPeriod: 0, endPeriod: 0 } as const;
