import { quoteIfNeeded } from "../../platform/shell-quote.ts";
import type { DemandCount } from "../demand/demand-counts.ts";
import type { Condition } from "./condition.ts";
import { formatSubject } from "./full-pools.ts";

type EpisodeCount = Readonly<DemandCount>;

/** Finds the products and features for which demand is denied now. */
export class DeniedDemand {
  readonly #startedBefore = new Map<string, number>();

  /**
   * Those with an open episode, and those with one that began since the last update: it may have
   * ended already.
   */
  update(counts: readonly EpisodeCount[]): Condition[] {
    return counts.flatMap((count) => {
      const key = JSON.stringify([count.product, count.feature]);
      const newEpisodes = count.started - (this.#startedBefore.get(key) ?? 0);
      this.#startedBefore.set(key, count.started);
      return newEpisodes > 0 || count.open > 0 ? [createCondition(count)] : [];
    });
  }
}

/** Without a number: it would be that of the first moment. */
const createCondition = ({ product, feature }: EpisodeCount): Condition => ({
  code: "demand_denied",
  severity: "note",
  summary:
    feature === null
      ? `${product}: users are refused a slot`
      : `${product}: users are refused a slot of feature ${feature}`,
  remedy: "See who uses the slots, or request more",
  command: `berth slots --product ${quoteIfNeeded(product)}`,
  subject: formatSubject(product, feature),
});
