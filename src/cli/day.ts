import { DAY, instant, type Instant } from "../domain/time.ts";
import { Misuse } from "../platform/options.ts";

/** What two bytes can say. */
const MOST_DAYS = 65_535;

/** A code has room for a day, and an end that is not understood must never become "no end". */
export function dayOf(text: string | null): Instant | null {
  if (text === null) return null;
  const at = Date.parse(`${text}T00:00:00.000Z`);
  const real = /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(at);
  const shown = real && new Date(at).toISOString().slice(0, 10) === text;
  if (!shown || at < DAY || at > MOST_DAYS * DAY) {
    throw new Misuse(
      "--valid-until must be a day",
      "for example 2027-12-31; it ends as that day begins",
    );
  }
  return instant(at);
}
