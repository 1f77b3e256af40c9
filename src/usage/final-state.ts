import type { Terms } from "../domain/model/licenses/terms.ts";
import type { RuleSet } from "../domain/model/rules/rule-set.ts";
import type { FeatureRegistration, Registration } from "../domain/model/slots/registration.ts";
import type { State } from "../domain/model/state.ts";
import type { Instant } from "../domain/time.ts";

/** What completes a site record: the state after its last line, as far as it is needed. */
export interface FinalState {
  readonly now: Instant;
  /** By license. */
  readonly terms: ReadonlyMap<number, { readonly vendor: string; readonly terms: Terms }>;
  /** The products of all licenses, also of removed ones: an id always belongs to one product. */
  readonly products: ReadonlyMap<number, string>;
  /** When the appliance was moved to another host; null: it was not. */
  readonly retiredAt: Instant | null;
  readonly holders: readonly HeldSlot[];
  /** The rules of sharing; null: there are none. */
  readonly rules: RuleSet | null;
  /** The places in all queues. */
  readonly places: readonly { readonly product: string; readonly place: number }[];
}

export interface HeldSlot {
  readonly license: number;
  readonly feature: string | null;
  readonly user: string;
  readonly slot: number;
  /** In the past: it has ended, and no line says so yet. */
  readonly end: Instant;
  readonly host: string;
  readonly peer: string;
  readonly borrow: { readonly from: Instant; readonly until: Instant } | null;
}

/** How many slots the pools hold, with those that have ended. */
export type PoolSizes = readonly {
  readonly license: number;
  readonly feature: string | null;
  readonly size: number;
}[];

/**
 * The same without the slots that are held: only those that have ended and that no line has ended
 * yet. It takes no longer for a million slots than for ten.
 */
export function captureEndedSlots(
  state: State,
  now: Instant,
): { readonly final: FinalState; readonly sizes: PoolSizes } {
  const holders: HeldSlot[] = [];
  const sizes: PoolSizes[number][] = [];
  for (const { id: license, pool, features } of state.licenses.values()) {
    sizes.push({ license, feature: null, size: pool.size });
    for (const registration of pool.expiryIndex.ended(now, Infinity))
      holders.push(makeHeldSlot(license, null, registration));
    for (const [feature, { pool: slots }] of features) {
      sizes.push({ license, feature, size: slots.size });
      for (const registration of slots.expiryIndex.ended(now, Infinity))
        holders.push(makeHeldSlot(license, feature, registration));
    }
  }
  return { final: { ...captureLicenses(state, now), holders }, sizes };
}

/** A copy of what is needed: the state itself changes with the next command. */
export const captureFinalState = (state: State, now: Instant): FinalState => ({
  ...captureLicenses(state, now),
  holders: listHolders(state),
});

function captureLicenses(state: State, now: Instant): Omit<FinalState, "holders"> {
  const products = new Map<number, string>();
  for (const { license, product } of state.tombstones.values()) products.set(license, product);
  const terms = new Map<number, { vendor: string; terms: Terms }>();
  for (const { id, terms: current, grant } of state.licenses.values()) {
    products.set(id, current.product);
    terms.set(id, { vendor: grant.vendor, terms: current });
  }
  const retiredAt = state.retirement?.at ?? null;
  const places = [...state.queues].flatMap((queue) =>
    [...queue.places].map(({ number: place }) => ({ product: queue.product, place })),
  );
  const rules = state.rules?.rules ?? null;
  return { now, terms, products, retiredAt, rules, places };
}

function listHolders({ licenses }: State): HeldSlot[] {
  const holders: HeldSlot[] = [];
  for (const { id: license, pool, features } of licenses.values()) {
    for (const registration of pool.inSlotOrder()) {
      holders.push(makeHeldSlot(license, null, registration));
    }
    for (const [feature, { pool: slots }] of features) {
      for (const registration of slots.inSlotOrder()) {
        holders.push(makeHeldSlot(license, feature, registration));
      }
    }
  }
  return holders;
}

function makeHeldSlot(
  license: number,
  feature: string | null,
  registration: Registration | FeatureRegistration,
): HeldSlot {
  const { user, slot, end } = registration;
  const fields = { license, feature, user, slot, end };
  if (!("contact" in registration)) return { ...fields, host: "", peer: "", borrow: null };
  const { contact, borrowedAt: from, borrowedUntil: until } = registration;
  const borrow = from === null || until === null ? null : { from, until };
  return { ...fields, host: contact.hostname, peer: contact.peer, borrow };
}
