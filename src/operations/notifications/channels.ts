import { hostname } from "node:os";
import { runProgram, type ProgramOutcome } from "../../platform/system/run-program.ts";
import { sendSyslog, type SyslogMessage, type SyslogTarget } from "../../platform/system/syslog.ts";
import { toDocument, type NotificationEvent } from "./condition.ts";

/** What became of one event. */
export type Delivery = ProgramOutcome;

/** A way for events out of the server. */
export interface Channel {
  /** The setting that names it. */
  readonly setting: "on_event" | "event_syslog";
  /** The most events that it gets in a minute. */
  readonly perMinute: number;
  /** Never throws. */
  readonly deliver: (event: NotificationEvent, signal: AbortSignal) => Promise<Delivery>;
}

const PROGRAM_TIMEOUT_MS = 30_000;

/** Nothing of the server's own environment: it may hold credentials. */
const BASE_ENVIRONMENT = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LANG: "C.UTF-8",
};

/** Runs a program for each event. */
export const createProgramChannel = (
  command: readonly string[],
  timeoutMs = PROGRAM_TIMEOUT_MS,
): Channel => ({
  setting: "on_event",
  perMinute: 10,
  deliver: (event, signal) => {
    const document = toDocument(event);
    return runProgram({
      command,
      input: `${JSON.stringify(document)}\n`,
      environment: { ...BASE_ENVIRONMENT, ...toVariables(document) },
      timeoutMs,
      signal,
    });
  },
});

/** `event` is EVENT, `code` is EVENT_CODE, and so on. What is null is empty. */
const toVariables = (document: ReturnType<typeof toDocument>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(document).map(([name, value]) => [
      name === "event" ? "EVENT" : `EVENT_${name.toUpperCase()}`,
      String(value ?? ""),
    ]),
  );

/** Sends a line to syslog for each event. */
export const createSyslogChannel = (target: SyslogTarget): Channel => ({
  setting: "event_syslog",
  perMinute: 60,
  deliver: async (event) => {
    const startedAt = performance.now();
    const failure = await sendSyslog(target, toSyslogMessage(event));
    const durationMs = Math.round(performance.now() - startedAt);
    return { exitCode: null, failure, output: "", durationMs };
  },
});

const SYSLOG_SEVERITIES = { error: "error", warning: "warning", note: "notice" } as const;

/** `license_expiring raised CAD: CAD ends in 9 days. Request a renewal` */
export function toSyslogMessage(event: NotificationEvent): SyslogMessage {
  const { code, severity, subject, summary, remedy, suppressed } = toDocument(event);
  const isOver = event.event === "cleared" || event.event === "test";
  const head = [code, event.event, ...(subject === null ? [] : [subject])].join(" ");
  const repeats = suppressed === 0 ? "" : ` (${suppressed} more times before)`;
  const advice = isOver || remedy === "" ? "" : `. ${remedy}`;
  return {
    severity: isOver ? "info" : SYSLOG_SEVERITIES[severity],
    at: event.at,
    hostname: hostname(),
    messageId: code,
    text: `${head}: ${summary}${repeats}${advice}`,
  };
}
