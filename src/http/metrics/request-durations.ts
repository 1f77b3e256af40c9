import { METRICS } from "../../operations/metrics/catalogue.ts";
import { Histogram } from "../../platform/metrics/histogram.ts";
import type { MetricFamily } from "../../platform/metrics/metric.ts";

const BOUNDS_SECONDS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5];

/** The route of a request that no route has, or that was refused before its route was known. */
const NO_ROUTE = "none";

/** How long the requests of all listeners took, by route and status class. */
export class RequestDurations {
  readonly #routes = new Map<string, (Histogram | undefined)[]>();

  /** `pattern` is the path in the route table; null: no route has the path of the request. */
  observe(pattern: string | null, status: number, durationMs: number): void {
    const route = pattern ?? NO_ROUTE;
    let classes = this.#routes.get(route);
    if (classes === undefined) this.#routes.set(route, (classes = []));
    const statusClass = Math.floor(status / 100);
    (classes[statusClass] ??= new Histogram(BOUNDS_SECONDS)).observe(durationMs / 1_000);
  }

  family(): MetricFamily {
    const samples = [...this.#routes].flatMap(([route, classes]) =>
      classes.flatMap((value, statusClass) =>
        value === undefined ? [] : [{ labels: [route, `${statusClass}xx`], value }],
      ),
    );
    return { metric: METRICS.httpRequests, samples };
  }
}
