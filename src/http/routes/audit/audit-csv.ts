import type { AuditEntryReply } from "./audit-entry.ts";

/** In the order of the file; a field without a line does not compile. */
const FIELDS: { readonly [F in keyof AuditEntryReply]: true } = {
  seq: true,
  event_index: true,
  at: true,
  type: true,
  product: true,
  license_id: true,
  user: true,
  peer: true,
  summary: true,
  detail: true,
};

const NAMES = Object.keys(FIELDS) as (keyof AuditEntryReply)[];

export const AUDIT_CSV_HEADER: readonly string[] = NAMES;

/** The other members of an event are one cell of JSON: each type of event has its own. */
export const auditCsvCells = (entry: AuditEntryReply): readonly string[] =>
  NAMES.map((name) =>
    name === "detail" ? JSON.stringify(entry.detail) : String(entry[name] ?? ""),
  );
