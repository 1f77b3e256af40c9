// Compares what an explanation says about a call with what the call is answered then.
import type { Fault } from "../../src/domain/model/fault.ts";
import type { Result } from "../../src/domain/result.ts";
import type { CallerFacts } from "../../src/domain/model/rules/caller-facts.ts";
import type { Instant } from "../../src/domain/time.ts";
import { explainClaim } from "../../src/operations/rules/explain-claim.ts";
import type { ExplainedRule } from "../../src/operations/rules/explain-rules.ts";
import { contextAt } from "../support/rule-context.ts";
import type { SharingModel } from "./model.ts";
import type { RealSite } from "./real-site.ts";

interface ExplainedCall {
  readonly type: "register" | "borrow" | "feature";
  readonly product: string;
  readonly feature: string | null;
  readonly facts: CallerFacts;
}

/**
 * Explains a call before it is made. With its result, returns what the explanation said and what it
 * should have said: the outcome is that of the call, and the model knows the rules.
 */
export function explainCall(
  { state, slotCaps }: RealSite,
  model: SharingModel,
  { type, product, feature, facts }: ExplainedCall,
  at: Instant,
) {
  const context = contextAt(at, { slotCaps });
  const explained = explainClaim(state, { ...facts, product, feature }, context);
  if (!explained.ok) throw new Error(`no explanation: ${explained.fault.code}`);
  const { register, borrow, home, steps } = explained.value;
  const outcome = type === "borrow" ? borrow : register;
  const rules = model.rulesFor(product, feature);
  const refusal = rules.findRefusal(facts);
  const limits = model.listReachedLimits(product, feature, facts, at);
  const said = {
    isGranted: outcome?.result !== "refused",
    fault: outcome?.fault ?? null,
    canWait: outcome?.canWait,
    home,
    refusing: listRefusing(steps),
  };
  const refusing = [...new Set(refusal === null ? limits : [refusal, ...limits])].toSorted();
  return (real: Result<object, Fault>) => {
    const fault = real.ok ? null : real.fault;
    const isFull = fault?.code === "floating_not_available" || fault?.code === "slots_capped";
    const canWait = type === "register" && isFull;
    return [said, { isGranted: real.ok, fault, canWait, home: rules.findHome(facts), refusing }];
  };
}

/** The rules that refuse a slot, as the model names them: it asks for no list after a denial. */
function listRefusing(steps: readonly ExplainedRule[]): string[] {
  const names = steps
    .filter(({ rule, result }) => result === "refuses" && !rule.startsWith("borrow."))
    .map(({ rule, text }) => {
      const [, group] = /^group (\S+) uses/.exec(text) ?? [];
      return group === undefined ? rule.replace("limit.", "") : `group ${group}`;
    });
  return [...new Set(names)]
    .filter((name) => name !== "allow_only" || !names.includes("deny"))
    .toSorted();
}
