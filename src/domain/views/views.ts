import { totalAt } from "../consumption/counters.ts";
import { findMoveGraceEnd, findRestoreGraceEnd } from "../licenses/license-host.ts";
import { checkLicenseValid } from "../licenses/licenses.ts";
import { countHolds } from "../queue/holds.ts";
import type { RuleContext } from "../model/rule-context.ts";
import { factsOfHolder } from "../model/rules/caller-facts.ts";
import { listReservations } from "../rules/judge-claim.ts";
import { countSlotsInUse } from "../model/slots/pool.ts";
import { listInSlotOrder } from "../slots/slot-order.ts";
import { getBorrowEnd, type Registration } from "../model/slots/registration.ts";
import type { Feature, Grant, License, State } from "../model/state.ts";
import { getLicenseEnd, type FeatureTerms, type Terms } from "../model/licenses/terms.ts";
import type { Instant } from "../time.ts";

/**
 * What a reader sees of the state at one instant: plain copies, because the state changes while an
 * answer waits for the disk.
 */
export interface LicenseView {
  readonly id: number;
  readonly addedAt: Instant;
  readonly terms: Terms;
  readonly grant: Grant;
  readonly active: boolean;
  readonly expired: boolean;
  /** Null: it grants slots; else the code of the refusal it would give. */
  readonly refusal: string | null;
  /**
   * It was moved here from the host it is signed for, and is valid until then; null: it was not
   * moved.
   */
  readonly movedUntil: Instant | null;
  /**
   * It was restored on a machine that it is not signed for, and is valid there until then; null: it
   * was not, or the vendor grants no such time.
   */
  readonly restoredUntil: Instant | null;
  readonly slotsInUse: number;
  /** Free slots that are kept for users who waited. */
  readonly holds: number;
  readonly total: number;
  readonly features: readonly FeatureView[];
}

export interface FeatureView {
  /** Its number among the license's features; features are never removed from that list. */
  readonly id: number;
  readonly terms: FeatureTerms;
  readonly slotsInUse: number;
  readonly total: number;
}

const NO_FEATURES: readonly FeatureView[] = [];

export function viewLicense(state: State, license: License, context: RuleContext): LicenseView {
  const { at } = context;
  const { id, addedAt, terms, grant, counter, pool, features } = license;
  const end = getLicenseEnd(terms);
  return {
    id,
    addedAt,
    terms,
    grant,
    active: terms.start === null || at >= terms.start,
    expired: end !== null && at >= end,
    refusal: checkLicenseValid(state, license, context)?.code ?? null,
    movedUntil: findMoveGraceEnd(state, license, context),
    restoredUntil: findRestoreGraceEnd(state, license, context),
    slotsInUse: countSlotsInUse(pool, at),
    holds: countHolds(state, license),
    total: totalAt(counter, at),
    features:
      features.size === 0
        ? NO_FEATURES
        : [...features.values()].map((feature, index) => makeFeatureView(feature, index + 1, at)),
  };
}

/** Null: the license has no such feature. */
export function viewFeature({ features }: License, code: string, at: Instant): FeatureView | null {
  const feature = features.get(code);
  const index = [...features.keys()].indexOf(code);
  return feature === undefined ? null : makeFeatureView(feature, index + 1, at);
}

function makeFeatureView({ terms, counter, pool }: Feature, id: number, at: Instant): FeatureView {
  return { id, terms, slotsInUse: countSlotsInUse(pool, at), total: totalAt(counter, at) };
}

export interface RegistrationView extends Readonly<Registration> {
  readonly license: number;
  readonly product: string;
  readonly features: readonly string[];
  /** The group whose reserved slots the holder uses; null: none. */
  readonly home: string | null;
}

/** One page of a long list: at most `limit` items after this slot. */
export interface PageRange {
  readonly after: number;
  readonly limit: number;
}

const ALL: PageRange = { after: 0, limit: Infinity };

/** The registrations at this instant, in slot order. */
export function viewRegistrations(
  state: State,
  product: string | null,
  at: Instant,
  { after, limit }: PageRange = ALL,
): RegistrationView[] {
  const views: RegistrationView[] = [];
  for (const view of listRegistrations(state, product, at, after)) {
    if (views.length === limit) break;
    views.push(view);
  }
  return views;
}

/**
 * The registrations at this instant after a slot number, in slot order. The state must not change
 * during the iteration.
 */
export function* listRegistrations(
  state: State,
  product: string | null,
  at: Instant,
  after: number,
): Generator<RegistrationView, void> {
  const licenses = product === null ? state.licenses.values() : (state.products.get(product) ?? []);
  for (const { license, registration } of listInSlotOrder(licenses, after))
    if (registration.end > at) yield viewRegistration(state, license, registration, at);
}

/** A registration that has not ended at this instant. */
export function viewRegistration(
  state: State,
  { id, terms, features }: License,
  registration: Registration,
  at: Instant,
): RegistrationView {
  const featuresInUse = [...features].filter(([, feature]) => {
    const end = feature.pool.get(registration.user)?.end;
    return end !== undefined && at < end;
  });
  return {
    ...registration,
    borrowedUntil: getBorrowEnd(registration, at),
    license: id,
    product: terms.product,
    features: featuresInUse.map(([code]) => code),
    home: findHome(state, terms.product, registration),
  };
}

function findHome(state: State, product: string, registration: Registration): string | null {
  const rules = state.rulesIndex.findRules(state, product, null);
  return rules?.findHome(factsOfHolder(registration)) ?? null;
}

/** The site's rules of sharing, as far as figures depend on them. */
export interface RulesSummary {
  readonly digest: string;
  /** Of installed products and their features, in the order of the rules. */
  readonly reservations: readonly PoolReservations[];
}

export interface PoolReservations {
  readonly product: string;
  /** Null: the slots of the product itself. */
  readonly feature: string | null;
  readonly reserved: number;
  /** Reserved slots that their groups do not use. */
  readonly idle: number;
}

/** Null: there are no rules. */
export function summarizeRules(state: State, at: Instant): RulesSummary | null {
  if (state.rules === null) return null;
  const { digest, rules } = state.rules;
  const reservations = rules.pools.flatMap(({ product, feature, reservations: written }) => {
    if (written.length === 0 || !state.products.has(product)) return [];
    const uses = listReservations(state, { product, feature }, at);
    const reserved = uses.reduce((sum, { slots }) => sum + slots, 0);
    const idle = uses.reduce((sum, { idleSlots }) => sum + idleSlots, 0);
    return [{ product, feature, reserved, idle }];
  });
  return { digest, reservations };
}
