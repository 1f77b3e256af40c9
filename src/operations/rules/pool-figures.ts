import { countHolds } from "../../domain/queue/holds.ts";
import { listReservations } from "../../domain/rules/judge-claim.ts";
import type { Holder } from "../../domain/model/rules/indexed-rules.ts";
import { poolKey, type PoolName } from "../../domain/model/slots/pool-name.ts";
import type { RuleSet } from "../../domain/model/rules/rule-set.ts";
import { countSlotsInUse, type SlotPool } from "../../domain/model/slots/pool.ts";
import type { License, State } from "../../domain/model/state.ts";
import type { Instant } from "../../domain/time.ts";

export interface ReservationFigures {
  readonly reserved: number;
  /** Reserved slots that their groups do not use. */
  readonly idle: number;
  /** Free slots that a caller without a reservation can get. */
  readonly available: number;
}

/** How the slots of a pool are used, before the rules are replaced. */
export interface PoolFigures extends PoolName {
  readonly at: Instant;
  readonly slots: number;
  readonly inUse: number;
  readonly holds: number;
  readonly before: ReservationFigures;
}

/**
 * The figures of all pools that the rules name now, or would name. They are of one instant, which
 * must be the present: the counters of the applied rules do not go back without being built anew.
 */
export const readPoolFigures = (
  rules: RuleSet,
  state: State,
  at: Instant,
): readonly PoolFigures[] =>
  listPools(rules, state.rules?.rules ?? null).flatMap(
    (name) => readFiguresOf(state, name, at) ?? [],
  );

/** The pools that the rules name now, or would name. */
function listPools(rules: RuleSet, applied: RuleSet | null): readonly PoolName[] {
  const pools = new Map<string, PoolName>();
  for (const { product, feature } of [...rules.pools, ...(applied?.pools ?? [])]) {
    pools.set(poolKey({ product, feature }), { product, feature });
  }
  return [...pools.values()];
}

/** Null: no license has such slots. */
function readFiguresOf(state: State, name: PoolName, at: Instant): PoolFigures | null {
  const parts = listSlotPools(state, name);
  if (parts.length === 0) return null;
  const slots = parts.reduce((sum, part) => sum + part.slots, 0);
  const inUse = parts.reduce((sum, { pool }) => sum + countSlotsInUse(pool, at), 0);
  const holds =
    name.feature === null
      ? parts.reduce((sum, { license }) => sum + countHolds(state, license), 0)
      : 0;
  const reservations = listReservations(state, name, at);
  const sum = (of: (one: (typeof reservations)[number]) => number): number =>
    reservations.reduce((total, reservation) => total + of(reservation), 0);
  const acting = sum(({ acting: use, idleSlots }) => (use === "keep" ? idleSlots : 0));
  return {
    ...name,
    at,
    slots,
    inUse,
    holds,
    before: {
      reserved: sum((reservation) => reservation.slots),
      idle: sum(({ idleSlots }) => idleSlots),
      available: Math.max(0, slots - inUse - holds - acting),
    },
  };
}

interface PoolPart {
  readonly license: License;
  readonly slots: number;
  readonly pool: SlotPool<Holder>;
}

export const listSlotPools = (
  { products }: State,
  { product, feature }: PoolName,
): readonly PoolPart[] =>
  (products.get(product) ?? []).flatMap((license): PoolPart[] => {
    if (feature === null) return [{ license, slots: license.terms.slots, pool: license.pool }];
    const found = license.features.get(feature);
    const slots = found?.terms.floating?.slots;
    return found === undefined || slots === undefined ? [] : [{ license, slots, pool: found.pool }];
  });
