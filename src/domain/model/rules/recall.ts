import { MINUTE, type Instant } from "../../time.ts";
import type { PoolName } from "../slots/pool-name.ts";

/** A lent reservation that acts as `keep`, because a member was refused. */
export interface Recall extends PoolName {
  readonly group: string;
  readonly at: Instant;
  readonly until: Instant;
}

/** So long a member that does not wait has time to try again. */
export const RECALL_DURATION = 10 * MINUTE;

export const recallKey = ({
  product,
  feature,
  group,
}: Pick<Recall, "product" | "feature" | "group">): string =>
  JSON.stringify([product, feature, group]);
