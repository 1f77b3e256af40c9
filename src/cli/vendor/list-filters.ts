import { err, ok, type Result } from "../../domain/result.ts";
import { flag, text, type InvalidValue } from "../frame/options.ts";
import { formatCount } from "../frame/terminal.ts";
import { parseDuration } from "../frame/times.ts";

export const textFilter = (name: string, help: string) =>
  text(name, help, {
    parse: (value) =>
      value === "" ? err({ problem: "must not be empty", hint: help }) : ok(value),
  });

export function parseApplianceId(text: string): Result<string, InvalidValue> {
  if (/^[0-9A-HJKMNP-TV-Z]{16}$/.test(text)) return ok(text);
  const hint = "16 letters and digits, as shown by berth status";
  return err({ problem: "must be an appliance id", hint });
}

export const applianceFilter = (help: string) =>
  text("--appliance ID", help, { parse: parseApplianceId });

export const csvOption = flag("--csv", "print CSV");

/** Milliseconds. Elsewhere `m` means minutes, but for the end of a license probably months. */
function parseEnding(text: string): Result<number, InvalidValue> {
  const [, months] = /^([1-9]\d{0,2})m$/.exec(text) ?? [];
  const duration = text.endsWith("m") ? null : parseDuration(text);
  if (duration !== null) return ok(duration);
  const hint =
    months === undefined
      ? "for example --ending-within 60d"
      : `m means minutes; for ${formatCount(Number(months), "month")}: --ending-within ${Number(months) * 30}d`;
  return err({ problem: "must be a number of hours, days or weeks", hint });
}

export const endingWithinOption = (help: string) =>
  text("--ending-within DURATION", help, { parse: parseEnding });
