import { isAudited, isKnownEvent } from "../../domain/event-catalogue.ts";
import type { Event } from "../../domain/model/event.ts";
import { decodeLine, type JournalLine } from "../journal/journal.ts";
import type { LogLine } from "./shared-log.ts";

const LF = "\n";

/**
 * The line in a row of the log; null: a host cannot have written it. Its checksum does not prove
 * that: everyone who can write to the database can compute one.
 */
export function decodeLogLine({ seq, text }: LogLine): JournalLine | null {
  const content = text.slice(0, -1);
  // In the journal of this host it would be two lines.
  if (content.includes(LF)) return null;
  try {
    const line: unknown = decodeLine(Buffer.from(content));
    return isLine(line) && line.seq === seq && hasAuditNumber(line) ? line : null;
  } catch {
    return null;
  }
}

const isLine = (value: unknown): value is JournalLine =>
  isObject(value) &&
  [value["seq"], value["from"], value["at"]].every(Number.isSafeInteger) &&
  Array.isArray(value["events"]) &&
  value["events"].every(isEvent);

const isEvent = (value: unknown): value is Event =>
  isObject(value) && typeof value["type"] === "string" && Number.isSafeInteger(value["at"]);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** No audited event may be missing from the audit log. Only a newer version knows its events. */
const hasAuditNumber = ({ audit_seq: auditSeq, events }: JournalLine): boolean =>
  !events.every(isKnownEvent) || (auditSeq !== undefined) === events.some(isAudited);
