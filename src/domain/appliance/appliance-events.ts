import type { AccessChange } from "../model/event.ts";
import { formatSettingValue } from "../model/setting-change.ts";
import type { EventDetails, EventRows } from "../model/event-row.ts";
import { formatGap, formatList, formatTimestampOrNull, pluralize } from "../model/event-texts.ts";
import type { Restore } from "../model/state.ts";

/** What the audit log says of the appliance and its administration. */
export const APPLIANCE_EVENTS: EventRows<
  | "Created"
  | "KeysSet"
  | "AccessChanged"
  | "SettingChanged"
  | "Restored"
  | "MovedAway"
  | "MovedIn"
  | "AuditGapDeclared"
  | "RefusalsCounted"
> = {
  Created: {
    kind: "appliance",
    isAudited: true,
    summary: ({ kind }) => `data folder created (${kind})`,
    details: ({ kind, appliance }) => ({ kind, appliance }),
  },
  KeysSet: {
    kind: "administration",
    isAudited: true,
    summary: ({ changed }) => `cloud credentials replaced: ${formatList(changed)}`,
    details: ({ changed }) => ({ changed }),
  },
  AccessChanged: {
    kind: "administration",
    isAudited: true,
    summary: ({ change, name }) => ACCESS_CHANGE_TEXTS[change](name),
    details: ({ change, name }) => ({ change, name }),
  },
  SettingChanged: {
    kind: "administration",
    isAudited: true,
    summary: ({ name, from, to }) =>
      `setting ${name} changed from ${formatSettingValue(from)} to ${formatSettingValue(to)}`,
    details: ({ name, from, to }) => ({ name, from, to }),
  },
  Restored: {
    kind: "appliance",
    isAudited: true,
    summary: ({ restore: { seq } }) => `backup restored; its last change was ${seq}`,
    details: ({ restore }) => describeRestore(restore),
  },
  MovedAway: {
    kind: "appliance",
    isAudited: true,
    summary: () => "moved to another host",
    details: ({ move }) => ({ move }),
  },
  MovedIn: {
    kind: "appliance",
    isAudited: true,
    summary: () => "moved here from another host",
    details: ({ restore }) => describeRestore(restore),
  },
  AuditGapDeclared: {
    kind: "administration",
    isAudited: true,
    summary: ({ gap, note }) => `audit log ${formatGap(gap)}${note === "" ? "" : `: ${note}`}`,
    details: ({ gap, note }) => ({
      reason: gap.reason,
      from_line: gap.from,
      to_line: gap.to,
      sum_before: gap.before,
      sum_after: gap.after,
      earliest: formatTimestampOrNull(gap.earliest),
      latest: formatTimestampOrNull(gap.latest),
      files: gap.files.map(({ name, bytes, sha256 }) => `${name}, ${bytes} bytes, ${sha256}`),
      note,
    }),
  },
  RefusalsCounted: {
    kind: "refusals",
    isAudited: true,
    summary: ({ count, code, feature }) =>
      `${pluralize(count, "request")}${feature === undefined ? "" : ` for feature ${feature}`} ` +
      `refused: ${code}`,
    details: ({ code, count, feature, users }) => ({
      ...(feature !== undefined && { feature }),
      code,
      count,
      users,
    }),
  },
};

const ACCESS_CHANGE_TEXTS: { readonly [C in AccessChange]: (name: string) => string } = {
  token_made: (name) => `token ${name} created`,
  token_revoked: (name) => `token ${name} revoked`,
  user_set: (name) => `login of ${name} set`,
  user_removed: (name) => `login of ${name} removed`,
  session_revoked: (name) => `session of ${name} revoked`,
};

const describeRestore = ({ lineage, seq, replaced }: Restore): EventDetails => ({
  lineage,
  seq,
  replaced_seq: replaced,
});
