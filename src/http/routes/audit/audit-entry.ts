import { Type, type Static } from "@sinclair/typebox";
import { detailsOf, isKnownEvent, summarize } from "../../../domain/event-catalogue.ts";
import type { EventDetails } from "../../../domain/model/event-row.ts";
import { formatPeer } from "../../../domain/model/event-texts.ts";
import type { Instant } from "../../../domain/time.ts";
import type { AuditEntry } from "../../../operations/audit/audit-log-reader.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";

const nullableText = Type.Union([Type.String(), Type.Null()]);

export const AuditEntryReply = Type.Object(
  {
    seq: Type.Integer({
      description: "Line number in the audit log; the events of one request share a line.",
    }),
    event_index: Type.Integer({ description: "Index of the event within its line, from 0." }),
    at: Type.String({ format: "date-time", description: "Time of the event." }),
    type: Type.String(),
    product: nullableText,
    license_id: Type.Union([Type.Integer(), Type.Null()]),
    user: nullableText,
    peer: Type.Union([Type.String(), Type.Null()], {
      description:
        "Address of the request, preceded by the administrator's name; socket: a command on the " +
        "server itself.",
    }),
    summary: Type.String({ description: "Summary of the event in words." }),
    detail: Type.Unsafe<EventDetails>(Type.Record(Type.String(), Type.Unknown())),
  },
  { title: "AuditEvent" },
);

export type AuditEntryReply = Static<typeof AuditEntryReply>;

export function auditEntryReply({ seq, part, event, product }: AuditEntry): AuditEntryReply {
  const common = {
    seq,
    event_index: part,
    at: rfc3339(event.at),
    type: event.type,
    summary: summarize(event),
  };
  if (!isKnownEvent(event)) {
    return { ...common, product: null, license_id: null, user: null, peer: null, detail: {} };
  }
  return {
    ...common,
    product,
    license_id: "license" in event ? event.license : null,
    user: "user" in event ? event.user : null,
    peer: "peer" in event ? event.peer : "contact" in event ? (event.contact?.peer ?? null) : null,
    detail: detailsOf(event),
  };
}

/** In the order of the file. */
export const AUDIT_CSV_HEADER = Object.keys(
  AuditEntryReply.properties,
) as readonly (keyof AuditEntryReply)[];

/** The other members of an event are one cell of JSON: each type of event has its own. */
export const auditCsvCells = (entry: AuditEntryReply): readonly string[] =>
  AUDIT_CSV_HEADER.map((name) =>
    name === "detail" ? JSON.stringify(entry.detail) : String(entry[name] ?? ""),
  );

/** Conditions on an event; null: any. */
export interface AuditFilter {
  readonly types: ReadonlySet<string> | null;
  readonly user: string | null;
  readonly product: string | null;
  readonly licenseId: number | null;
  readonly since: Instant | null;
  readonly until: Instant | null;
  readonly text: string | null;
}

/** The cheap conditions come first: most lines of a long audit log fail one of them. */
export function matchesFilter(filter: AuditFilter, entry: AuditEntry): boolean {
  const { types, user, product, licenseId, since, until } = filter;
  const { event } = entry;
  return (
    (types === null || types.has(event.type)) &&
    (since === null || event.at >= since) &&
    (until === null || event.at <= until) &&
    (product === null || entry.product === product) &&
    (licenseId === null || ("license" in event && event.license === licenseId)) &&
    (user === null || concernsUser(user, entry))
  );
}

/** A count of refusals also names its users. */
const concernsUser = (user: string, { event }: AuditEntry): boolean =>
  "user" in event
    ? event.user === user
    : event.type === "RefusalsCounted" && event.users.includes(user);

/** Whether any field that is shown contains the text, without regard to case. */
export function containsText({ detail, ...entry }: AuditEntryReply, text: string): boolean {
  const needle = text.toLowerCase();
  const shownPeer = entry.peer === null ? null : formatPeer(entry.peer);
  return [...Object.values(entry), shownPeer, ...Object.values(detail).flat()].some(
    (value) => value !== null && String(value).toLowerCase().includes(needle),
  );
}
