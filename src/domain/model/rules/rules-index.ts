import { instant, latest, type Instant } from "../../time.ts";
import { CompiledRules, type CompiledPool } from "./compiled-rules.ts";
import { FallenCounters } from "./fallen-counters.ts";
import {
  IndexedRules,
  type CountedHold,
  type Holder,
  type HolderPool,
  type Licenses,
} from "./indexed-rules.ts";
import type { PoolUse } from "./pool-use.ts";
import type { RuleSet } from "./rule-set.ts";

/** The rules of a pool, and how its slots are used. */
export interface RuledPool {
  readonly pool: CompiledPool;
  readonly use: PoolUse;
}

/** What the index is built from. */
export interface RulesSource extends Licenses {
  readonly rules: { readonly digest: string; readonly rules: RuleSet } | null;
}

/**
 * Counters for the applied rules, and for rules that are about to be applied. It is in memory only:
 * it follows from the rules and from the facts of each holder. It is built when it is needed first,
 * so a replay of the journal does not pay for it.
 */
export class RulesIndex {
  /** For users who wait until a counter falls. */
  readonly fallenCounters = new FallenCounters();
  readonly #holds = new Map<number, CountedHold>();
  #compiled: CompiledRules | null = null;
  #active: IndexedRules | null = null;
  #prepared: { readonly digest: string; readonly indexed: IndexedRules } | null = null;
  /** No cursor of a pool is after it. */
  #latestCursor = instant(0);

  /** The rules for a pool, without its counters; null: no rule is about it. */
  findRules(
    { rules }: Pick<RulesSource, "rules">,
    product: string,
    feature: string | null,
  ): CompiledPool | null {
    return rules === null ? null : this.#compile(rules.rules).find(product, feature);
  }

  /** The rules for a pool, with its counters at this instant; null: no rule is about it. */
  findPool(
    source: RulesSource,
    product: string,
    feature: string | null,
    at: Instant,
  ): RuledPool | null {
    if (source.rules === null) return null;
    if (this.#active === null || at < this.#latestCursor) this.build(source, at);
    this.#latestCursor = at;
    const use = this.#active?.findAt(source, product, feature, at) ?? null;
    return use === null ? null : { pool: use.pool, use };
  }

  /** Counts all holders, in one step. After a start, before the first request. */
  build(source: RulesSource, at: Instant): void {
    if (source.rules === null) return;
    // The counters of a later time do not count what ended until then.
    if (at < this.#latestCursor) this.#prepared = null;
    const indexed = this.#begin(source, this.#compile(source.rules.rules), at);
    indexed.countSome(source, Infinity);
    this.#active = indexed;
    this.#latestCursor = at;
  }

  /**
   * Begins to count the holders for rules that are to be applied; call the result until it returns
   * true. Requests can be served between the calls.
   */
  prepare(
    source: RulesSource,
    digest: string,
    rules: RuleSet,
    at: Instant,
  ): (limit: number) => boolean {
    const indexed = this.#begin(source, new CompiledRules(rules), at);
    this.#prepared = { digest, indexed };
    this.#latestCursor = latest(this.#latestCursor, at);
    return (limit) => indexed.countSome(source, limit);
  }

  /** What was prepared is not applied: it need not be counted any longer. */
  discardPrepared(): void {
    this.#prepared = null;
  }

  /** The rules were replaced. What was prepared for them is used, if it is complete. */
  replaceRules(source: RulesSource): void {
    const prepared = this.#prepared;
    this.#prepared = null;
    const isPrepared = prepared !== null && prepared.digest === source.rules?.digest;
    // Nearly always complete: then this counts nothing.
    if (isPrepared) prepared.indexed.countSome(source, Infinity);
    this.#active = isPrepared ? prepared.indexed : null;
    this.#compiled = this.#active?.compiled ?? null;
    this.fallenCounters.reportAll();
  }

  /** All ends changed: everything is counted anew when it is needed. */
  reset(): void {
    this.#active = null;
    this.#prepared = null;
    this.#latestCursor = instant(0);
    this.fallenCounters.reportAll();
  }

  addHolder(pool: HolderPool, holder: Holder): void {
    this.#active?.addHolder(pool, holder);
    this.#prepared?.indexed.addHolder(pool, holder);
  }

  removeHolder(pool: HolderPool, holder: Holder): void {
    this.#active?.removeHolder(pool, holder);
    this.#prepared?.indexed.removeHolder(pool, holder);
  }

  /** Whether a holder with this end may have left the counters. For a heartbeat, it has not. */
  mayHaveEnded(end: Instant): boolean {
    return end <= this.#latestCursor;
  }

  addHold(place: number, hold: CountedHold): void {
    this.#holds.set(place, hold);
    this.#active?.addHold(hold);
    this.#prepared?.indexed.addHold(hold);
  }

  removeHold(place: number): void {
    const hold = this.#holds.get(place);
    if (hold === undefined) throw new Error("a hold is not counted that is removed");
    this.#holds.delete(place);
    this.#active?.removeHold(hold);
    this.#prepared?.indexed.removeHold(hold);
  }

  findHold(place: number): CountedHold | null {
    return this.#holds.get(place) ?? null;
  }

  #compile(rules: RuleSet): CompiledRules {
    if (this.#compiled?.rules !== rules) this.#compiled = new CompiledRules(rules);
    return this.#compiled;
  }

  #begin(source: RulesSource, rules: CompiledRules, at: Instant): IndexedRules {
    return new IndexedRules(rules, source, this.#holds.values(), at, this.fallenCounters);
  }
}
