import type { Event } from "../../domain/model/event.ts";
import type { PlaceLeftCause } from "../../domain/model/queue/queue-event-types.ts";
import type { State } from "../../domain/model/state.ts";
import { SECOND, type Instant } from "../../domain/time.ts";
import { Histogram } from "../../platform/metrics/histogram.ts";

/** In seconds: up to two hours. */
const WAIT_BOUNDS = [10, 60, 300, 1_800, 7_200];

/** Why a place ended without a slot. Those that got one are in the histogram of the waits. */
export const LEFT_CAUSES = ["unregistered", "lapsed", "dropped", "refused"] as const;

type LeftCause = (typeof LEFT_CAUSES)[number];

/** A product must not have too many series: two rare causes share one. */
const CAUSE_LABELS: Readonly<Record<Exclude<PlaceLeftCause, "granted">, LeftCause>> = {
  unregistered: "unregistered",
  lapsed: "lapsed",
  dropped: "dropped",
  denied: "refused",
  license_gone: "refused",
};

interface QueueCounts {
  /** How long users waited until they got a slot, in seconds. */
  readonly waits: Histogram;
  readonly left: Record<LeftCause, number>;
}

/** Counts what was written of queues since the start, by product. */
export class QueueCounters {
  readonly #products = new Map<string, QueueCounts>();
  /** Since when users wait, by the number of their places. */
  readonly #since = new Map<number, Instant>();

  /** Knows the places that a state has already. */
  readPlaces({ queues }: State): void {
    this.#since.clear();
    for (const { places } of queues) {
      for (const { number, since } of places) this.#since.set(number, since);
    }
  }

  count(event: Event, state: State): void {
    switch (event.type) {
      case "PlaceTaken":
        if (!this.#since.has(event.place)) this.#since.set(event.place, event.at);
        return;
      case "PlaceLeft": {
        const since = this.#since.get(event.place);
        this.#since.delete(event.place);
        const { waits, left } = this.of(event.product);
        if (event.cause !== "granted") left[CAUSE_LABELS[event.cause]] += 1;
        else if (since !== undefined) waits.observe(Math.max(0, event.at - since) / SECOND);
        return;
      }
      case "ClockSetBack":
      // The host that led before counted the places of its time.
      case "LeaderChanged":
        return this.readPlaces(state);
      default:
    }
  }

  of(product: string): QueueCounts {
    const existing = this.#products.get(product);
    if (existing !== undefined) return existing;
    const left = { unregistered: 0, lapsed: 0, dropped: 0, refused: 0 };
    const created = { waits: new Histogram(WAIT_BOUNDS), left };
    this.#products.set(product, created);
    return created;
  }
}
