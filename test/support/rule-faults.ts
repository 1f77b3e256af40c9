import type { CappingRule, Fault } from "../../src/domain/model/fault.ts";

type NotAllowed = Extract<Fault, { readonly code: "not_allowed_by_rules" }>;

/** The refusal by a rule about `cad` that denies a group, or names none of the caller's. */
export const notAllowed = (
  rule: NotAllowed["rule"],
  group: string | null,
  line: number,
): NotAllowed => ({
  code: "not_allowed_by_rules",
  rule,
  group,
  product: "cad",
  feature: null,
  line,
});

/** The refusal by a limit for `cad`. */
export const capped = (
  kind: CappingRule["kind"],
  name: string,
  slots: number,
  line: number,
): Fault => ({
  code: "slots_capped",
  product: "cad",
  feature: null,
  rule: { kind, name, slots, line },
});
