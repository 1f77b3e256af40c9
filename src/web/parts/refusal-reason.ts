import { RULE_FAULTS } from "../../faults/rule-faults.ts";

/** The reason of a refusal, short enough for a legend; an unknown code stays as it is. */
export const reasonOf = (code: string): string =>
  isRuleCode(code) ? RULE_FAULTS[code].shortReason : code;

const isRuleCode = (code: string): code is keyof typeof RULE_FAULTS =>
  Object.hasOwn(RULE_FAULTS, code);
