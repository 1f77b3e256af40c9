import type { FaultRows } from "./fault-row.ts";
import {
  describeCapped,
  describeNoSlot,
  describeNotAllowed,
  describeOverReserved,
  EXPLAIN_HINT,
} from "./sharing-texts.ts";

/** One row for each refusal because others have the slots, or because of the site's rules. */
export const SHARING_FAULTS: FaultRows<
  | "floating_not_available"
  | "slots_capped"
  | "not_allowed_by_rules"
  | "rules_changed"
  | "rules_over_reserved"
> = {
  floating_not_available: {
    status: 400,
    message: describeNoSlot,
    sample: { slots: 5, reserved: [], holds: 0, waiting: 0 },
  },
  slots_capped: {
    status: 400,
    message: describeCapped,
    sample: { scope: "user", slots: 5 },
  },
  not_allowed_by_rules: {
    status: 400,
    message: describeNotAllowed,
    hint: EXPLAIN_HINT,
    sample: {
      rule: "deny",
      group: "contractors",
      product: "DEMO",
      feature: null,
      line: 12,
    },
  },
  rules_changed: {
    status: 412,
    message: ({ digest }) =>
      digest === null
        ? "there are no rules any more: they were cleared since they were read; read them again"
        : `other rules were applied since these were read (digest ${digest.slice(0, 12)}…); read them again`,
    hint: "berth rules show prints the rules that are applied",
    sample: { digest: null },
  },
  rules_over_reserved: {
    status: 400,
    message: ({ pools }) =>
      `more slots are reserved than there are: ${pools.map(describeOverReserved).join("; ")}`,
    hint: "reserve fewer slots, then apply the rules again",
    sample: { pools: [{ product: "DEMO", feature: null, reserved: 6, slots: 5 }] },
  },
};
