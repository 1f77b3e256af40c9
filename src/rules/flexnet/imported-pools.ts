import { poolKey, type PoolName } from "../../domain/model/slots/pool-name.ts";
import { INVISIBLE } from "../../domain/text/invisible-characters.ts";
import { countBytes } from "../../domain/text/text-size.ts";
import { RULES_LIMITS } from "../limits.ts";
import { createPool, type ImportedPool } from "./imported-rules.ts";

/**
 * The feature of an options file with its qualifier, as `f1:VERSION=1.0`. FlexNet also knows the
 * form `"f1 VERSION=1.0"`, with quotation marks.
 */
export const readFeatureName = (word: string): string => word.trim().replace(/\s+/, ":");

/** The products and floating features that the features of an options file become. */
export class ImportedPools {
  readonly #map: ReadonlyMap<string, PoolName>;
  readonly #pools = new Map<string, ImportedPool>();
  readonly #usedNames = new Set<string>();
  /** As the file names them, also those that have no pool. */
  readonly #features = new Set<string>();

  constructor(map: ReadonlyMap<string, PoolName>) {
    this.#map = map;
  }

  /** Also those of which no line was converted. */
  list(): readonly ImportedPool[] {
    return [...this.#pools.values()].toSorted((a, b) => (poolKey(a) < poolKey(b) ? -1 : 1));
  }

  /** The pool of a feature of the file; a text: why it has none. */
  find(source: string): ImportedPool | string {
    this.#features.add(source);
    const target = this.#map.get(source) ?? null;
    if (target !== null) {
      this.#usedNames.add(source);
      return this.#get(target, source);
    }
    const [name, qualifier] = splitQualifier(source);
    if (qualifier !== null) {
      return (
        `it is for the licenses of ${name} with ${qualifier} only, and rules are for a whole ` +
        `product: it is converted if ${source} is given a product`
      );
    }
    if (INVISIBLE.test(name) || name === "" || countBytes(name) > RULES_LIMITS.nameBytes) {
      return "the name of the feature cannot be a product code";
    }
    return this.#get({ product: name, feature: null }, source);
  }

  /** The features that the lines of the file name, and that a map can give a product. */
  listFeatures(): readonly string[] {
    return [...this.#features].toSorted();
  }

  /** All pools, with those of the map that no line has named yet. */
  addAllNamed(): readonly ImportedPool[] {
    for (const source of this.#map.keys()) this.find(source);
    return [...this.#pools.values()];
  }

  /** Names of the map that the file does not have. */
  unusedNames(): readonly string[] {
    return [...this.#map.keys()].filter((name) => !this.#usedNames.has(name));
  }

  #get(target: PoolName, source: string): ImportedPool {
    const pool = this.#pools.get(poolKey(target)) ?? createPool(target);
    this.#pools.set(poolKey(target), pool);
    pool.sources.add(source);
    return pool;
  }
}

function splitQualifier(source: string): readonly [string, string | null] {
  const colon = source.indexOf(":");
  return colon === -1
    ? [source, null]
    : [source.slice(0, colon), source.slice(colon + 1) || "no value"];
}
