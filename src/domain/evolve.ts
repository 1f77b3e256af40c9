import { resetAfter, totalAt } from "./consumption.ts";
import type {
  ActivationMade,
  Event,
  KeyRemembered,
  LicenseInstalled,
  LicenseRemoved,
  RefusalsCounted,
  RequestMade,
  SlotTaken,
} from "./event.ts";
import { limits } from "./limits.ts";
import {
  emptyPool,
  type Counter,
  type Feature,
  type FeatureRegistration,
  type License,
  type Pool,
  type Registration,
  type State,
} from "./state.ts";
import { setBack } from "./set-back.ts";
import { isDated, withdrawn, type FeatureTerms } from "./terms.ts";
import { later, latest, type Instant } from "./time.ts";

/**
 * The only code that changes State, and it holds no rules: what an event says happened, happened.
 * Replaying a journal through it gives the state that was serving.
 */
export function evolve(state: State, event: Event): void {
  state.mark = latest(state.mark, event.at);
  if (grants(event) && lendsDated(state, event.license)) state.lentDated = true;
  switch (event.type) {
    case "Created":
      state.kind = event.kind;
      state.appliance = event.appliance;
      state.createdAt = event.at;
      return;
    case "VendorTrusted":
      state.vendors.set(event.vendor.vendor, event.vendor);
      return;
    case "VendorDistrusted":
      state.vendors.delete(event.vendor);
      return;
    case "RequestMade":
      return openRequest(state, event);
    case "ActivationMade":
      return openActivation(state, event);
    case "LicenseInstalled":
      return install(state, event);
    case "LicenseRemoved":
      return remove(state, event);
    case "SlotTaken": {
      const { user, slot, end, contact, at } = event;
      state.nextSlot = Math.max(state.nextSlot, slot + 1);
      const { pool } = licenseOf(state, event.license);
      return put(pool, { slot, user, registeredAt: at, end, contact, borrowedUntil: null });
    }
    case "SlotRenewed": {
      const { pool } = licenseOf(state, event.license);
      const held = holderOf(pool, event.user);
      move(pool, held, event.end);
      if (event.contact !== undefined) held.contact = event.contact;
      if (held.borrowedUntil !== null && held.borrowedUntil <= event.at) held.borrowedUntil = null;
      return;
    }
    case "SlotBorrowed": {
      const { pool } = licenseOf(state, event.license);
      const held = holderOf(pool, event.user);
      move(pool, held, event.end);
      held.contact = event.contact;
      held.borrowedUntil = event.until;
      return;
    }
    case "SlotReleased":
    case "SlotExpired":
      return drop(licenseOf(state, event.license).pool, event.user);
    case "FeatureTaken": {
      const { user, slot, end, at } = event;
      state.nextSlot = Math.max(state.nextSlot, slot + 1);
      return put(featureOf(state, event).pool, { slot, user, registeredAt: at, end });
    }
    case "FeatureRenewed": {
      const { pool } = featureOf(state, event);
      return move(pool, holderOf(pool, event.user), event.end);
    }
    case "FeatureReleased":
    case "FeatureExpired":
      return drop(featureOf(state, event).pool, event.user);
    case "ConsumptionAdded":
      return count(licenseOf(state, event.license).counter, event);
    case "FeatureConsumptionAdded":
      return count(featureOf(state, event).counter, event);
    case "KeyRemembered":
      return rememberKey(state, event);
    case "ClockMarked":
      return;
    case "ClockAsked":
      state.clockNonce = event.nonce;
      state.clockAskedAt = event.at;
      return;
    case "ClockSetBack":
      return setBack(state, event);
    case "KeysSet":
      // On record only: the values live elsewhere, sealed.
      return;
    case "Restored":
      state.restores.push(event.restore);
      if (state.restores.length > limits.restores) state.restores.shift();
      return;
    case "RefusalsCounted":
      return countRefusals(state, event);
  }
}

/** Events that lend something out. */
const LENDING = new Set([
  "SlotTaken",
  "SlotRenewed",
  "FeatureRenewed",
  "SlotBorrowed",
  "FeatureTaken",
  "ConsumptionAdded",
  "FeatureConsumptionAdded",
]);

const grants = (event: Event): event is SlotTaken => LENDING.has(event.type);

const lendsDated = (state: State, id: number): boolean => {
  const license = state.licenses.get(id);
  return license !== undefined && isDated(license.terms);
};

function openRequest(state: State, { at, request, head }: RequestMade): void {
  state.requests.set(request.request, request);
  for (const [id, { at: made }] of state.requests) {
    const tooMany = state.requests.size > limits.openRequests;
    if (!tooMany && at < later(made, limits.requestAge)) break;
    state.requests.delete(id);
  }
  state.heads.push({ request: request.request, ...head });
  if (state.heads.length > limits.requestHeads) state.heads.shift();
}

function openActivation(state: State, { at, activation }: ActivationMade): void {
  state.activations.set(activation.nonce, activation);
  for (const [nonce, { at: made }] of state.activations) {
    const tooMany = state.activations.size > limits.openActivations;
    if (!tooMany && at < later(made, limits.activationAge)) break;
    state.activations.delete(nonce);
  }
}

