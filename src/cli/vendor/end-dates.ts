import { DAY, instant, type Instant } from "../../domain/time.ts";
import { parseEndTime, isDateOnly } from "../../license/terms/term-times.ts";
import type { TermsDocument } from "../../license/terms/terms.ts";
import { Misuse } from "../frame/options.ts";
import { isUnset } from "./feature-flag.ts";

/** A code holds the day in two bytes. */
const MAX_DAYS = 65_535;

const HINT = "for example 2027-12-31; the whole day is included";

/**
 * Parses the end date of a code. The day is included, so the end is 00:00 UTC of the next day. A
 * code can only hold a day, and an invalid date must never become "no end".
 */
export function parseCodeEnd(text: string | null): Instant | null {
  if (text === null) return null;
  if (isUnset(text)) {
    throw new Misuse(
      "a confirmation code cannot remove the end date of its policy",
      "omit --valid-until, or sign a policy without an end date",
    );
  }
  const endTime = parseEndTime(text);
  const at = endTime === null ? 0 : Date.parse(endTime);
  if (endTime !== null && !isDateOnly(text) && at % DAY !== 0) {
    throw new Misuse("--valid-until must be a day, or a time at 00:00 UTC", HINT);
  }
  const earliest = isDateOnly(text) ? 2 * DAY : DAY;
  if (at < earliest || at > MAX_DAYS * DAY) throw new Misuse("--valid-until must be a day", HINT);
  return instant(at);
}

/** One text for each end date of the license, its maintenance and its features. */
export const describeEnds = (terms: TermsDocument): string[] => [
  ...describeEnd("ends", terms.valid_until),
  ...describeEnd("maintenance ends", terms.maintenance_until),
  ...terms.features.flatMap(({ code, expires }) => describeEnd(`${code} ends`, expires)),
];

/** An end at midnight is easily misread, so the text also names the last day, the one before. */
function describeEnd(what: string, time: string | null): string[] {
  if (time === null) return [];
  const at = Date.parse(time);
  const day = new Date(at - DAY).toISOString().slice(0, 10);
  const shortTime = time.replace(/\.000Z$/, "Z");
  return [`${what} ${shortTime}${at % DAY === 0 ? `, after ${day}` : ""}`];
}
