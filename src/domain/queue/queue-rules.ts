import {
  findReachedLimit,
  findRuledPool,
  makeLimitFault,
  type Claim,
} from "../rules/judge-claim.ts";
import type { CompiledPool } from "../model/rules/compiled-rules.ts";
import type { CallerFacts } from "../model/rules/caller-facts.ts";
import { DEFAULT_QUEUE_RULES, type QueueRules } from "../model/rules/rule-set.ts";
import type { State } from "../model/state.ts";
import type { Instant } from "../time.ts";
import {
  factsOfPlace,
  type Departure,
  type Place,
  type QueuedPlace,
  type Standing,
} from "../model/queue/place.ts";
import type { BlockingLimit } from "../model/queue/waiting-lists.ts";

type RulesState = Pick<State, "rules" | "products"> & {
  readonly rulesIndex: Pick<State["rulesIndex"], "findRules">;
};

/** Floating features have no queue: all rules here are those of the product itself. */
const findRules = (state: RulesState, product: string): CompiledPool | null =>
  state.rulesIndex.findRules(state, product, null);

/** The rules for the queue of a product; the defaults, if the site has none. */
export const findQueueRules = (state: RulesState, product: string): QueueRules =>
  findRules(state, product)?.rules.queue ?? DEFAULT_QUEUE_RULES;

/** What follows from the rules and the licenses for a place; it depends on no counter. */
export function computeStanding(
  state: RulesState,
  product: string,
  place: Pick<Place, "user" | "licenseId" | "facts" | "order">,
): Standing {
  const pool = findRules(state, product);
  const facts = factsOfPlace(place);
  return {
    home: pool?.findHome(facts) ?? null,
    rank: place.order <= 0 ? -1 : (pool?.findPriority(facts).rank ?? 0),
    departure: findDeparture(state, product, place, pool, facts),
  };
}

function findDeparture(
  { products }: RulesState,
  product: string,
  { licenseId }: Pick<Place, "licenseId">,
  pool: CompiledPool | null,
  facts: CallerFacts,
): Departure | null {
  const licenses = products.get(product) ?? [];
  const isGone =
    licenseId === null ? licenses.length === 0 : !licenses.some(({ id }) => id === licenseId);
  if (isGone) return "license_gone";
  return pool?.findDenial(facts) == null ? null : "denied";
}

/** The limit of the rules that allows this user no slot now; null: none. */
export function findBlockingRule(
  state: State,
  product: string,
  place: Pick<Place, "user" | "facts">,
  at: Instant,
): BlockingLimit | null {
  const claim: Claim = { product, feature: null, facts: factsOfPlace(place) };
  const limit = findReachedLimit(state, claim, at);
  const fault = makeLimitFault(limit, claim);
  return limit === null || fault === null
    ? null
    : { key: limit.key, isRule: true, fault, wakeAt: null };
}

/** The counter of this limit is reported once, when it falls. */
export const watchLimit = ({ rulesIndex }: State, product: string, key: string): void =>
  rulesIndex.fallenCounters.watch(product, key);

/** The keys of the limits whose counters fell since the last call. */
export function takeFallenLimits(state: State, product: string, at: Instant): readonly string[] {
  // Counts the slots that ended by now.
  findRuledPool(state, { product, feature: null }, at);
  return state.rulesIndex.fallenCounters.take(product);
}

/** The first group of `priority` that the user belongs to; null: none. */
export function findPriorityGroup(
  state: RulesState,
  product: string,
  place: QueuedPlace,
): string | null {
  // The rank says it, unless the place was moved to the front.
  if (place.rank >= 0) return findQueueRules(state, product).priority[place.rank] ?? null;
  return findRules(state, product)?.findPriority(factsOfPlace(place)).group ?? null;
}
