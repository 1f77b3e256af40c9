import { DAY, instant, type Instant } from "../domain/time.ts";
import { parseEndTime, isDateOnly } from "../license/term-times.ts";
import type { TermsDocument } from "../license/terms.ts";
import { Misuse } from "../platform/options.ts";
import { isUnset } from "./term-values.ts";

/** What two bytes can say. */
const MAX_DAYS = 65_535;

const HINT = "for example 2027-12-31; the whole day is included";

/**
 * The end that a code holds: the day named counts whole, so it is 00:00 UTC of the next one. A code
 * has room for a day, and an end that is not understood must never become "no end".
 */
export function parseCodeEnd(text: string | null): Instant | null {
  if (text === null) return null;
  if (isUnset(text)) {
    throw new Misuse(
      "a confirmation code cannot remove the end date of its policy",
      "omit --valid-until, or sign a policy without an end date",
    );
  }
  const written = parseEndTime(text);
  const at = written === null ? 0 : Date.parse(written);
  if (written !== null && !isDateOnly(text) && at % DAY !== 0) {
    throw new Misuse("--valid-until must be a day, or a time at 00:00 UTC", HINT);
  }
  const first = isDateOnly(text) ? 2 * DAY : DAY;
  if (at < first || at > MAX_DAYS * DAY) throw new Misuse("--valid-until must be a day", HINT);
  return instant(at);
}

/** When the license, its maintenance and its features end, one text for each end there is. */
export const describeEnds = (terms: TermsDocument): string[] => [
  ...describeEnd("ends", terms.valid_until),
  ...describeEnd("maintenance ends", terms.maintenance_until),
  ...terms.features.flatMap(({ code, expires }) => describeEnd(`${code} ends`, expires)),
];

/** A midnight is hard to read as an end: the day before is the last one. */
function describeEnd(what: string, time: string | null): string[] {
  if (time === null) return [];
  const at = Date.parse(time);
  const day = new Date(at - DAY).toISOString().slice(0, 10);
  const shown = time.replace(/\.000Z$/, "Z");
  return [`${what} ${shown}${at % DAY === 0 ? `, after ${day}` : ""}`];
}
