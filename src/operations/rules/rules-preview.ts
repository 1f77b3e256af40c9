import { factsOfPlace } from "../../domain/model/queue/place.ts";
import { factsOfHolder, type CallerFacts } from "../../domain/model/rules/caller-facts.ts";
import {
  CompiledRules,
  type CompiledPool,
  type Denial,
  type Shares,
} from "../../domain/model/rules/compiled-rules.ts";
import { FallenCounters } from "../../domain/model/rules/fallen-counters.ts";
import type { Holder } from "../../domain/model/rules/indexed-rules.ts";
import type { PoolName } from "../../domain/model/slots/pool-name.ts";
import { PoolCounters } from "../../domain/model/rules/pool-use.ts";
import type { PoolRules, RuleSet } from "../../domain/model/rules/rule-set.ts";
import type { SlotPool } from "../../domain/model/slots/pool.ts";
import type { State } from "../../domain/model/state.ts";
import type { Instant } from "../../domain/time.ts";
import {
  repeatBetweenRequests,
  runBetweenRequests,
} from "../../platform/schedule/yield-to-requests.ts";
import { listSlotPools, type PoolFigures, type ReservationFigures } from "./pool-figures.ts";

/** What other rules would change for those who hold or wait for a slot now. */
export interface PoolPreview {
  readonly product: string;
  readonly feature: string | null;
  readonly slots: number;
  readonly inUse: number;
  readonly holds: number;
  readonly before: ReservationFigures;
  readonly after: ReservationFigures;
  /** Holders that the rules would refuse. They keep their slots until they release them. */
  readonly denied: NameList<DeniedName>;
  /** Users, hosts and groups with more slots than a limit. They keep them, too. */
  readonly overLimit: NameList<OverLimit>;
  /** Users who wait and would be refused at once. */
  readonly deniedWaiting: NameList<DeniedName>;
}

export interface DeniedName extends Denial {
  readonly user: string;
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
/** Usually a fraction of a millisecond; ten milliseconds if each of them is in 1,000 groups. */
export const HOLDERS_PER_STEP = 50;

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

/** Reads the state between requests: it must be read anew at each step. */
export type StateReader = <T>(view: (state: State) => T) => T;

/** Computed in steps, between which requests are served. */
export async function previewRules(
  rules: RuleSet,
  figures: readonly PoolFigures[],
  read: StateReader,
): Promise<readonly PoolPreview[]> {
  const compiled = await runBetweenRequests(() => new CompiledRules(rules));
  const previews: PoolPreview[] = [];
  for (const pool of figures)
    previews.push(await previewPool(pool, compiled.find(pool.product, pool.feature), read));
  return previews;
}

async function previewPool(
  figures: PoolFigures,
  pool: CompiledPool | null,
  read: StateReader,
): Promise<PoolPreview> {
  const { product, feature, slots, inUse, holds, at, before } = figures;
  const name: PoolName = { product, feature };
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
  await forEachHolder(figures, read, (facts) => {
    counters.add(facts);
    const denial = pool.findDenial(facts);
    if (denial !== null) denied.add(facts.user, { user: facts.user, ...denial });
  });
  read((state) => {
    for (const facts of listHolds(state, name)) counters.add(facts);
  });
  await forEachHolder(figures, read, (facts) => {
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
  const after: ReservationFigures = {
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

/** Holders that come and go meanwhile may be missed: a preview is of no instant in particular. */
async function forEachHolder(
  { at, ...name }: PoolFigures,
  read: StateReader,
  visit: (facts: CallerFacts) => void,
): Promise<void> {
  const licenses = read((state) => listSlotPools(state, name).map(({ license }) => license.id));
  for (const id of licenses) {
    let after: number | null = -1;
    await repeatBetweenRequests(() => {
      const from = after ?? -1;
      after = read((state) => {
        const part = listSlotPools(state, name).find((one) => one.license.id === id);
        return part === undefined ? null : visitSome(part.pool, from, at, visit);
      });
      return after === null;
    });
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

/** Users for whom a slot is held: it counts as if they had it. */
const listHolds = ({ queues }: State, { product, feature }: PoolName): readonly CallerFacts[] =>
  Array.from(feature === null ? (queues.get(product)?.places ?? []) : [])
    .filter(({ hold }) => hold !== null)
    .map(factsOfPlace);

function listDeniedWaiting(
  { queues }: State,
  { product, feature }: PoolName,
  pool: CompiledPool,
): NameList<DeniedName> {
  const denied = new NameCollector<DeniedName>();
  if (feature === null) {
    for (const place of queues.get(product)?.places ?? []) {
      const denial = pool.findDenial(factsOfPlace(place));
      if (denial !== null) denied.add(place.user, { user: place.user, ...denial });
    }
  }
  return denied.list();
}
