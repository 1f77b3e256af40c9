import type { CappedFault, Fault } from "../model/fault.ts";
import type { State } from "../model/state.ts";
import type { Instant } from "../time.ts";
import type { Shares } from "../model/rules/compiled-rules.ts";
import type { PoolName } from "../model/slots/pool-name.ts";
import { counterKey } from "../model/rules/pool-use.ts";
import { recallKey } from "../model/rules/recall.ts";
import type { CallerFacts } from "../model/rules/caller-facts.ts";
import type { Limit, Reservation } from "../model/rules/rule-set.ts";
import type { RuledPool } from "../model/rules/rules-index.ts";

/** A caller who wants one more slot. */
export interface Claim extends PoolName {
  readonly facts: CallerFacts;
}

/** A limit that a claim would exceed. */
export interface ReachedLimit extends Limit {
  readonly kind: "each_user" | "each_host" | "group";
  /** The person, the host, or the group. */
  readonly name: string;
  /** The counter to wait for: `state.rulesIndex.fallenCounters` reports it. */
  readonly key: string;
}

/** A reservation at an instant. */
export interface ReservationUse extends Pick<Reservation, "group" | "slots" | "idle" | "line"> {
  /** `keep` also for a lent one while it is recalled. */
  readonly acting: "keep" | "lend";
  /** Slots that the group is entitled to and does not use. */
  readonly idleSlots: number;
}

const NO_SHARES: Shares = { person: null, host: null, limitGroups: [], home: null };

export const findRuledPool = (
  state: State,
  { product, feature }: PoolName,
  at: Instant,
): RuledPool | null => state.rulesIndex.findPool(state, product, feature, at);

/**
 * Deny, then `allow_only`, then limits; null: they allow one more slot. The caller's own hold, by
 * the number of its place, does not count against it.
 */
export function checkClaim(
  state: State,
  claim: Claim,
  at: Instant,
  ownHold: number | null = null,
): Fault | null {
  const ruled = findRuledPool(state, claim, at);
  if (ruled === null) return null;
  return (
    judgeAdmission(ruled, claim) ?? makeLimitFault(findLimit(ruled, claim, state, ownHold), claim)
  );
}

/** Deny and `allow_only`: what no waiting changes. */
export function checkAdmission(state: State, claim: Claim, at: Instant): Fault | null {
  const ruled = findRuledPool(state, claim, at);
  return ruled === null ? null : judgeAdmission(ruled, claim);
}

/** The first limit that the claim would exceed; null: none. */
export function findReachedLimit(
  state: State,
  claim: Claim,
  at: Instant,
  ownHold: number | null = null,
): ReachedLimit | null {
  const ruled = findRuledPool(state, claim, at);
  return ruled === null ? null : findLimit(ruled, claim, state, ownHold);
}

/** The reserved group that the caller belongs to; null: none. */
export function findHome(state: State, claim: Claim, at: Instant): string | null {
  return findRuledPool(state, claim, at)?.pool.findHome(claim.facts) ?? null;
}

/** Whether reservations leave one of `free` free slots to a caller of this home. */
export function hasRoomFor(
  state: State,
  pool: PoolName,
  home: string | null,
  free: number,
  at: Instant,
): boolean {
  if (free <= 0) return false;
  const ruled = findRuledPool(state, pool, at);
  if (ruled === null) return true;
  if (home !== null && countIdle(ruled, home) > 0) return free > countKeptFromGroup(ruled, home);
  return free > sumKept(state, ruled, at);
}

/** Free slots that members of this group must leave to others, even while their own are idle. */
export function countKeptFromMembers(
  state: State,
  pool: PoolName,
  group: string,
  at: Instant,
): number {
  const ruled = findRuledPool(state, pool, at);
  return ruled === null ? 0 : countKeptFromGroup(ruled, group);
}

/** Free slots that a caller without an idle reservation must leave to reserved groups. */
export function countKeptSlots(state: State, pool: PoolName, at: Instant): number {
  const ruled = findRuledPool(state, pool, at);
  return ruled === null ? 0 : sumKept(state, ruled, at);
}

/** Slots that the group is entitled to and does not use. */
export function countIdleSlots(state: State, pool: PoolName, group: string, at: Instant): number {
  const ruled = findRuledPool(state, pool, at);
  return ruled === null ? 0 : countIdle(ruled, group);
}

/** Whether the idle slots of the group are kept for it now; else others may use them. */
export function areIdleSlotsKept(
  state: State,
  pool: PoolName,
  group: string,
  at: Instant,
): boolean {
  const reservation = findRuledPool(state, pool, at)?.pool.findReservation(group);
  return reservation?.idle === "keep" || isRecalled(state, pool, group, at);
}

