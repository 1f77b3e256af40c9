import { RULE_REASONS } from "../../faults/rule-reasons.ts";

/** The reason of a refusal, short enough for a legend; an unknown code stays as it is. */
export const reasonOf = (code: string): string => (isRuleCode(code) ? RULE_REASONS[code] : code);

const isRuleCode = (code: string): code is keyof typeof RULE_REASONS =>
  Object.hasOwn(RULE_REASONS, code);
