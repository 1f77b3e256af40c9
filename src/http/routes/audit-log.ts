import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { eventTypes } from "../../domain/event-catalogue.ts";
import { parsePosition, type Position } from "../../operations/audit-log-reader.ts";
import { runBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";
import { wallClock } from "../../platform/clock.ts";
import { log } from "../../platform/log.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { describeRoute } from "../openapi/describe-route.ts";
import { refuse, unwrap } from "../faults.ts";
import {
  field,
  fields,
  readFreeText,
  readIdentifier,
  readLicenseId,
  readTimestamp,
} from "../request/fields.ts";
import { readQuery } from "../request/query.ts";
import {
  AuditEntryReply,
  auditEntryReply,
  matchesFilter,
  containsText,
  type AuditFilter,
} from "../reply/audit-entry.ts";
import { rfc3339OrNull } from "../timestamps.ts";
import type { RouteDeps } from "./deps.ts";

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

const periodFields = {
  since: field("RFC 3339; no events before this time.", { instant: true }),
  until: field("RFC 3339; no events after this time.", { instant: true }),
};

const Query = Type.Object({
  before: field("A seq or the value of next: only older events. Absent: from the newest event."),
  limit: field("Maximum number of events, 1 to 500; default 100."),
  type: field("Event types, separated by commas."),
  user: field("Only events of this user."),
  product: field("Only events of this product, installed or not."),
  license_id: fields.license_id,
  text: field("Only events with this text in a field, in upper or lower case."),
  ...periodFields,
});

const PeriodQuery = Type.Object(periodFields);

/** The audit log: page by page, and as an export. */
export const auditLog = ({ auditLog: reader, identity }: RouteDeps) =>
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
            pick(entry) {
              if (!matchesFilter(filter, entry)) return null;
              const reply = auditEntryReply(entry);
              return filter.text === null || containsText(reply, filter.text) ? reply : null;
            },
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
        const name = `berth-audit-${identity.id.slice(0, 8)}-${rfc3339(wallClock()).slice(0, 10)}`;
        set.headers["content-type"] = "application/x-ndjson";
        set.headers["content-disposition"] = `attachment; filename="${name}.jsonl"`;
        return new Response(streamOf(lines));
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
    );

/**
 * Reads a part whenever the stream's buffer has space. Each part is read between other requests, so
 * that a fast reader does not delay them.
 */
function streamOf(lines: Iterator<Buffer>): ReadableStream<Uint8Array> {
  let isCancelled = false;
  return new ReadableStream({
    async pull(controller) {
      try {
        for (;;) {
          const { done, value } = await runBetweenRequests(() => lines.next());
          if (isCancelled) return;
          if (done === true) return controller.close();
          if (value.length > 0) return controller.enqueue(value);
        }
      } catch (error) {
        // The connection is cut: an incomplete export must not look like a complete one.
        log.error("audit log export failed", { error });
        controller.error(error);
      }
    },
    cancel() {
      isCancelled = true;
    },
  });
}

function readAuditFilter(query: Partial<Static<typeof Query>>): AuditFilter {
  return {
    types: readEventTypes(query.type),
    user: readIdentifier("user", query.user),
    product: readIdentifier("product", query.product),
    licenseId: readLicenseId(query.license_id),
    since: readTimestamp("since", query.since),
    until: readTimestamp("until", query.until),
    text: readFreeText("text", query.text) || null,
  };
}

function readEventTypes(value: string | undefined): ReadonlySet<string> | null {
  if (value === undefined || value === "") return null;
  const types = value.split(",").map((type) => type.trim());
  if (!types.every((type) => eventTypes.has(type))) {
    const expected = "event types such as SlotTaken,SlotReleased";
    refuse({ code: "invalid_parameter", field: "type", expected });
  }
  return new Set(types);
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