/** Whether the pool has reservations: without, the number of free slots does not matter. */
export const hasReservations = (state: State, pool: PoolName, at: Instant): boolean =>
  (findRuledPool(state, pool, at)?.pool.rules.reservations.length ?? 0) > 0;

/** All reservations of a pool at this instant, sorted by group. */
export function listReservations(
  state: State,
  pool: PoolName,
  at: Instant,
): readonly ReservationUse[] {
  const ruled = findRuledPool(state, pool, at);
  if (ruled === null) return [];
  return ruled.pool.rules.reservations.map(({ group, slots, idle, line }) => ({
    group,
    slots,
    idle,
    line,
    acting: idle === "keep" || isRecalled(state, pool, group, at) ? "keep" : "lend",
    idleSlots: countIdle(ruled, group),
  }));
}

/** The reservations with slots that their group does not use. */
export const listIdleReservations = (
  state: State,
  pool: PoolName,
  at: Instant,
): readonly ReservationUse[] =>
  listReservations(state, pool, at).filter(({ idleSlots }) => idleSlots > 0);

const countIdle = ({ pool, use }: RuledPool, group: string): number =>
  Math.max(0, (pool.findReservation(group)?.slots ?? 0) - use.byHome(group));

/**
 * A group that lent its slots waits for them: it takes none that another group keeps. Groups that
 * keep leave nothing to each other, or slots would stay unused where more is reserved than exists.
 */
const countKeptFromGroup = ({ pool, use }: RuledPool, group: string): number =>
  pool.findReservation(group)?.idle === "lend" ? use.keptIdle : 0;

const sumKept = (state: State, ruled: RuledPool, at: Instant): number =>
  ruled.use.keptIdle + sumRecalled(state, ruled, at);

/** The idle slots of lent reservations that are recalled. Few are at the same time. */
function sumRecalled({ recalls }: State, ruled: RuledPool, at: Instant): number {
  const { product, feature } = ruled.pool.rules;
  let sum = 0;
  for (const recall of recalls.values()) {
    if (recall.product !== product || recall.feature !== feature || at >= recall.until) continue;
    if (ruled.pool.findReservation(recall.group)?.idle === "lend")
      sum += countIdle(ruled, recall.group);
  }
  return sum;
}

const isRecalled = (state: State, pool: PoolName, group: string, at: Instant): boolean => {
  if (state.recalls.size === 0) return false;
  const { product, feature } = pool;
  const recall = state.recalls.get(recallKey({ product, feature, group }));
  return recall !== undefined && at < recall.until;
};

function judgeAdmission({ pool }: RuledPool, { product, feature, facts }: Claim): Fault | null {
  const denial = pool.findDenial(facts);
  return denial === null ? null : { code: "not_allowed_by_rules", ...denial, product, feature };
}

function findLimit(
  { pool, use }: RuledPool,
  { facts }: Claim,
  state: State,
  ownHold: number | null,
): ReachedLimit | null {
  const { eachUser, eachHost, groupLimits } = pool.rules;
  if (eachUser === null && eachHost === null && groupLimits.length === 0) return null;
  const ownShares = sharesOfHold(pool, state, ownHold);
  const { person, host, limitGroups } = pool.sharesOf(facts);
  if (eachUser !== null && person !== null) {
    if (isReached(use.byPerson(person), ownShares.person === person, eachUser))
      return makeReachedLimit("each_user", person, eachUser);
  }
  if (eachHost !== null && host !== null) {
    if (isReached(use.byHost(host), ownShares.host === host, eachHost))
      return makeReachedLimit("each_host", host, eachHost);
  }
  for (const limit of limitGroups) {
    const isOwn = ownShares.limitGroups.some(({ group }) => group === limit.group);
    if (isReached(use.byGroup(limit.group), isOwn, limit))
      return makeReachedLimit("group", limit.group, limit);
  }
  return null;
}

/** What the hold of a place counts for; nothing without one. */
export function sharesOfHold(
  pool: RuledPool["pool"],
  { rulesIndex }: State,
  place: number | null,
): Shares {
  const hold = place === null ? null : rulesIndex.findHold(place);
  return hold === null ? NO_SHARES : pool.sharesOf(hold.facts);
}

const isReached = (count: number, isOwn: boolean, { slots }: Limit): boolean =>
  count - (isOwn ? 1 : 0) >= slots;

const makeReachedLimit = (
  kind: ReachedLimit["kind"],
  name: string,
  { slots, line }: Limit,
): ReachedLimit => ({ kind, name, slots, line, key: counterKey(kind, name) });

export function makeLimitFault(
  limit: ReachedLimit | null,
  { product, feature }: Claim,
): CappedFault | null {
  if (limit === null) return null;
  const { kind, name, slots, line } = limit;
  return { code: "slots_capped", rule: { kind, name, slots, line }, product, feature };
}
