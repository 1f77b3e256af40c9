import type { State } from "../../domain/state.ts";
import type { MetricFamily } from "../../platform/metrics/metric.ts";
import { METRICS } from "./catalogue.ts";
import { LEFT_CAUSES, type QueueCounters } from "./queue-counters.ts";

/** The queues of the installed products, also of those where no user waits. */
export const queueFamilies = (
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
