import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import { filterValidLicenses, type LicenseSelector } from "../licenses/licenses.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import { countSlotsInUse, findHeldSlot } from "../model/slots/pool.ts";
import { factsOf, type Identity } from "../model/rules/caller-facts.ts";
import {
  checkClaim,
  findHome,
  hasReservations,
  hasRoomFor,
  type Claim,
} from "../rules/judge-claim.ts";
import { makeNoSlotFault } from "../rules/no-slot-fault.ts";
import type { Feature, License, State } from "../model/state.ts";
import type { FeatureTerms } from "../model/licenses/terms.ts";
import { earliest, later, MINUTE, type Instant } from "../time.ts";
import {
  findUsableFeatures,
  makeFeatureExpired,
  resolveFeatureTarget,
  type FeatureOutcome,
} from "./features.ts";

export interface FeatureRegister extends LicenseSelector {
  readonly type: "FeatureRegister";
  readonly user: string | null;
  readonly feature: string | null;
  readonly peer: string;
  /** As in `Register`. */
  readonly identity: Identity | null;
}

/** Takes or renews a slot of a floating feature: the feature's own heartbeat. */
export function decideFeatureRegister(
  state: State,
  command: FeatureRegister,
  context: RuleContext,
): Result<Decision<FeatureOutcome>, Fault> {
  const { at } = context;
  const target = resolveFeatureTarget(state, command);
  if (!target.ok) return target;
  const { user, feature: code, licenses } = target.value;
  const valid = filterValidLicenses(state, licenses, context);
  if (!valid.ok) return valid;
  const heldLicenses = valid.value.filter(({ pool }) => findHeldSlot(pool, user, at) !== null);
  if (heldLicenses.length === 0) return err({ code: "user_not_registered", slot: "license" });
  const usable = findUsableFeatures(heldLicenses, code, at);
  if (!usable.ok) return usable;
  const floating = usable.value.flatMap(({ license, feature }) => {
    const terms = feature.terms.floating;
    return terms === null ? [] : [{ license, feature, terms }];
  });
  const [first] = floating;
  if (first === undefined) return err({ code: "feature_not_floating" });

  const current = floating.find(({ feature }) => findHeldSlot(feature.pool, user, at) !== null);
  if (current !== undefined) {
    const renewalFields = makeFeatureSlotFields(current, code, user, at);
    return makeDecision(
      [{ type: "FeatureRenewed", ...renewalFields }],
      makeFeatureOutcome(current, code),
    );
  }
  const { product } = first.license.terms;
  const host = findHeldSlot(first.license.pool, user, at)?.contact.hostname ?? "";
  const { peer, identity } = command;
  const facts = factsOf(user, { hostname: host, peer }, identity);
  const claim: Claim = { product, feature: code, facts };
  const ruleFault = checkClaim(state, claim, at);
  if (ruleFault !== null) return err(ruleFault);
  const home = findHome(state, claim, at);
  const available = floating.find((entry) => countFree(entry, at) > 0);
  const free = hasReservations(state, claim, at)
    ? countFreeOfFeature(state, product, code, context)
    : Number(available !== undefined);
  if (available === undefined || !hasRoomFor(state, claim, home, free, at)) {
    const slots = floating.reduce((sum, { terms }) => sum + terms.slots, 0);
    const freeSlots = floating.reduce((sum, entry) => sum + Math.max(0, countFree(entry, at)), 0);
    return err(makeNoSlotFault(state, claim, { slots, freeSlots, holds: 0, free, home }, at));
  }
  const endedSlot = available.feature.pool.get(user);
  const expiries =
    endedSlot === undefined ? [] : [makeFeatureExpired(available.license.id, code, endedSlot)];
  const slot = state.nextSlot;
  const grantFields = {
    ...makeFeatureSlotFields(available, code, user, at),
    slot,
    peer,
    ...(host !== "" && { host }),
    ...(identity !== null && { identity }),
    ...(home !== null && { home }),
  };
  return makeDecision(
    [...expiries, { type: "FeatureTaken", ...grantFields }],
    makeFeatureOutcome(available, code),
  );
}

const countFree = (
  { feature, terms }: FloatingFeature & { readonly feature: Feature },
  at: Instant,
): number => terms.slots - countSlotsInUse(feature.pool, at);

/** Free slots of a feature over all licenses of the product that grant it now. */
function countFreeOfFeature(
  state: State,
  product: string,
  code: string,
  context: RuleContext,
): number {
  const { at } = context;
  const valid = filterValidLicenses(state, state.products.get(product) ?? [], context);
  const usable = valid.ok ? findUsableFeatures(valid.value, code, at) : valid;
  let free = 0;
  for (const { license, feature } of usable.ok ? usable.value : []) {
    const terms = feature.terms.floating;
    if (terms !== null) free += Math.max(0, countFree({ license, feature, terms }, at));
  }
  return free;
}

interface FloatingFeature {
  readonly license: License;
  readonly terms: NonNullable<FeatureTerms["floating"]>;
}

const makeFeatureOutcome = ({ license }: FloatingFeature, feature: string): FeatureOutcome => ({
  license: license.id,
  feature,
});

/** The fields that taking and renewing a feature slot have in common. */
function makeFeatureSlotFields(
  { license, terms }: FloatingFeature,
  feature: string,
  user: string,
  at: Instant,
) {
  const timeoutAt = later(at, terms.timeoutMinutes * MINUTE);
  const end = earliest(timeoutAt, license.pool.get(user)?.end ?? timeoutAt);
  return { at, license: license.id, feature, user, end, timeoutAt };
}
