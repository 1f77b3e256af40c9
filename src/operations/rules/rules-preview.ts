import { countHolds } from "../../domain/queue/holds.ts";
import { factsOfPlace } from "../../domain/queue/place.ts";
import { factsOfHolder } from "../../domain/rules/caller-facts.ts";
import {
  CompiledRules,
  type CompiledPool,
  type Shares,
} from "../../domain/rules/compiled-rules.ts";
import { FallenCounters } from "../../domain/rules/fallen-counters.ts";
import { listReservations } from "../../domain/rules/judge-claim.ts";
import { PoolCounters } from "../../domain/rules/pool-use.ts";
import type { CallerFacts, PoolRules, RuleSet } from "../../domain/rules/rule-set.ts";
import { countSlotsInUse, type SlotPool } from "../../domain/slots/pool.ts";
import type { FeatureRegistration, Registration } from "../../domain/slots/registration.ts";
import type { License, State } from "../../domain/state.ts";
import type { Instant } from "../../domain/time.ts";
import { runBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";

/** What other rules would change for those who hold or wait for a slot now. */
export interface PoolPreview {
  readonly product: string;
  readonly feature: string | null;
  readonly slots: number;
  readonly inUse: number;
  readonly holds: number;
  readonly before: ReservedSlots;
  readonly after: ReservedSlots;
  /** Holders that the rules would refuse. They keep their slots until they release them. */
  readonly denied: NameList<DeniedName>;
  /** Users, hosts and groups with more slots than a limit. They keep them, too. */
  readonly overLimit: NameList<OverLimit>;
  /** Users who wait and would be refused at once. */
  readonly deniedWaiting: NameList<DeniedName>;
}

export interface ReservedSlots {
  readonly reserved: number;
  /** Reserved slots that their groups do not use. */
  readonly idle: number;
  /** Free slots that a caller without a reservation can get. */
  readonly available: number;
}

export interface DeniedName {
  readonly user: string;
  readonly rule: "deny" | "allow_only";
  readonly group: string | null;
  readonly line: number;
}

export interface OverLimit {
  readonly kind: "each_user" | "each_host" | "group";
  readonly name: string;
  readonly inUse: number;
  readonly slots: number;
  readonly line: number;
}

/** The first names, and how many there are. */
export interface NameList<T> {
  readonly total: number;
  readonly first: readonly T[];
}

const MAX_NAMES = 100;
/** So many holders take a few milliseconds. */
const HOLDERS_PER_STEP = 1_000;

class NameCollector<T> {
  readonly #names = new Map<string, T>();
  readonly #seen = new Set<string>();

  add(key: string, entry: T): void {
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    if (this.#names.size < MAX_NAMES) this.#names.set(key, entry);
  }

  list(): NameList<T> {
    return { total: this.#seen.size, first: [...this.#names.values()] };
  }
}

type Holder = Registration | FeatureRegistration;
type PoolName = Pick<PoolRules, "product" | "feature">;

/** Reads the state between requests: it must be read anew at each step. */
export type StateReader = <T>(view: (state: State, at: Instant) => T) => T;

/** Computed in steps, between which requests are served. */
export async function previewRules(
  rules: RuleSet,
  read: StateReader,
): Promise<readonly PoolPreview[]> {
  const compiled = await runBetweenRequests(() => new CompiledRules(rules));
  const names = read(({ rules: applied }) => listPools(rules, applied?.rules ?? null));
  const previews: PoolPreview[] = [];
  for (const name of names) {
    const preview = await previewPool(name, compiled.find(name.product, name.feature), read);
    if (preview !== null) previews.push(preview);
  }
  return previews;
}

/** The pools that the rules name now, or would name. */
function listPools(rules: RuleSet, applied: RuleSet | null): readonly PoolName[] {
  const pools = new Map<string, PoolName>();
  for (const { product, feature } of [...rules.pools, ...(applied?.pools ?? [])]) {
    pools.set(JSON.stringify([product, feature]), { product, feature });
  }
  return [...pools.values()];
}

/** Null: no license has such slots. */
async function previewPool(
  name: PoolName,
  pool: CompiledPool | null,
  read: StateReader,
): Promise<PoolPreview | null> {
  const figures = read((state, at) => readFigures(state, name, at));
  if (figures === null) return null;
  const { slots, inUse, holds, at, before } = figures;
  const free = Math.max(0, slots - inUse - holds);
  if (pool === null) {
    const none = { total: 0, first: [] };
    const after = { reserved: 0, idle: 0, available: free };
    const lists = { denied: none, overLimit: none, deniedWaiting: none };
    return { ...name, slots, inUse, holds, before, after, ...lists };
  }
  const counters = new PoolCounters(pool, at, new FallenCounters());
  const denied = new NameCollector<DeniedName>();
  const overLimit = new NameCollector<OverLimit>();
  await forEachHolder(name, read, (facts) => {
    counters.add(facts);
    const denial = findDenial(pool, facts);
    if (denial !== null) denied.add(facts.user, denial);
  });
  await forEachHolder(name, read, (facts) => {
    const shares = pool.sharesOf(facts);
    for (const limit of listExceeded(pool.rules, shares, counters)) {
      overLimit.add(`${limit.kind} ${limit.name}`, limit);
    }
  });
  const reservations = pool.rules.reservations;
  const idle = reservations.reduce(
    (sum, { group, slots: reserved }) => sum + Math.max(0, reserved - counters.byHome(group)),
    0,
  );
  const after: ReservedSlots = {
    reserved: reservations.reduce((sum, reservation) => sum + reservation.slots, 0),
    idle,
    available: Math.max(0, free - counters.keptIdle),
  };
  const deniedWaiting = read((state) => listDeniedWaiting(state, name, pool));
  return {
    ...name,
    slots,
    inUse,
    holds,
    before,
    after,
    denied: denied.list(),
    overLimit: overLimit.list(),
    deniedWaiting,
  };
}

interface PoolFigures {
  readonly at: Instant;
  readonly slots: number;
  readonly inUse: number;
  readonly holds: number;
  readonly before: ReservedSlots;
}

function readFigures(state: State, name: PoolName, at: Instant): PoolFigures | null {
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

const listSlotPools = ({ products }: State, { product, feature }: PoolName): readonly PoolPart[] =>
  (products.get(product) ?? []).flatMap((license): PoolPart[] => {
    if (feature === null) return [{ license, slots: license.terms.slots, pool: license.pool }];
    const found = license.features.get(feature);
    const slots = found?.terms.floating?.slots;
    return found === undefined || slots === undefined ? [] : [{ license, slots, pool: found.pool }];
  });

/** Holders that come and go meanwhile may be missed: a preview is of no instant in particular. */
async function forEachHolder(
  name: PoolName,
  read: StateReader,
  visit: (facts: CallerFacts) => void,
): Promise<void> {
  const licenses = read((state) => listSlotPools(state, name).map(({ license }) => license.id));
  for (const id of licenses) {
    let after: number | null = -1;
    while (after !== null) {
      const from: number = after;
      after = await runBetweenRequests(() =>
        read((state, at) => {
          const part = listSlotPools(state, name).find((one) => one.license.id === id);
          return part === undefined ? null : visitSome(part.pool, from, at, visit);
        }),
      );
    }
  }
}

/** Returns the slot to continue after; null: all were visited. */
function visitSome(
  pool: SlotPool<Holder>,
  after: number,
  at: Instant,
  visit: (facts: CallerFacts) => void,
): number | null {
  let count = 0;
  for (const holder of pool.inSlotOrder(after)) {
    if (holder.end > at) visit(factsOfHolder(holder));
    count += 1;
    if (count === HOLDERS_PER_STEP) return holder.slot;
  }
  return null;
}

function findDenial(pool: CompiledPool, facts: CallerFacts): DeniedName | null {
  const { user } = facts;
  const denied = pool.findDeny(facts);
  if (denied !== null) return { user, rule: "deny", group: denied.group, line: denied.line };
  if (!pool.isLeftOut(facts)) return null;
  const line = pool.rules.allowOnly?.[0]?.line ?? 0;
  return { user, rule: "allow_only", group: null, line };
}

function listExceeded(
  { eachUser, eachHost }: PoolRules,
  { person, host, limitGroups }: Shares,
  use: PoolCounters,
): OverLimit[] {
  const limits = [
    ...(eachUser === null || person === null
      ? []
      : [{ kind: "each_user" as const, name: person, inUse: use.byPerson(person), ...eachUser }]),
    ...(eachHost === null || host === null
      ? []
      : [{ kind: "each_host" as const, name: host, inUse: use.byHost(host), ...eachHost }]),
    ...limitGroups.map(({ group, slots, line }) => ({
      kind: "group" as const,
      name: group,
      inUse: use.byGroup(group),
      slots,
      line,
    })),
  ];
  return limits.filter(({ inUse, slots }) => inUse > slots);
}

function listDeniedWaiting(
  { queues }: State,
  { product, feature }: PoolName,
  pool: CompiledPool,
): NameList<DeniedName> {
  const denied = new NameCollector<DeniedName>();
  if (feature === null) {
    for (const place of queues.get(product)?.places ?? []) {
      const denial = findDenial(pool, factsOfPlace(place));
      if (denial !== null) denied.add(place.user, denial);
    }
  }
  return denied.list();
}
