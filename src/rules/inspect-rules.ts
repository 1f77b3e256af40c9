import type { RuleSet } from "../domain/model/rules/rule-set.ts";
import { parseRulesInSteps } from "./parse-rules.ts";
import type { RulesFinding } from "./rules-finding.ts";
import { checkRules, type SiteFacts } from "./site-findings.ts";

export interface InspectedRules {
  /** Null: the text has errors. What it says may still not fit the site: see the findings. */
  readonly rules: RuleSet | null;
  readonly findings: readonly RulesFinding[];
}

/** Reads rules and compares them with a site, in steps between which other work can be done. */
export function* inspectRulesInSteps(
  text: string,
  site: SiteFacts,
): Generator<void, InspectedRules> {
  const parsed = yield* parseRulesInSteps(text);
  yield;
  return { rules: parsed.rules, findings: checkRules(parsed, site) };
}
