// The promises of sharing, checked on the lists of the model after each step. They do not use the
// model's decisions: only who holds what, and what the rules say.
import type { CallerFacts } from "../../src/domain/model/rules/caller-facts.ts";
import type { Instant } from "../../src/domain/time.ts";
import { personOf } from "./membership.ts";
import type { SharingModel } from "./model.ts";
import type { ModelHolder, ModelPlace } from "./model-use.ts";

/** A slot that was granted in this step; a heartbeat is none. */
export interface Grant {
  readonly license: number;
  readonly product: string;
  readonly feature: string | null;
  readonly facts: CallerFacts;
  /** The slot was held for the user before. */
  readonly isCollected: boolean;
}

interface Moment {
  readonly at: Instant;
  readonly grant: Grant | null;
  /** The slots before the step, if the step gives none back. */
  readonly before: readonly ModelHolder[];
}

export class BrokenPromise extends Error {}

function demand(isKept: boolean, promise: string): void {
  if (!isKept) throw new BrokenPromise(promise);
}

export function assertPromises(model: SharingModel, { at, grant, before }: Moment): void {
  for (const holder of before) {
    if (holder.end <= at || !model.licenses.some(({ id }) => id === holder.license)) continue;
    demand(model.holders.includes(holder), `${holder.user} lost a slot`);
  }
  if (grant === null) return;
  const { product, feature, facts } = grant;
  const rules = model.rulesFor(product, feature);
  const license = model.licenses.find(({ id }) => id === grant.license);
  const slots = feature === null ? license?.slots : license?.features[feature];
  const held = model.liveHolders(grant.license, feature, at);
  const holds = model.places.filter(({ hold }) => feature === null && hold === grant.license);
  demand(held.length + holds.length <= (slots ?? 0), `license ${grant.license} is over-lent`);
  const use = model.listUse(product, feature, at);
  const count = (matches: (other: CallerFacts) => boolean): number => use.filter(matches).length;
  const person = personOf(facts.user);
  const ofPerson = count(({ user }) => personOf(user) === person);
  demand(ofPerson <= rules.eachUser(), `${person} is over each_user`);
  const ofHost = facts.host === "" ? 0 : count(({ host }) => host === facts.host);
  demand(ofHost <= rules.eachHost(), `${facts.host} is over each_host`);
  for (const { group, slots } of rules.groupLimits()) {
    if (!rules.belongs(facts, group)) continue;
    demand(count((other) => rules.belongs(other, group)) <= slots, `${group} is over its limit`);
  }
  assertKept(model, grant, at);
}

/** A new slot leaves the idle slots of others that are kept; a group may use its own. */
function assertKept(model: SharingModel, grant: Grant, at: Instant): void {
  const { product, feature, facts, isCollected } = grant;
  if (isCollected) return;
  const rules = model.rulesFor(product, feature);
  const home = rules.findHome(facts);
  const reservation = rules.reservations().find(({ group }) => group === home);
  const reserved = reservation?.slots ?? 0;
  const use = model.listUse(product, feature, at);
  const isOwnSlot = use.filter((other) => rules.findHome(other) === home).length <= reserved;
  const free = model.countFreeOfProduct(product, feature, at);
  if (home !== null && isOwnSlot) {
    const kept = rules.reservations().filter(({ idle }) => idle === "keep");
    const sum = kept.reduce(
      (total, { group }) => total + model.countIdle(product, feature, group, at),
      0,
    );
    demand(
      reservation?.idle === "keep" || free >= sum,
      "a member of a lent group took a kept slot",
    );
    return;
  }
  demand(free >= model.countKept(product, feature, at), "a kept slot was given away");
}

/**
 * Holds that a dispatch gave. No user with the same choice of licenses and the same home, who is
 * under no limit, waits behind a user who came later and has no higher priority.
 */
export function assertOrder(
  model: SharingModel,
  product: string,
  given: readonly ModelPlace[],
  at: Instant,
): void {
  const rules = model.rulesFor(product, null);
  const rankOf = ({ order, facts }: ModelPlace): number => (order < 0 ? -1 : rules.rank(facts));
  const waiting = model.places.filter((place) => place.product === product && place.hold === null);
  for (const place of given) {
    demand(
      rules.findRefusal(place.facts) === null,
      `a slot is held for ${place.user}, who is denied`,
    );
    for (const other of waiting) {
      if (other.licenseId !== place.licenseId) continue;
      if (rules.findHome(other.facts) !== rules.findHome(place.facts)) continue;
      if (model.listReachedLimits(product, null, other.facts, at).length > 0) continue;
      if (model.isCapped(product, other.facts, at)) continue;
      const isBefore = rankOf(other) - rankOf(place) || other.order - place.order;
      demand(isBefore > 0, `${place.user} overtook ${other.user}`);
    }
  }
}
