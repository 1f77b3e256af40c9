import type { AuditEntryReply } from "../../http/routes/audit/audit-entry.ts";
import { formatDateTime } from "../format.ts";
import { reasonOf } from "../../faults/rule-reasons.ts";

/** Events whose summary names the code of the refusals. */
const REFUSAL_TYPES: ReadonlySet<string> = new Set(["RefusalsCounted", "EpisodeEnded"]);

/** The summary of an event with local times and readable reasons, instead of UTC and codes. */
export function entrySentence({ type, summary, detail }: AuditEntryReply): string {
  const { code } = detail as { readonly code?: string };
  const local =
    REFUSAL_TYPES.has(type) && code !== undefined
      ? summary.replace(code, () => reasonOf(code))
      : summary.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, formatDateTime);
  return `${local.slice(0, 1).toUpperCase()}${local.slice(1)}`;
}
