import type { ReportReply } from "../../http/routes/usage/report-schema.ts";
import type { StatusReply } from "../../http/routes/health/status-schema.ts";
import type { License } from "../licenses/license.ts";
import { isSamePool, poolKey, type Pool } from "./pool.ts";

export type PoolReply = ReportReply["pools"][number];

/** One product or feature in the table of all. */
export interface PoolRow extends PoolReply {
  readonly key: string;
  /** Slots in use and slots in all now; null: nothing is installed now. */
  readonly now: PoolUse | null;
  /** By day, oldest first. */
  readonly peaks: readonly (number | null)[];
  readonly limitsByDay: readonly (number | null)[];
}

export interface PoolUse {
  readonly used: number;
  readonly limit: number;
}

interface LiveUse {
  readonly status: Pick<StatusReply, "licenses"> | null;
  /** Null: not loaded yet. */
  readonly licenses: readonly License[] | null;
}

/** Most denied episodes first; then the longest full, then by name. */
export function makePoolRows(
  { pools, days }: Pick<ReportReply, "pools" | "days">,
  live: LiveUse,
): PoolRow[] {
  const daysByPool = Map.groupBy(days, poolKey);
  return pools
    .map((pool) => {
      const ownDays = daysByPool.get(poolKey(pool)) ?? [];
      return {
        ...pool,
        key: poolKey(pool),
        now: findUse(pool, live),
        peaks: ownDays.map(({ limit, peak }) => (limit === 0 && peak === 0 ? null : peak)),
        limitsByDay: ownDays.map(({ limit }) => (limit === 0 ? null : limit)),
      };
    })
    .toSorted(
      (a, b) =>
        b.episodes - a.episodes ||
        b.hours_at_limit - a.hours_at_limit ||
        (a.key < b.key ? -1 : Number(a.key > b.key)),
    );
}

/** The use of a product is in the status; the use of a feature only in the licenses. */
export function findUse(pool: Pool, { status, licenses }: LiveUse): PoolUse | null {
  const uses =
    pool.feature === null
      ? (status?.licenses ?? [])
          .filter(({ product }) => product === pool.product)
          .map((license) => ({
            used: license.floating_slots_in_use,
            limit: license.refusal === null ? license.floating_users : 0,
          }))
      : (licenses ?? []).flatMap((license) =>
          license.product_details.short_code === pool.product ? featureUses(license, pool) : [],
        );
  if (uses.length === 0) return null;
  return uses.reduce((sum, use) => ({
    used: sum.used + use.used,
    limit: sum.limit + use.limit,
  }));
}

const featureUses = (license: License, { feature }: Pool): PoolUse[] =>
  license.product_features.flatMap(({ code, floating_users, floating_in_use_devices }) =>
    code === feature && floating_users !== null
      ? [{ used: floating_in_use_devices, limit: floating_users }]
      : [],
  );

/** The features of a product that have slots of their own, and those seen in the period. */
export const featuresOf = (rows: readonly PoolRow[], product: string): readonly PoolRow[] =>
  rows.filter((row) => row.product === product && !isSamePool(row, { product, feature: null }));
