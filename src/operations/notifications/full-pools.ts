import { MINUTE } from "../../domain/time.ts";
import type { LicenseView } from "../../domain/views/views.ts";
import { quoteIfNeeded } from "../../platform/shell-quote.ts";
import type { Condition } from "./condition.ts";

export type PoolLicense = Pick<LicenseView, "terms" | "refusal" | "slotsInUse" | "features">;

interface Pool {
  readonly product: string;
  /** Null: the slots of the product itself. */
  readonly feature: string | null;
  readonly slots: number;
  readonly inUse: number;
}

/** Remembers since when no slot of a product or of a floating feature is free. */
export class FullPools {
  readonly #fullSinceMs = new Map<string, number>();

  /** The pools that have been full for so many minutes, at a clock that is never set back. */
  update(licenses: readonly PoolLicense[], minutes: number, nowMs: number): Condition[] {
    const full = new Map(
      listPools(licenses)
        .filter(({ slots, inUse }) => slots > 0 && inUse >= slots)
        .map((pool) => [keyOf(pool), pool]),
    );
    for (const key of this.#fullSinceMs.keys()) {
      if (!full.has(key)) this.#fullSinceMs.delete(key);
    }
    return [...full].flatMap(([key, pool]) => {
      const since = this.#fullSinceMs.get(key) ?? nowMs;
      this.#fullSinceMs.set(key, since);
      return nowMs - since >= minutes * MINUTE ? [createCondition(pool, minutes)] : [];
    });
  }
}

const keyOf = ({ product, feature }: Pick<Pool, "product" | "feature">): string =>
  JSON.stringify([product, feature]);

/** Licenses of the same product grant slots together; one that grants nothing has none. */
function listPools(licenses: readonly PoolLicense[]): Pool[] {
  const pools = new Map<string, Pool>();
  const add = (pool: Pool): void => {
    const key = keyOf(pool);
    const sum = pools.get(key);
    const { slots = 0, inUse = 0 } = sum ?? {};
    pools.set(key, { ...pool, slots: slots + pool.slots, inUse: inUse + pool.inUse });
  };
  for (const { terms, refusal, slotsInUse, features } of licenses) {
    if (refusal !== null) continue;
    const { product, slots } = terms;
    add({ product, feature: null, slots, inUse: slotsInUse });
    for (const feature of features) {
      const { code, floating } = feature.terms;
      if (floating === null) continue;
      add({ product, feature: code, slots: floating.slots, inUse: feature.slotsInUse });
    }
  }
  return [...pools.values()];
}

/** A feature's subject is written as product/feature. */
export const formatSubject = (product: string, feature: string | null): string =>
  feature === null ? product : `${product}/${feature}`;

function createCondition({ product, feature, slots }: Pool, minutes: number): Condition {
  const name = feature === null ? product : `${product}, feature ${feature}`;
  const which = slots === 1 ? "the only slot has" : `all ${slots} slots have`;
  return {
    code: "pool_full",
    severity: "note",
    summary: `${name}: ${which} been in use for ${minutes} minutes or longer`,
    remedy: "See who uses them, or request more slots",
    command: `berth slots --product ${quoteIfNeeded(product)}`,
    subject: formatSubject(product, feature),
  };
}
