import type { Demand, EpisodeOutcome } from "../../domain/model/demand/episode.ts";

/** Denied episodes of a product, or of one of its features. */
export interface DemandCount extends Pick<Demand, "product" | "feature"> {
  /** Open now; those that the last process left open are included once they are checked. */
  open: number;
  /** Since this process started. */
  started: number;
  /** Since this process started; those of the last process are included. */
  readonly ended: Record<EpisodeOutcome, number>;
}

/** Counts denied episodes for metrics: from 0 at the start of the process, and without users. */
export class DemandCounts {
  readonly #counts = new Map<string, DemandCount>();

  countStart(demand: Demand): void {
    const count = this.#countOf(demand);
    count.started += 1;
    count.open += 1;
  }

  /** An episode of the last process is still open. */
  countContinued(demand: Demand): void {
    this.#countOf(demand).open += 1;
  }

  /** `isCounted`: its start was counted, or that it continues. */
  countEnd(demand: Demand, outcome: EpisodeOutcome, isCounted: boolean): void {
    const count = this.#countOf(demand);
    count.ended[outcome] += 1;
    if (isCounted) count.open -= 1;
  }

  /** No episode is open any more, and none ended. */
  forgetOpen(): void {
    for (const count of this.#counts.values()) count.open = 0;
  }

  /** One count for each product and feature that had an episode. */
  list(): readonly Readonly<DemandCount>[] {
    return [...this.#counts.values()];
  }

  #countOf({ product, feature }: Demand): DemandCount {
    const key = JSON.stringify([product, feature]);
    let count = this.#counts.get(key);
    if (count === undefined) {
      count = { product, feature, open: 0, started: 0, ended: { granted: 0, gave_up: 0, left: 0 } };
      this.#counts.set(key, count);
    }
    return count;
  }
}
