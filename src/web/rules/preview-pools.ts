import type { RulesCheckReply } from "../../http/routes/rules/rules-reply.ts";
import { preview as texts } from "./preview-texts.ts";

export type PoolPreview = NonNullable<RulesCheckReply["preview"]>[number];

export const poolName = ({ product, feature }: Pick<PoolPreview, "product" | "feature">): string =>
  feature === null ? product : texts.feature(product, feature);

/** Whether a user who holds or waits for a slot would be refused, or has more than a limit. */
export const isAffected = (pool: PoolPreview): boolean =>
  pool.denied_total + pool.over_limit_total + pool.denied_waiting_total > 0;
