import type { FeatureRegistration, Registration } from "../slots/registration.ts";
import type { SlotPool } from "../slots/pool.ts";
import { later, type Instant } from "../../time.ts";
import { factsOfHolder, type CallerFacts } from "./caller-facts.ts";
import type { CompiledRules } from "./compiled-rules.ts";
import type { FallenCounters } from "./fallen-counters.ts";
import { PoolCounters } from "./pool-use.ts";

export type Holder = Registration | FeatureRegistration;

/** The slots that a holder has one of: those of a license, or of one of its features. */
export interface HolderPool {
  readonly product: string;
  readonly license: number;
  readonly feature: string | null;
}

/** A granted slot that its user has not collected yet. */
export interface CountedHold {
  readonly product: string;
  readonly license: number;
  readonly facts: CallerFacts;
}

interface HolderLicense {
  readonly id: number;
  readonly pool: SlotPool<Registration>;
  readonly features: ReadonlyMap<string, { readonly pool: SlotPool<FeatureRegistration> }>;
}

/** The part of the state that holders are found in. */
export interface Licenses {
  readonly licenses: ReadonlyMap<number, HolderLicense>;
  readonly products: ReadonlyMap<string, readonly HolderLicense[]>;
}

/** A pool of holders that is to be counted, and up to which slot that is done. */
interface Scan extends HolderPool {
  after: number;
}

/**
 * A rule set with the counters of its pools. The holders are counted in steps; what changes
 * meanwhile is counted too.
 */
export class IndexedRules {
  readonly compiled: CompiledRules;
  readonly #counters = new Map<string, Map<string | null, PoolCounters>>();
  /** The pools that are not counted completely; the last one is being counted. */
  readonly #scans: Scan[] = [];

  constructor(
    compiled: CompiledRules,
    { products }: Licenses,
    holds: Iterable<CountedHold>,
    at: Instant,
    fallen: FallenCounters,
  ) {
    this.compiled = compiled;
    for (const pool of this.compiled.all()) {
      const { product, feature } = pool.rules;
      const ofProduct = this.#counters.get(product) ?? new Map<string | null, PoolCounters>();
      ofProduct.set(feature, new PoolCounters(pool, at, fallen));
      this.#counters.set(product, ofProduct);
      for (const { id } of products.get(product) ?? [])
        this.#scans.push({ product, license: id, feature, after: -1 });
    }
    for (const { product, facts } of holds) this.#find(product, null)?.add(facts);
  }

  /** Counts at most so many more holders; returns whether all are counted now. */
  countSome({ licenses }: Licenses, limit: number): boolean {
    let remaining = limit;
    for (let scan = this.#scans.at(-1); scan !== undefined; scan = this.#scans.at(-1)) {
      const counters = this.#find(scan.product, scan.feature);
      for (const holder of poolOf(licenses, scan)?.inSlotOrder(scan.after) ?? []) {
        if (remaining === 0) return false;
        remaining -= 1;
        scan.after = holder.slot;
        if (counters !== null && holder.end > counters.cursor) counters.add(factsOfHolder(holder));
      }
      this.#scans.pop();
    }
    return true;
  }

  /** The counters of a pool at this instant; null: no rule is about it. */
  findAt(
    { products }: Licenses,
    product: string,
    feature: string | null,
    at: Instant,
  ): PoolCounters | null {
    const counters = this.#find(product, feature);
    if (counters === null || counters.cursor === at) return counters;
    // Each holder leaves the counters once: when its end passes, whether or not that is written.
    const from = later(counters.cursor, 1);
    for (const license of products.get(product) ?? []) {
      const pool = feature === null ? license.pool : license.features.get(feature)?.pool;
      for (const holder of pool?.expiryIndex.endingBetween(from, at) ?? [])
        counters.remove(factsOfHolder(holder));
    }
    counters.cursor = at;
    return counters;
  }

  addHolder(pool: HolderPool, holder: Holder): void {
    this.#findCounting(pool, holder)?.add(factsOfHolder(holder));
  }

  removeHolder(pool: HolderPool, holder: Holder): void {
    this.#findCounting(pool, holder)?.remove(factsOfHolder(holder));
  }

  addHold({ product, facts }: CountedHold): void {
    this.#find(product, null)?.add(facts);
  }

  removeHold({ product, facts }: CountedHold): void {
    this.#find(product, null)?.remove(facts);
  }

  /** The counters that count this holder now; null: none. */
  #findCounting(pool: HolderPool, { slot, end }: Holder): PoolCounters | null {
    const counters = this.#find(pool.product, pool.feature);
    if (counters === null || end <= counters.cursor) return null;
    const scan = this.#scans.find(
      ({ license, feature }) => license === pool.license && feature === pool.feature,
    );
    return scan === undefined || slot <= scan.after ? counters : null;
  }

  #find(product: string, feature: string | null): PoolCounters | null {
    return this.#counters.get(product)?.get(feature) ?? null;
  }
}

function poolOf(
  licenses: ReadonlyMap<number, HolderLicense>,
  { license, feature }: HolderPool,
): SlotPool<Holder> | undefined {
  const found = licenses.get(license);
  return feature === null ? found?.pool : found?.features.get(feature)?.pool;
}
