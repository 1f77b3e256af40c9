import { makeDecision, type Decision } from "../../model/decision.ts";
import { personOf } from "../../model/slots/person.ts";
import type { Event } from "../../model/event.ts";
import type { Fault } from "../../model/fault.ts";
import {
  filterValidLicenses,
  findLicenses,
  findMissingFields,
  type LicenseSelector,
} from "../../licenses/licenses.ts";
import { limits } from "../../model/limits.ts";
import { err, type Result } from "../../result.ts";
import type { RuleContext } from "../../model/rule-context.ts";
import { checkAdmission } from "../../rules/judge-claim.ts";
import { limitKeyOf } from "../../model/rules/network.ts";
import { findHeldSlot } from "../../model/slots/pool.ts";
import type { State } from "../../model/state.ts";
import { findPlace } from "../holds.ts";
import type { PlaceFacts, QueuedPlace } from "../../model/queue/place.ts";
import type { PlaceDenial } from "../../model/queue/queue-event-types.ts";
import { computeStanding, findQueueRules } from "../queue-rules.ts";

/** A user waits for a slot, after a claim was refused because none may be granted now. */
export interface TakePlace extends LicenseSelector {
  readonly type: "TakePlace";
  readonly user: string | null;
  readonly facts: PlaceFacts;
  /** As in the contact of a claim. */
  readonly peer: string;
  /** Why the claim was refused; absent: not known. */
  readonly denied?: PlaceDenial;
}

/** Why no place was taken: the caller is answered as if there was no queue. */
export type NoPlaceReason = "queue_full" | "too_many_places" | "holds_slot";

export interface TakePlaceOutcome {
  readonly product: string;
  /** The number of the place; null: none was taken. */
  readonly place: number | null;
  readonly reason: NoPlaceReason | null;
}

export function decideTakePlace(
  state: State,
  command: TakePlace,
  context: RuleContext,
): Result<Decision<TakePlaceOutcome>, Fault> {
  const { user, licenseId, facts, peer, denied } = command;
  const missing = findMissingFields(state, command, { user });
  if (user === null || missing.length > 0)
    return err({ code: "missing_parameters", fields: missing });
  const licenses = findLicenses(state, command);
  if (!licenses.ok) return licenses;
  const valid = filterValidLicenses(state, licenses.value, context);
  if (!valid.ok) return valid;
  const product = command.product ?? valid.value[0]?.terms.product ?? "";
  const { at } = context;
  const denial = checkAdmission(state, { product, feature: null, facts: { user, ...facts } }, at);
  if (denial !== null) return err(denial);

  const known = findPlace(state, product, user);
  const noPlace = (reason: NoPlaceReason) => makeDecision([], { product, place: null, reason });
  if (valid.value.some(({ pool }) => findHeldSlot(pool, user, at) !== null))
    return noPlace("holds_slot");
  if (known === null) {
    const waiting = state.queues.get(product)?.size ?? 0;
    if (waiting >= findQueueRules(state, product).maxWaiting) return noPlace("queue_full");
  }
  if (!hasPlacesLeft(state, user, facts, known, context)) return noPlace("too_many_places");

  const place = known?.number ?? state.nextSlot;
  const outcome: TakePlaceOutcome = { product, place, reason: null };
  const events: Event[] = [];
  // The claim was refused although a slot is held: the caller has other facts or wants another
  // license, or rules or settings allow less than before. Another user may have the slot.
  if (known?.hold != null) {
    const { license } = known.hold;
    events.push({ type: "HoldWithdrawn", at, product, user, place, license });
  }
  if (known !== null && isSamePlace(known, command)) return makeDecision(events, outcome);
  const order = known?.order ?? place;
  const { home } = computeStanding(state, product, { user, licenseId, facts, order });
  const members = { product, user, place, licenseId, facts, home, peer };
  events.push({ type: "PlaceTaken", at, ...members, ...(denied && { denied }) });
  return makeDecision(events, outcome);
}

/** Whether one more place, or a place from another address, stays within the caller's maximum. */
function hasPlacesLeft(
  { queues }: State,
  user: string,
  { address }: PlaceFacts,
  known: QueuedPlace | null,
  { maxPlacesPerCaller = limits.placesPerCaller }: RuleContext,
): boolean {
  const isCounted = known !== null && limitKeyOf(known.facts.address) === limitKeyOf(address);
  if (!isCounted && queues.countOfAddress(address) >= maxPlacesPerCaller) return false;
  return known !== null || queues.countOfPerson(personOf(user)) < maxPlacesPerCaller;
}

function isSamePlace(
  place: QueuedPlace,
  { licenseId, facts, peer }: Pick<TakePlace, "licenseId" | "facts" | "peer">,
): boolean {
  const { host, address, login, certificate } = place.facts;
  return (
    place.licenseId === licenseId &&
    place.peer === peer &&
    host === facts.host &&
    address === facts.address &&
    login === facts.login &&
    certificate === facts.certificate
  );
}
