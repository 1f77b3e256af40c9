import type { EventRows } from "../model/event-row.ts";
import { countBytes } from "../text/text-size.ts";
import { formatTime, formatTimestamp, pluralize } from "../model/event-texts.ts";

/** What the audit log says of rules. */
export const RULES_EVENTS: EventRows<"RulesApplied" | "ReservationRecalled"> = {
  RulesApplied: {
    kind: "administration",
    isAudited: true,
    summary: ({ text, rules }) =>
      text === ""
        ? "rules cleared"
        : `rules applied: ${pluralize(rules.groups.length, "group")}, ` +
          `${rules.pools.length} ${rules.pools.length === 1 ? "pool" : "pools"} with rules`,
    // Without the text: an audit log keeps every version, and a program reads it by the line.
    details: ({ text, digest, rules }) => ({
      digest,
      groups: rules.groups.length,
      pools: rules.pools.length,
      bytes: countBytes(text),
    }),
  },
  ReservationRecalled: {
    kind: "slots",
    isAudited: true,
    summary: ({ group, feature, until }) =>
      `lent slots of group ${group} recalled until ${formatTime(until)}` +
      (feature === null ? "" : ` (feature ${feature})`),
    details: ({ group, feature, until }) => ({
      group,
      feature,
      until: formatTimestamp(until),
    }),
  },
};
