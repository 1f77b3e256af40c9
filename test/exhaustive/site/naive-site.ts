// The naive model of sharing decides the same call, from what the state of the rules shows. Both
// must answer alike, and then show the same slots and places.
import type { Fault } from "../../../src/domain/model/fault.ts";
import type { Result } from "../../../src/domain/result.ts";
import type { CallerFacts } from "../../../src/domain/model/rules/caller-facts.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { MINUTE, type Instant } from "../../../src/domain/time.ts";
import { SharingModel, type Claim, type ModelAnswer } from "../../sharing/model.ts";
import type { ModelHolder, ModelLicense } from "../../sharing/model-use.ts";
import { CONTACT } from "../../support/scenario.ts";
import { demand } from "../search.ts";
import { FEATURE, getLicense, LICENSE, PRODUCT, type Clock } from "./world.ts";

const factsOf = (user: string): CallerFacts => ({
  user,
  host: CONTACT.hostname,
  address: CONTACT.peer,
  login: null,
  certificate: null,
});

const claimOf = (user: string): Claim => ({
  product: PRODUCT,
  licenseId: null,
  facts: factsOf(user),
});

function readLicense(state: State): ModelLicense {
  const { terms, features } = getLicense(state);
  const { slots, borrowHours } = terms;
  const floating = features.get(FEATURE)?.terms.floating?.slots ?? 0;
  const license = { id: LICENSE, product: PRODUCT, slots, borrowHours, endsAt: null };
  return { ...license, features: { [FEATURE]: floating } };
}

function readHolders(state: State, at: Instant): ModelHolder[] {
  const { pool, features } = getLicense(state);
  const holders: ModelHolder[] = [];
  for (const { user, end, borrowedUntil } of pool.inSlotOrder()) {
    const ends = { end, timeoutAt: end, borrowedUntil };
    if (end > at) holders.push({ ...holderFields(user, null), ...ends });
  }
  for (const { user, end, timeoutAt } of features.get(FEATURE)?.pool.inSlotOrder() ?? []) {
    const ends = { end, timeoutAt, borrowedUntil: null };
    if (end > at) holders.push({ ...holderFields(user, FEATURE), ...ends });
  }
  return holders;
}

const holderFields = (user: string, feature: string | null) => ({
  license: LICENSE,
  feature,
  user,
  facts: factsOf(user),
  peer: CONTACT.peer,
});

export class NaiveSite {
  readonly #model = new SharingModel();

  constructor(state: State, { at }: Clock) {
    this.#model.licenses = [readLicense(state)];
    this.#model.holders = readHolders(state, at);
    for (const { user, hold } of state.queues.get(PRODUCT)?.places ?? []) {
      this.#model.takePlace(claimOf(user));
      const place = this.#model.findPlace(PRODUCT, user);
      if (place !== undefined && hold !== null)
        Object.assign(place, { hold: hold.license, heldAt: hold.at });
    }
  }

  register(user: string, at: Instant): ModelAnswer {
    return this.#model.claim(claimOf(user), at, null);
  }

  borrow(user: string, until: Instant | null, at: Instant): ModelAnswer {
    return this.#model.claim(claimOf(user), at, { until });
  }

  unregister(user: string, at: Instant): ModelAnswer {
    return this.#model.unregister(PRODUCT, user, at);
  }

  registerFeature(user: string, at: Instant): ModelAnswer {
    return this.#model.claimFeature(claimOf(user), FEATURE, at);
  }

  releaseFeature(user: string, at: Instant): ModelAnswer {
    return this.#model.releaseFeature(claimOf(user), FEATURE, at);
  }

  takePlace(user: string): void {
    this.#model.takePlace(claimOf(user));
  }

  renewLicense(state: State): void {
    this.#model.install(readLicense(state));
  }

  dispatch(lapsed: readonly string[], at: Instant): void {
    this.#model.dispatch(PRODUCT, lapsed, at);
  }

  /** Who holds what, who waits, and for whom a slot is kept. */
  requireSame(state: State, { at, isCorrected }: Clock): void {
    const places = state.queues.get(PRODUCT)?.places ?? [];
    const rules = describeUse(readHolders(state, at), places, at);
    const model = describeUse(this.#model.holders, this.#model.places, at);
    const isAlike =
      rules.holders === model.holders &&
      rules.places === model.places &&
      // The model does not know of a clock that is behind, when fewer slots are given.
      (isCorrected || rules.holds === model.holds);
    demand(
      isAlike,
      () => `the model shows something else: ${JSON.stringify(rules)}, ${JSON.stringify(model)}`,
    );
  }
}

function describeUse(
  holders: readonly ModelHolder[],
  places: Iterable<{ readonly user: string; readonly hold: unknown }>,
  at: Instant,
) {
  const slots = holders.flatMap(({ user, feature, end, borrowedUntil }) => {
    if (end <= at) return [];
    const borrow = borrowedUntil !== null && borrowedUntil > at ? borrowedUntil - at : 0;
    return [`${user} ${feature ?? ""} ${(end - at) / MINUTE} ${borrow / MINUTE}`];
  });
  const waiting = Array.from(places);
  const held = waiting.filter(({ hold }) => hold !== null);
  return {
    holders: slots.toSorted().join(),
    places: sortUsers(waiting),
    holds: sortUsers(held),
  };
}

const sortUsers = (places: readonly { readonly user: string }[]): string =>
  places
    .map(({ user }) => user)
    .toSorted()
    .join();

export function requireSameAnswer(real: Result<unknown, Fault>, model: ModelAnswer): void {
  const isAlike = real.ok
    ? model.granted
    : !model.granted && model.reasons.includes(real.fault.code);
  demand(
    isAlike,
    () => `the model answers something else: ${JSON.stringify(real)}, ${JSON.stringify(model)}`,
  );
}
