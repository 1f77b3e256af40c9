import type { RuleSet } from "../domain/model/rules/rule-set.ts";
import type { RulesApplied } from "../domain/model/rules/rules-event-types.ts";

/** The rules that an event put in force; null: none, because the text was empty. */
export const rulesOf = ({ text, rules }: RulesApplied): RuleSet | null =>
  text === "" ? null : rules;
