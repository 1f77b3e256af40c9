import { ExpiryIndex } from "./expiry-index.ts";
import type { Terms, FeatureTerms } from "./terms.ts";
import { instant, type Instant } from "./time.ts";

/**
 * All license state. Keys are callers' strings, so everything looked up by one is a Map: a plain
 * object would already know a user named `constructor`. Only evolve.ts changes any of it.
 */
export interface State {
  kind: Kind;
  createdAt: Instant;
  /** The newest instant any event was stamped with; time never runs behind it. */
  mark: Instant;
  nextSlot: number;
  readonly licenses: Map<number, License>;
  /** The same licenses by product code, the most recently added first. */
  readonly products: Map<string, License[]>;
  /** By route, product, user and key, oldest first. */
  readonly remembered: Map<string, Remembered>;
  /** Refusals since the folder was made, by product and code. */
  readonly refusals: Map<string, RefusalTotal>;
}

/** A demo's folder never serves a site, and the other way round. */
export type Kind = "site" | "demo";

export interface License {
  readonly id: number;
  readonly addedAt: Instant;
  terms: Terms;
  readonly counter: Counter;
  readonly pool: Pool<Registration>;
  readonly features: Map<string, Feature>;
}

export interface Feature {
  terms: FeatureTerms;
  readonly counter: Counter;
  readonly pool: Pool<FeatureRegistration>;
}

/** Who holds slots, by user and by when they end. Ended ones stay until their expiry is written. */
export interface Pool<T extends FeatureRegistration> {
  readonly holders: Map<string, T>;
  readonly ends: ExpiryIndex<T>;
}

export interface FeatureRegistration {
  readonly slot: number;
  readonly user: string;
  readonly registeredAt: Instant;
  end: Instant;
}

export interface Registration extends FeatureRegistration {
  contact: Contact;
  borrowedUntil: Instant | null;
}

/** Where the holder last spoke from: what it says of itself, and the address it came from. */
export interface Contact {
  readonly hostname: string;
  readonly ip: string;
  readonly info: string;
  readonly peer: string;
}

export interface Counter {
  total: number;
  /** From here on the total counts as zero; null: never. */
  resetAt: Instant | null;
}

/** A command done once under a key: what it was, and what came of it. */
export interface Remembered {
  readonly at: Instant;
  readonly fingerprint: string;
  readonly outcome: unknown;
}

export interface RefusalTotal {
  readonly product: string | null;
  readonly code: string;
  readonly count: number;
  readonly lastAt: Instant;
}

export const emptyState = (kind: Kind): State => ({
  kind,
  createdAt: instant(0),
  mark: instant(0),
  nextSlot: 1,
  licenses: new Map(),
  products: new Map(),
  remembered: new Map(),
  refusals: new Map(),
});

export const emptyPool = <T extends FeatureRegistration>(): Pool<T> => ({
  holders: new Map(),
  ends: new ExpiryIndex<T>(),
});
