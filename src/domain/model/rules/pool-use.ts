import type { Instant } from "../../time.ts";
import type { CompiledPool, Shares } from "./compiled-rules.ts";
import type { FallenCounters } from "./fallen-counters.ts";
import type { CallerFacts } from "./caller-facts.ts";

const SHARDS = 256;

/**
 * Numbers by name. There may be a million names, and the garbage collector scans a changed map as a
 * whole: so there are many small ones.
 */
class NamedCounts {
  readonly #shards: (Map<string, number> | undefined)[] = [];

  get(name: string): number {
    return this.#shards[shardOf(name)]?.get(name) ?? 0;
  }

  add(name: string, change: 1 | -1): void {
    const shard = (this.#shards[shardOf(name)] ??= new Map());
    const count = (shard.get(name) ?? 0) + change;
    if (count < 0) throw new Error("a slot was not counted that is removed from a counter");
    if (count === 0) shard.delete(name);
    else shard.set(name, count);
  }
}

/** By the last characters: names often begin alike. A bad choice costs time only. */
function shardOf(name: string): number {
  const end = name.length;
  const last = end < 1 ? 0 : name.charCodeAt(end - 1);
  const previous = end < 2 ? 0 : name.charCodeAt(end - 2);
  const third = end < 3 ? 0 : name.charCodeAt(end - 3);
  return (last * 31 + previous * 17 + third * 7 + end) % SHARDS;
}

/**
 * How the slots of one pool are used, counted as its rules need it: over all licenses of the
 * product, with holds. A counter that no rule needs stays 0.
 */
export interface PoolUse {
  byPerson(person: string): number;
  byHost(host: string): number;
  byGroup(group: string): number;
  byHome(group: string): number;
  /** The slots that `keep` reservations are entitled to and do not use, summed up. */
  readonly keptIdle: number;
}

/** The key of a counter, for users who wait until it falls. */
export const counterKey = (kind: "each_user" | "each_host" | "group", name: string): string =>
  `${kind} ${name}`;

/**
 * A holder is counted from its grant until its end passes. So it is counted exactly while its end
 * is after the cursor; nothing has to be kept for each holder.
 */
export class PoolCounters implements PoolUse {
  readonly pool: CompiledPool;
  /** Holders that end at this instant or before are not counted any more. */
  cursor: Instant;
  readonly #persons = new NamedCounts();
  readonly #hosts = new NamedCounts();
  readonly #groups = new NamedCounts();
  readonly #homes = new NamedCounts();
  readonly #fallen: FallenCounters;
  #keptIdle: number;

  constructor(pool: CompiledPool, cursor: Instant, fallen: FallenCounters) {
    this.pool = pool;
    this.cursor = cursor;
    this.#fallen = fallen;
    this.#keptIdle = pool.rules.reservations.reduce(
      (sum, { slots, idle }) => sum + (idle === "keep" ? slots : 0),
      0,
    );
  }

  get keptIdle(): number {
    return this.#keptIdle;
  }

  byPerson(person: string): number {
    return this.#persons.get(person);
  }

  byHost(host: string): number {
    return this.#hosts.get(host);
  }

  byGroup(group: string): number {
    return this.#groups.get(group);
  }

  byHome(group: string): number {
    return this.#homes.get(group);
  }

  add(facts: CallerFacts): void {
    this.#change(this.pool.sharesOf(facts), 1);
  }

  remove(facts: CallerFacts): void {
    const shares = this.pool.sharesOf(facts);
    this.#change(shares, -1);
    const { product, feature } = this.pool.rules;
    if (feature === null && this.#fallen.hasWatched(product)) this.#reportFall(product, shares);
  }

  #change({ person, host, limitGroups, home }: Shares, change: 1 | -1): void {
    if (person !== null) this.#persons.add(person, change);
    if (host !== null) this.#hosts.add(host, change);
    for (const { group } of limitGroups) this.#groups.add(group, change);
    if (home !== null) this.#changeHome(home, change);
  }

  #changeHome(home: string, change: 1 | -1): void {
    const reservation = this.pool.findReservation(home);
    const before = this.#homes.get(home);
    this.#homes.add(home, change);
    if (reservation?.idle !== "keep") return;
    const idleAt = (count: number): number => Math.max(0, reservation.slots - count);
    this.#keptIdle += idleAt(before + change) - idleAt(before);
  }

  #reportFall(product: string, { person, host, limitGroups }: Shares): void {
    if (person !== null) this.#fallen.report(product, counterKey("each_user", person));
    if (host !== null) this.#fallen.report(product, counterKey("each_host", host));
    for (const { group } of limitGroups) this.#fallen.report(product, counterKey("group", group));
  }
}
