import type { FeatureTaken, SlotTaken } from "../model/event.ts";
import { completeContact } from "../model/slots/contact.ts";
import { requireLicense } from "./evolve-licenses.ts";
import { endRecall, holderPoolOf } from "./evolve-rules.ts";
import { newRegistration, type MutableFeature, type MutableState } from "./mutable-state.ts";

/** New slots of licenses and of their features. */

export function takeSlot(state: MutableState, event: SlotTaken): void {
  const { user, slot, end, at, identity = null } = event;
  state.nextSlot = Math.max(state.nextSlot, slot + 1);
  const license = requireLicense(state, event.license);
  const contact = completeContact(event.contact);
  const registration = newRegistration(slot, user, at, end, contact, identity);
  license.pool.add(registration);
  state.rulesIndex.addHolder(holderPoolOf(license), registration);
  if (event.home !== undefined) endRecall(state, license.terms.product, null, event.home);
  state.slotChanges.add(event.license, user);
  state.registrationsByPeer.add(registration);
}

export function takeFeature(state: MutableState, event: FeatureTaken): void {
  const { user, slot, end, timeoutAt = end, at, host = "", peer, identity = null } = event;
  state.nextSlot = Math.max(state.nextSlot, slot + 1);
  const ends = { end, setAt: at, timeoutAt };
  const takenFrom = { hostname: host, peer };
  const registration = { slot, user, registeredAt: at, ...ends, takenFrom, identity };
  requireFeature(state, event).pool.add(registration);
  state.slotChanges.add(event.license, user);
  const pool = holderPoolOf(requireLicense(state, event.license), event.feature);
  state.rulesIndex.addHolder(pool, registration);
  if (event.home !== undefined) endRecall(state, pool.product, event.feature, event.home);
}

export function requireFeature(
  state: MutableState,
  event: { license: number; feature: string },
): MutableFeature {
  const feature = requireLicense(state, event.license).features.get(event.feature);
  if (feature === undefined) throw new Error("an event names a feature its license does not have");
  return feature;
}
