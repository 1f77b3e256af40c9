import type { Instant } from "../../domain/time.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import type { Finding } from "../health/finding.ts";

/** Conditions that are reported, but are no findings: nothing is wrong with the server. */
export const DEMAND_CODES = ["pool_full", "demand_denied"] as const;

/** Something that lasts for a while: a finding, or one of the conditions above. */
export interface Condition extends Omit<Finding, "code"> {
  readonly code: Finding["code"] | (typeof DEMAND_CODES)[number] | "events_suppressed" | "test";
}

/**
 * raised: the condition is new. cleared: it has ended. suppressed: there were too many events to
 * send all. test: an operator wants to see one.
 */
export type EventKind = "raised" | "cleared" | "suppressed" | "test";

export interface NotificationEvent extends Condition {
  readonly event: EventKind;
  readonly at: Instant;
  readonly siteName: string;
  /** How often it was raised since the last event about it, without an event. */
  readonly suppressed: number;
}

/** An error message in a summary may be long. */
const MAX_TEXT = 1_000;
const INVISIBLE = /[\p{Cc}\p{DI}\u2028\u2029]/gu;

/** One line: a line break in a text must not become a header of a mail, or a line of a log. */
const toLine = (text: string): string =>
  text.replaceAll(INVISIBLE, " ").slice(0, MAX_TEXT).toWellFormed();

/** The event as programs get it. */
export const toDocument = (event: NotificationEvent) => ({
  event: event.event,
  code: event.code,
  severity: event.severity,
  subject: event.subject === null ? null : toLine(event.subject),
  summary: toLine(event.summary),
  remedy: toLine(event.remedy),
  command: event.command === null ? null : toLine(event.command),
  site_name: toLine(event.siteName),
  at: rfc3339(event.at),
  suppressed: event.suppressed,
});