/** The request is used up in the same step that installs the license. */
function answer(state: State, request: string, license: number): void {
  state.requests.delete(request);
  state.answered.set(request, license);
  const [oldest] = state.answered.keys();
  const tooMany = state.answered.size > limits.answeredRequests;
  if (tooMany && oldest !== undefined) state.answered.delete(oldest);
}

function remove(state: State, { license, tombstone }: LicenseRemoved): void {
  const { terms } = licenseOf(state, license);
  const others = (state.products.get(terms.product) ?? []).filter(({ id }) => id !== license);
  state.licenses.delete(license);
  if (others.length > 0) state.products.set(terms.product, others);
  else state.products.delete(terms.product);
  state.tombstones.set(license, tombstone);
  // An answer that is still under way to one of these must not bring it back.
  for (const [id, { product }] of state.requests) {
    if (product === null || product === terms.product) state.requests.delete(id);
  }
  for (const [nonce, { licenseKey }] of state.activations) {
    if (licenseKey === terms.licenseKey) state.activations.delete(nonce);
  }
}

function install(state: State, event: LicenseInstalled): void {
  const { at, license: id, terms, grant } = event;
  if (event.request !== null) answer(state, event.request, id);
  if (event.activation !== null) state.activations.delete(event.activation);
  const installed = state.licenses.get(id);
  if (installed === undefined) {
    const license: License = {
      id,
      addedAt: at,
      terms,
      grant,
      counter: { total: 0, resetAt: null },
      pool: emptyPool<Registration>(),
      features: new Map(terms.features.map((feature) => [feature.code, newFeature(feature)])),
    };
    state.licenses.set(id, license);
    const others = state.products.get(terms.product) ?? [];
    state.products.set(terms.product, [license, ...others]);
    return;
  }
  installed.terms = terms;
  installed.grant = grant;
  startPeriod(installed.counter, terms.consumption, at);
  for (const feature of installed.features.values()) feature.terms = withdrawn(feature.terms);
  for (const named of terms.features) {
    const feature = installed.features.get(named.code);
    if (feature === undefined) installed.features.set(named.code, newFeature(named));
    else {
      feature.terms = named;
      startPeriod(feature.counter, named.consumption, at);
    }
  }
}

const newFeature = (terms: FeatureTerms): Feature => ({
  terms,
  counter: { total: 0, resetAt: null },
  pool: emptyPool<FeatureRegistration>(),
});

/** The total stays; when it resets next is for the new terms to say. */
function startPeriod(counter: Counter, terms: FeatureTerms["consumption"], at: Instant): void {
  const total = totalAt(counter, at);
  count(counter, { total, resetAt: resetAfter(terms, { total, resetAt: null }, at) });
}

function count(counter: Counter, { total, resetAt }: Readonly<Counter>): void {
  counter.total = total;
  counter.resetAt = resetAt;
}

function put<T extends FeatureRegistration>(pool: Pool<T>, registration: T): void {
  if (pool.holders.has(registration.user)) throw new Error("a slot was taken twice by one user");
  pool.holders.set(registration.user, registration);
  pool.ends.add(registration);
}

function move<T extends FeatureRegistration>(pool: Pool<T>, held: T, end: Instant): void {
  pool.ends.remove(held);
  held.end = end;
  pool.ends.add(held);
}

function drop<T extends FeatureRegistration>(pool: Pool<T>, user: string): void {
  pool.ends.remove(holderOf(pool, user));
  pool.holders.delete(user);
}

function rememberKey(state: State, { key, at, fingerprint, outcome }: KeyRemembered): void {
  // Deleted first, so that the order of the map stays the order of time.
  state.remembered.delete(key);
  state.remembered.set(key, { at, fingerprint, outcome });
  let dropped = 0;
  for (const [old, { at: since }] of state.remembered) {
    const tooMany = state.remembered.size > limits.idempotencyKeys;
    const tooOld = at >= later(since, limits.idempotencyAge);
    if (dropped === limits.idempotencyDropped || !(tooMany || tooOld)) return;
    state.remembered.delete(old);
    dropped += 1;
  }
}

function countRefusals(state: State, { product, code, count, at }: RefusalsCounted): void {
  const key = JSON.stringify([product, code]);
  const before = state.refusals.get(key);
  if (before === undefined && state.refusals.size >= limits.refusalTotals) return;
  state.refusals.set(key, { product, code, count: (before?.count ?? 0) + count, lastAt: at });
}

function licenseOf(state: State, id: number): License {
  const license = state.licenses.get(id);
  if (license === undefined)
    throw new Error(`an event names license ${id}, which is not installed`);
  return license;
}

function featureOf(state: State, event: { license: number; feature: string }): Feature {
  const feature = licenseOf(state, event.license).features.get(event.feature);
  if (feature === undefined) throw new Error("an event names a feature its license does not have");
  return feature;
}

function holderOf<T extends FeatureRegistration>(pool: Pool<T>, user: string): T {
  const held = pool.holders.get(user);
  if (held === undefined) throw new Error("an event names a user who holds no slot");
  return held;
}
