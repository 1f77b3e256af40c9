import type { Demand, EpisodeOutcome } from "../../domain/demand/episode.ts";

/** Denied episodes of a product, or of one of its features, since the process started. */
export interface DemandCount extends Pick<Demand, "product" | "feature"> {
  started: number;
  readonly ended: Record<EpisodeOutcome, number>;
}

/** Counts denied episodes for metrics: from 0 at the start of the process, and without users. */
export class DemandCounts {
  readonly #counts = new Map<string, DemandCount>();

  countStart(demand: Demand): void {
    this.#countOf(demand).started += 1;
  }

  countEnd(demand: Demand, outcome: EpisodeOutcome): void {
    this.#countOf(demand).ended[outcome] += 1;
  }

  /** One count for each product and feature that had an episode. */
  list(): readonly Readonly<DemandCount>[] {
    return [...this.#counts.values()];
  }

  #countOf({ product, feature }: Demand): DemandCount {
    const key = JSON.stringify([product, feature]);
    let count = this.#counts.get(key);
    if (count === undefined) {
      count = { product, feature, started: 0, ended: { granted: 0, gave_up: 0, left: 0 } };
      this.#counts.set(key, count);
    }
    return count;
  }
}
