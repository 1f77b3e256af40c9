import { decide } from "../../domain/decide.ts";
import { personOf } from "../../domain/model/slots/person.ts";
import type { Fault } from "../../domain/model/fault.ts";
import { countHolds } from "../../domain/queue/holds.ts";
import { filterValidLicenses } from "../../domain/licenses/licenses.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { RuleContext } from "../../domain/model/rule-context.ts";
import { factsOf, type CallerFacts } from "../../domain/model/rules/caller-facts.ts";
import { findRuledPool } from "../../domain/rules/judge-claim.ts";
import { GROUP_FACTS } from "../../domain/model/rules/rule-set.ts";
import { GroupMatcher } from "../../domain/model/rules/membership.ts";
import { completeContact, type Contact } from "../../domain/model/slots/contact.ts";
import { countSlotsInUse } from "../../domain/model/slots/pool.ts";
import type { License, State } from "../../domain/model/state.ts";
import { isDemandFault } from "../demand/demand-of-command.ts";
import { listSteps, type ExplainedRule } from "./explain-rules.ts";

/** The caller of a claim that is explained. */
export interface ExplainedCaller extends CallerFacts {
  /** Null: the only product installed. */
  readonly product: string | null;
  readonly feature: string | null;
}

/** Which rules apply to a claim, and what would be decided. */
export interface Explanation {
  readonly product: string;
  readonly feature: string | null;
  readonly person: string;
  /** The groups that the caller belongs to, sorted. */
  readonly groups: readonly string[];
  /** What the groups of the site look at. */
  readonly factsOfGroups: readonly (typeof GROUP_FACTS)[number][];
  /** The reserved group whose slots the caller uses; null: none. */
  readonly home: string | null;
  /** In the order in which they are judged. */
  readonly steps: readonly ExplainedRule[];
  readonly slots: SlotFigures;
  readonly register: ExplainedOutcome;
  /** Null: a feature cannot be borrowed. */
  readonly borrow: ExplainedOutcome | null;
}

interface SlotFigures {
  readonly total: number;
  readonly inUse: number;
  /** Kept for users who waited. */
  readonly holds: number;
  readonly free: number;
}

export interface ExplainedOutcome {
  /** Renewed: the user holds a slot already, and rules do not judge that. */
  readonly result: "granted" | "renewed" | "refused";
  /** Null: it is not refused. */
  readonly fault: Fault | null;
  /** Whether a call with `Prefer: wait` would wait. */
  readonly canWait: boolean;
}

/** Decides the claim with the functions that decide calls, and changes nothing. */
export function explainClaim(
  state: State,
  caller: ExplainedCaller,
  context: RuleContext,
): Result<Explanation, Fault> {
  const [onlyProduct] = state.products.size === 1 ? state.products.keys() : [];
  const product = caller.product ?? onlyProduct;
  if (product === undefined) return err({ code: "missing_parameters", fields: ["product"] });
  const { feature } = caller;
  // As the claim itself reads them: an address may have the name of a credential before it.
  const facts = factsOf(caller.user, contactOf(caller), identityOf(caller));
  const ruled = findRuledPool(state, { product, feature }, context.at);
  const allGroups = state.rules?.rules.groups ?? [];
  const matcher = new GroupMatcher(allGroups);
  const groups = [...matcher.groupsOf(facts)].toSorted();
  return ok({
    product,
    feature,
    person: personOf(facts.user),
    groups,
    factsOfGroups: GROUP_FACTS.filter((fact) => allGroups.some((group) => group[fact].length > 0)),
    home: ruled?.pool.findHome(facts) ?? null,
    steps: ruled === null ? [] : listSteps(state, ruled, facts, groups, context),
    slots: countSlots(state, product, feature, context),
    register: decideRegister(state, product, feature, facts, context),
    borrow: feature === null ? decideBorrow(state, product, facts, context) : null,
  });
}

function decideRegister(
  state: State,
  product: string,
  feature: string | null,
  facts: CallerFacts,
  context: RuleContext,
): ExplainedOutcome {
  const { user } = facts;
  const common = { product, user, licenseId: null, identity: identityOf(facts) };
  const decision =
    feature === null
      ? decide(
          state,
          { type: "Register", ...common, contact: contactOf(facts), nonceDigest: null },
          context,
        )
      : decide(
          state,
          { type: "FeatureRegister", ...common, feature, peer: facts.address },
          context,
        );
  if (!decision.ok) return refuse(decision.fault, feature === null);
  const isNew = decision.value.events.some(
    ({ type }) => type === "SlotTaken" || type === "FeatureTaken",
  );
  return { result: isNew ? "granted" : "renewed", fault: null, canWait: false };
}

function decideBorrow(
  state: State,
  product: string,
  facts: CallerFacts,
  context: RuleContext,
): ExplainedOutcome {
  const decision = decide(
    state,
    {
      type: "Borrow",
      product,
      user: facts.user,
      licenseId: null,
      contact: contactOf(facts),
      nonceDigest: null,
      identity: identityOf(facts),
      until: null,
      once: null,
    },
    context,
  );
  return decision.ok
    ? { result: "granted", fault: null, canWait: false }
    : refuse(decision.fault, false);
}

const contactOf = ({ host, address }: CallerFacts): Contact =>
  completeContact({ hostname: host, peer: address });

const identityOf = ({ login, certificate }: CallerFacts) =>
  login === null && certificate === null ? null : { login, certificate };

/** `hasQueue`: floating features have none, and a borrow never waits. */
const refuse = (fault: Fault, hasQueue: boolean): ExplainedOutcome => ({
  result: "refused",
  fault,
  canWait: hasQueue && isDemandFault(fault),
});

function countSlots(
  state: State,
  product: string,
  feature: string | null,
  context: RuleContext,
): SlotFigures {
  const { at } = context;
  const valid = filterValidLicenses(state, state.products.get(product) ?? [], context);
  const figures = { total: 0, inUse: 0, holds: 0, free: 0 };
  for (const license of valid.ok ? valid.value : []) {
    const part = feature === null ? license : license.features.get(feature);
    const slots = feature === null ? license.terms.slots : slotsOfFeature(license, feature);
    if (part === undefined) continue;
    const inUse = countSlotsInUse(part.pool, at);
    const holds = feature === null ? countHolds(state, license) : 0;
    figures.total += slots;
    figures.inUse += inUse;
    figures.holds += holds;
    figures.free += Math.max(0, slots - inUse - holds);
  }
  return figures;
}

const slotsOfFeature = ({ features }: License, feature: string): number =>
  features.get(feature)?.terms.floating?.slots ?? 0;
