import { listIdleReservations } from "../../domain/rules/judge-claim.ts";
import { countSlotsInUse } from "../../domain/model/slots/pool.ts";
import type { State } from "../../domain/model/state.ts";
import { latest, type Instant } from "../../domain/time.ts";
import type { MetricFamily } from "../../platform/metrics/metric.ts";
import { METRICS } from "./catalogue.ts";
import { LEFT_CAUSES, type QueueCounters } from "./queue-counters.ts";

/** Reservations and queues of the installed products, also of those that have none. */
export const sharingFamilies = (
  state: State,
  at: Instant,
  products: readonly string[],
  counters: QueueCounters,
): MetricFamily[] => [
  {
    metric: METRICS.slotsReservedIdle,
    samples: products.map((product) => ({
      labels: [product],
      value: countReservedIdle(state, product, latest(at, state.latestEventAt)),
    })),
  },
  ...queueFamilies(state, products, counters),
];

const queueFamilies = (
  { queues }: State,
  products: readonly string[],
  counters: QueueCounters,
): MetricFamily[] => [
  {
    metric: METRICS.queueWaiting,
    samples: products.map((product) => ({
      labels: [product],
      value: queues.get(product)?.waitingCount ?? 0,
    })),
  },
  {
    metric: METRICS.queueHeld,
    samples: products.map((product) => ({
      labels: [product],
      value: queues.get(product)?.heldCount ?? 0,
    })),
  },
  {
    metric: METRICS.queueWaits,
    samples: products.map((product) => ({ labels: [product], value: counters.of(product).waits })),
  },
  {
    metric: METRICS.queuePlacesLeft,
    samples: products.flatMap((product) =>
      LEFT_CAUSES.map((cause) => ({
        labels: [product, cause],
        value: counters.of(product).left[cause],
      })),
    ),
  },
];

/** Free slots that reservations keep for a group which does not use them. */
function countReservedIdle(state: State, product: string, at: Instant): number {
  if (state.rules === null) return 0;
  let reserved = 0;
  for (const { acting, idleSlots } of listIdleReservations(state, { product, feature: null }, at)) {
    if (acting === "keep") reserved += idleSlots;
  }
  let free = -(state.queues.get(product)?.heldCount ?? 0);
  for (const { terms, pool } of state.products.get(product) ?? []) {
    free += Math.max(0, terms.slots - countSlotsInUse(pool, at));
  }
  return Math.min(reserved, Math.max(0, free));
}
