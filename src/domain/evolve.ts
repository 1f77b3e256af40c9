import type { Event, KeyRemembered, RefusalsCounted, SlotTaken } from "./event.ts";
import {
  count,
  install,
  licenseOf,
  openActivation,
  openRequest,
  remove,
} from "./evolve-licenses.ts";
import { limits } from "./limits.ts";
import { moveAway, moveIn } from "./move.ts";
import type { Pool } from "./pool.ts";
import { setBack } from "./set-back.ts";
import type { Contact, Feature, FeatureRegistration, Registration, State } from "./state.ts";
import { isDated } from "./terms.ts";
import { later, latest } from "./time.ts";

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
      const held = { slot, user, registeredAt: at, end, contact, borrowedUntil: null };
      pool.add(held);
      return state.byPeer.add(held);
    }
    case "SlotRenewed": {
      const { pool } = licenseOf(state, event.license);
      const held = holderOf(pool, event.user);
      pool.move(held, event.end);
      if (event.contact !== undefined) speak(state, held, event.contact);
      if (held.borrowedUntil !== null && held.borrowedUntil <= event.at) held.borrowedUntil = null;
      return;
    }
    case "SlotBorrowed": {
      const { pool } = licenseOf(state, event.license);
      const held = holderOf(pool, event.user);
      pool.move(held, event.end);
      speak(state, held, event.contact);
      held.borrowedUntil = event.until;
      return;
    }
    case "SlotReleased":
    case "SlotExpired": {
      const { pool } = licenseOf(state, event.license);
      const held = holderOf(pool, event.user);
      state.byPeer.remove(held);
      return pool.remove(held);
    }
    case "FeatureTaken": {
      const { user, slot, end, at } = event;
      state.nextSlot = Math.max(state.nextSlot, slot + 1);
      return featureOf(state, event).pool.add({ slot, user, registeredAt: at, end });
    }
    case "FeatureRenewed": {
      const { pool } = featureOf(state, event);
      return pool.move(holderOf(pool, event.user), event.end);
    }
    case "FeatureReleased":
    case "FeatureExpired": {
      const { pool } = featureOf(state, event);
      return pool.remove(holderOf(pool, event.user));
    }
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
    case "AccessChanged":
      // On record only: the values live elsewhere, sealed or hashed.
      return;
    case "Restored":
      state.restores.push(event.restore);
      if (state.restores.length > limits.restores) state.restores.shift();
      return;
    case "MovedAway":
      return moveAway(state, event);
    case "MovedIn":
      return moveIn(state, event);
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

function speak({ byPeer }: State, held: Registration, contact: Contact): void {
  byPeer.remove(held);
  held.contact = contact;
  byPeer.add(held);
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

function featureOf(state: State, event: { license: number; feature: string }): Feature {
  const feature = licenseOf(state, event.license).features.get(event.feature);
  if (feature === undefined) throw new Error("an event names a feature its license does not have");
  return feature;
}

function holderOf<T extends FeatureRegistration>(pool: Pool<T>, user: string): T {
  const held = pool.get(user);
  if (held === undefined) throw new Error("an event names a user who holds no slot");
  return held;
}
