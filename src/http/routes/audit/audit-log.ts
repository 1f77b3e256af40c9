import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { csvRecord } from "../../../domain/text/csv.ts";
import {
  parsePosition,
  type AuditEntry,
  type AuditLogReader,
  type Position,
} from "../../../operations/audit/audit-log-reader.ts";
import { runBetweenRequests } from "../../../platform/schedule/yield-to-requests.ts";
import { wallClock } from "../../../platform/clock.ts";
import { siteSlug } from "../../../domain/text/site-slug.ts";
import { formatDay } from "../../../platform/rfc3339.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import {
  auditFilterFields,
  auditPeriodFields,
  readAuditFilter,
} from "../../request/audit-filter.ts";
import { field, readTimestamp } from "../../request/fields.ts";
import { readQuery } from "../../request/query.ts";
import {
  AUDIT_CSV_HEADER,
  auditCsvCells,
  AuditEntryReply,
  auditEntryReply,
  matchesFilter,
  containsText,
  type AuditFilter,
} from "./audit-entry.ts";
import { rfc3339OrNull } from "../../timestamps.ts";
import { streamParts } from "../../streamed-reply.ts";
import type { RouteDeps } from "../deps.ts";

const AuditPageReply = Type.Object(
  {
    events: Type.Array(AuditEntryReply, { description: "Newest first." }),
    next: Type.Union([Type.String(), Type.Null()], {
      description: "Value of before for older events; null: there are none.",
    }),
    scanned_until: Type.Union([Type.String({ format: "date-time" }), Type.Null()], {
      description: "Time of the oldest line that was scanned.",
    }),
  },
  { title: "AuditPage" },
);

export type AuditPageReply = Static<typeof AuditPageReply>;

const Query = Type.Object({
  before: field("A seq or the value of next: only older events. Absent: from the newest event."),
  limit: field("Maximum number of events, 1 to 500; default 100."),
  ...auditFilterFields,
});

export type AuditQuery = Static<typeof Query>;

const FilterQuery = Type.Object(auditFilterFields);
const PeriodQuery = Type.Object(auditPeriodFields);

/** The audit log: page by page, and as an export. */
export const auditLog = ({ auditLog: reader, identity, siteSettings, leadership }: RouteDeps) =>
  new Elysia({ name: "audit-log", prefix: "/api/admin/v1/audit" })
    .get(
      "",
      async ({ request, set }): Promise<AuditPageReply> => {
        const query = readQuery(Query, request, set.headers);
        const filter = readAuditFilter(query);
        const { entries, nextPosition, scannedUntil } = unwrap(
          await reader.readPage({
            from: readPosition(query.before),
            limit: readLimit(query.limit),
            since: filter.since,
            pick: (entry) => pickEntry(filter, entry),
          }),
        );
        return {
          events: [...entries],
          next: nextPosition,
          scanned_until: rfc3339OrNull(scannedUntil),
        };
      },
      describeRoute({
        plane: "admin",
        id: "listAuditEvents",
        summary: "List audit events, newest first",
        description:
          "Scans a few megabytes of the audit log per request. A page may have fewer events than " +
          "limit, or none; there are more as long as next is not null.",
        query: Query,
        reply: AuditPageReply,
        refusals: [INVALID_POSITION, "invalid_number", "invalid_timestamp", "audit_log_damaged"],
      }),
    )
    .get(
      "/export",
      async ({ request, set }) => {
        const query = readQuery(PeriodQuery, request, set.headers);
        const since = readTimestamp("since", query.since);
        const until = readTimestamp("until", query.until);
        const lines = unwrap(await reader.exportLines({ since, until }));
        set.headers["content-type"] = "application/x-ndjson";
        set.headers["content-disposition"] = attachment(
          siteSettings().siteName,
          identity.id,
          "jsonl",
        );
        return new Response(streamParts(readParts(lines), leadership));
      },
      describeRoute({
        plane: "admin",
        id: "exportAudit",
        summary: "Export the audit log",
        description:
          "One line of JSON for each command, oldest first, byte for byte as stored, with names and " +
          "the vendors' documents: all lines written from since to until. Verify the file with " +
          "berth audit verify FILE.",
        query: PeriodQuery,
        fileType: "application/x-ndjson",
        refusals: ["invalid_timestamp"],
      }),
    )
    .get(
      "/csv",
      async ({ request, set }) => {
        const records = readCsvRecords(
          reader,
          readAuditFilter(readQuery(FilterQuery, request, set.headers)),
        );
        // The first page is read before the reply begins, so that a damaged log is a refusal.
        const { value: first } = await records.next();
        set.headers["content-type"] = CSV;
        set.headers["content-disposition"] = attachment(
          siteSettings().siteName,
          identity.id,
          "csv",
        );
        return new Response(streamParts(records, leadership, first));
      },
      describeRoute({
        plane: "admin",
        id: "exportAuditCsv",
        summary: "Export audit events as CSV",
        description:
          "The events that the filter selects, newest first, for a spreadsheet: one record for " +
          "each event, with the fields of AuditEvent. Only the other export can be verified.",
        query: FilterQuery,
        fileType: "text/csv",
        refusals: ["invalid_timestamp", "audit_log_damaged"],
      }),
    );

const CSV = "text/csv;charset=utf-8";

const attachment = (site: string, id: string, ending: string): string => {
  const name = `berth-audit-${siteSlug(site)}${id.slice(0, 8)}-${formatDay(wallClock())}`;
  return `attachment; filename="${name}.${ending}"`;
};

function pickEntry(filter: AuditFilter, entry: AuditEntry): AuditEntryReply | null {
  if (!matchesFilter(filter, entry)) return null;
  const reply = auditEntryReply(entry);
  return filter.text === null || containsText(reply, filter.text) ? reply : null;
}

function pickCsvRecord(filter: AuditFilter, entry: AuditEntry): string | null {
  const reply = pickEntry(filter, entry);
  return reply === null ? null : csvRecord(auditCsvCells(reply));
}

/** The header and the first page together, then page by page. */
async function* readCsvRecords(
  reader: AuditLogReader,
  filter: AuditFilter,
): AsyncGenerator<string, undefined> {
  let text = csvRecord(AUDIT_CSV_HEADER);
  for (let from: Position | null = null; ;) {
    const { entries, nextPosition } = unwrap(
      await reader.readPage({
        from,
        limit: MAX_LIMIT,
        since: filter.since,
        pick: (entry) => pickCsvRecord(filter, entry),
      }),
    );
    text += entries.join("");
    yield text;
    if (nextPosition === null) return undefined;
    text = "";
    from = parsePosition(nextPosition);
  }
}

/** Each part is read between other requests, so that a fast reader does not delay them. */
async function* readParts(lines: Iterator<Buffer>): AsyncGenerator<Buffer, void> {
  for (;;) {
    const { done, value } = await runBetweenRequests(() => lines.next());
    if (done === true) return;
    yield value;
  }
}

function readPosition(value: string | undefined): Position | null {
  if (value === undefined || value === "") return null;
  return parsePosition(value) ?? refuse(INVALID_POSITION);
}

const INVALID_POSITION = {
  code: "invalid_parameter",
  field: "before",
  expected: "a seq of the audit log or the value of next",
} as const;

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 500;

function readLimit(value: string | undefined): number {
  if (value === undefined || value === "") return DEFAULT_LIMIT;
  const limit = /^[1-9]\d{0,2}$/.test(value) ? Number(value) : Infinity;
  return limit <= MAX_LIMIT
    ? limit
    : refuse({ code: "invalid_number", field: "limit", limit: MAX_LIMIT });
}
