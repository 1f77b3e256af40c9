import { err, ok, type Result } from "../../domain/result.ts";
import { DEFAULT_EVENTS, EVENT_NAMES } from "../../operations/notifications/event-choice.ts";
import { LOCAL_SYSLOG, type SyslogTarget } from "../../platform/system/syslog.ts";
import { findNearest } from "../../domain/text/nearest.ts";
import { list, Misuse, text, type InvalidValue } from "../frame/options.ts";
import { wholeNumber } from "../frame/option-parsers.ts";
import { parseListenAddress } from "./listen-address.ts";

const parseSyslogTarget = (text: string): Result<SyslogTarget, InvalidValue> => {
  if (text === "local") return ok({ path: LOCAL_SYSLOG });
  if (text.startsWith("/")) return ok({ path: text });
  const address = parseListenAddress(text);
  if (address !== null && address.port > 0) return ok(address);
  return err({
    problem: "must be local, the path of a socket, or HOST:PORT for UDP",
    hint: "for example local, or 10.1.0.9:514",
  });
};

const parseEventName = (text: string): Result<string, InvalidValue> => {
  if (EVENT_NAMES.includes(text)) return ok(text);
  const nearest = findNearest(text, EVENT_NAMES);
  return err({
    problem: `must be a list of events; ${text} is not an event`,
    problemWithoutValue: "must be a list of events",
    hint:
      nearest === null
        ? "for example default, or error, backup_failed and pool_full"
        : `did you mean ${nearest}?`,
  });
};

/** The kernel passes no zero byte on. */
const parseArgument = (text: string): Result<string, InvalidValue> =>
  text.includes("\0") ? err({ problem: "must not contain a zero byte", hint: "" }) : ok(text);

/**
 * The settings of notifications. None can be changed on the page: with a stolen token, `on_event`
 * would run any program, and the others would silence a warning.
 */
export const notificationSettings = {
  onEvent: list(
    "--on-event PROGRAM",
    "a program to run when something happens, with its arguments: an absolute path, no shell",
    {
      canContainCommas: true,
      fixedReason: "it runs a program on the server's machine",
      parse: parseArgument,
    },
  ),
  eventSyslog: text(
    "--event-syslog TARGET",
    "where to send a syslog line when something happens: local, a socket, or HOST:PORT for UDP",
    { fixedReason: "notifications must not be redirected from the page", parse: parseSyslogTarget },
  ),
  events: list(
    "--events EVENT",
    "what on-event and event-syslog report: default, error, warning, note, or codes of findings",
    {
      fixedReason: "notifications must not be silenced from the page",
      defaultValue: DEFAULT_EVENTS,
      parse: parseEventName,
    },
  ),
  poolFullMinutes: text(
    "--pool-full-minutes N",
    "after so many minutes without a free slot, the event pool_full is reported",
    {
      fixedReason: "notifications must not be silenced from the page",
      defaultValue: "15",
      parse: wholeNumber(1, 9999, "a number of minutes", "for example 15"),
    },
  ),
};

/** A relative path would depend on the working folder, and a name on PATH. */
export function refuseRelativeProgram(onEvent: readonly string[]): void {
  const [program] = onEvent;
  if (program === undefined || program.startsWith("/")) return;
  throw new Misuse(
    `on-event must begin with an absolute path; ${JSON.stringify(program)} is none`,
    'for example on_event = ["/usr/local/bin/berth-event"]; for a shell, ["/bin/sh", "-c", "…"]',
  );
}
