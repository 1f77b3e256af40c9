import { LargeMap } from "../index/large-map.ts";
import type { Instant } from "../time.ts";
import type { CompiledPool, Shares } from "./compiled-rules.ts";
import type { FallenCounters } from "./fallen-counters.ts";
import type { CallerFacts } from "./rule-set.ts";

/** Numbers by name. There may be a million names. */
class NamedCounts {
  readonly #counts = new LargeMap<{ readonly name: string; count: number }>(({ name }) => name);

  get(name: string): number {
    return this.#counts.get(name)?.count ?? 0;
  }

  add(name: string, change: 1 | -1): void {
    const entry = this.#counts.get(name);
    if (entry === undefined) {
      if (change < 0) throw new Error("a slot was not counted that is removed from a counter");
      return this.#counts.set({ name, count: change });
    }
    entry.count += change;
    if (entry.count === 0) this.#counts.delete(name);
  }
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
