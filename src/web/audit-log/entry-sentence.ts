import type { AuditEntryReply } from "../../http/audit-entry.ts";
import { formatDateTime } from "../format.ts";
import { reasonOf } from "../texts/refusals.ts";

/** An event as the reader writes sentences, times and reasons; the record has UTC and codes. */
export function entrySentence({ type, summary, detail }: AuditEntryReply): string {
  const { code } = detail as { readonly code?: string };
  const local =
    type === "RefusalsCounted" && code !== undefined
      ? summary.replace(code, () => reasonOf(code))
      : summary.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, formatDateTime);
  return `${local.slice(0, 1).toUpperCase()}${local.slice(1)}`;
}
