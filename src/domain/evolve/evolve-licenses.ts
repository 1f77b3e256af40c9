import { findNextReset, totalAt } from "../consumption/counters.ts";
import type { ConsumptionAdded } from "../model/event.ts";
import type {
  ActivationMade,
  LicenseInstalled,
  LicenseRemoved,
  RequestCancelled,
  RequestMade,
} from "../model/licenses/license-event-types.ts";
import { limits } from "../model/limits.ts";
import { withdrawFeature, type FeatureTerms } from "../model/licenses/terms.ts";
import type { TrustedVendor } from "../model/state.ts";
import { later, type Instant } from "../time.ts";
import type {
  MutableState,
  MutableLicense,
  MutableFeature,
  MutableCounter,
  MutableFeatureRegistration,
} from "./mutable-state.ts";
import { rebuildQueue, withdrawHoldsOf } from "./evolve-queue.ts";
import { holderPoolOf } from "./evolve-rules.ts";
import { MutableRegistrationPool } from "./mutable-registration-pool.ts";
import { MutableSlotPool } from "./mutable-slot-pool.ts";

/** Installing and removing licenses: the part of evolve.ts that concerns documents, not slots. */

export function addOpenRequest(state: MutableState, { at, request, head }: RequestMade): void {
  state.requests.set(request.request, request);
  for (const [id, { at: createdAt }] of state.requests) {
    const isOverLimit = state.requests.size > limits.openRequests;
    if (!isOverLimit && at < later(createdAt, limits.requestAge)) break;
    state.requests.delete(id);
  }
  state.requestHeads.push({ request: request.request, ...head });
  if (state.requestHeads.length > limits.keptRequestHeads) state.requestHeads.shift();
}

export function addOpenActivation(state: MutableState, { at, activation }: ActivationMade): void {
  state.activations.set(activation.nonce, activation);
  for (const [nonce, { at: createdAt }] of state.activations) {
    const isOverLimit = state.activations.size > limits.openActivations;
    if (!isOverLimit && at < later(createdAt, limits.activationAge)) break;
    state.activations.delete(nonce);
  }
}

/** Closes a request or an activation, whichever has the id. */
export function cancelRequest(state: MutableState, { request }: RequestCancelled): void {
  state.requests.delete(request);
  state.activations.delete(request);
  state.cancelledRequests.add(request);
  const [oldest] = state.cancelledRequests;
  const isOverLimit = state.cancelledRequests.size > limits.cancelledRequests;
  if (isOverLimit && oldest !== undefined) state.cancelledRequests.delete(oldest);
}

/** The request is used up in the same step that installs the license. */
function markRequestAnswered(state: MutableState, request: string, license: number): void {
  state.requests.delete(request);
  state.answeredRequests.set(request, license);
  const [oldest] = state.answeredRequests.keys();
  const isOverLimit = state.answeredRequests.size > limits.answeredRequests;
  if (isOverLimit && oldest !== undefined) state.answeredRequests.delete(oldest);
}

export function trustVendor(state: MutableState, trusted: TrustedVendor): void {
  const { vendor, jwk, version, sum, retired } = trusted;
  const before = state.retiredKeys.get(vendor)?.keys ?? [];
  const keys = [...new Set([...before, ...retired])];
  const notice = mergeNotices(state.vendors.get(vendor)?.notice ?? null, trusted.notice);
  state.vendors.set(vendor, { ...trusted, notice });
  state.retiredKeys.set(vendor, { vendor, jwk, version, sum, keys });
}

type Notice = TrustedVendor["notice"];

/** A further document must not hide what the one before changed and perhaps nobody has seen yet. */
function mergeNotices(before: Notice, notice: Notice): Notice {
  const isShown = before !== null && before.changes.length > 0;
  if (!isShown || notice === null || notice.at >= later(before.at, limits.trustNoticeAge))
    return notice;
  if (notice.changes.length === 0) return before;
  return { at: notice.at, changes: [...new Set([...before.changes, ...notice.changes])] };
}

export function removeLicense(state: MutableState, { license, tombstone }: LicenseRemoved): void {
  const removed = requireLicense(state, license);
  const { terms, pool, features } = removed;
  for (const [code, feature] of features) {
    const holderPool = holderPoolOf(removed, code);
    for (const registration of feature.pool.inSlotOrder())
      state.rulesIndex.removeHolder(holderPool, registration);
  }
  const holderPool = holderPoolOf(removed);
  for (const registration of pool.inSlotOrder()) {
    state.registrationsByPeer.remove(registration);
    state.rulesIndex.removeHolder(holderPool, registration);
    state.slotChanges.add(license, registration.user);
    if (state.queues.size > 0) state.queues.openCaps(registration.user, registration.contact.peer);
  }
  const others = (state.products.get(terms.product) ?? []).filter(({ id }) => id !== license);
  state.licenses.delete(license);
  if (others.length > 0) state.products.set(terms.product, others);
  else state.products.delete(terms.product);
  state.tombstones.set(license, tombstone);
  withdrawHoldsOf(state, terms.product, license);
  rebuildQueue(state, terms.product);
  // A late answer to one of these requests must not install the license again.
  for (const [id, { product }] of state.requests) {
    if (product === null || product === terms.product) state.requests.delete(id);
  }
  for (const [nonce, { licenseKey }] of state.activations) {
    if (licenseKey === terms.licenseKey) state.activations.delete(nonce);
  }
}

export function installLicense(state: MutableState, event: LicenseInstalled): void {
  const { at, license: id, terms, grant } = event;
  if (event.request !== null) markRequestAnswered(state, event.request, id);
  if (event.activation !== null) state.activations.delete(event.activation);
  const existing = state.licenses.get(id);
  if (existing === undefined) {
    const license: MutableLicense = {
      id,
      addedAt: at,
      movedAt: null,
      terms,
      grant,
      counter: newCounter(),
      pool: new MutableRegistrationPool(),
      features: new Map(terms.features.map((feature) => [feature.code, newFeature(feature)])),
    };
    state.licenses.set(id, license);
    const others = state.products.get(terms.product) ?? [];
    state.products.set(terms.product, [license, ...others]);
    return rebuildQueue(state, terms.product);
  }
  // The new license is signed for the current hardware, so the grace periods are over.
  if (existing.grant.hardwareId !== grant.hardwareId) {
    existing.movedAt = null;
    delete existing.restored;
  }
  // Renewals are found by their ends, which the timeout determines.
  if (existing.terms.timeoutMinutes !== terms.timeoutMinutes) state.slotChanges.forgetAll();
  existing.terms = terms;
  existing.grant = grant;
  startPeriod(existing.counter, terms.consumption, at);
  for (const feature of existing.features.values()) feature.terms = withdrawFeature(feature.terms);
  for (const featureTerms of terms.features) {
    const feature = existing.features.get(featureTerms.code);
    if (feature === undefined) existing.features.set(featureTerms.code, newFeature(featureTerms));
    else {
      feature.terms = featureTerms;
      startPeriod(feature.counter, featureTerms.consumption, at);
    }
  }
}

const newCounter = (): MutableCounter => ({ total: 0, resetAt: null, counted: 0 });

const newFeature = (terms: FeatureTerms): MutableFeature => ({
  terms,
  counter: newCounter(),
  pool: new MutableSlotPool<MutableFeatureRegistration>(),
});

/** The total stays; the new terms determine when it resets next. */
function startPeriod(
  counter: MutableCounter,
  terms: FeatureTerms["consumption"],
  at: Instant,
): void {
  counter.total = totalAt(counter, at);
  counter.resetAt = findNextReset(terms, { resetAt: null }, at);
}

export function addCount(counter: MutableCounter, { count, total, resetAt }: CounterChange): void {
  counter.total = total;
  counter.resetAt = resetAt;
  counter.counted += count;
}

type CounterChange = Pick<ConsumptionAdded, "count" | "total" | "resetAt">;

export function requireLicense(state: MutableState, id: number): MutableLicense {
  const license = state.licenses.get(id);
  if (license === undefined)
    throw new Error(`an event names license ${id}, which is not installed`);
  return license;
}
