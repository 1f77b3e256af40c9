import { instant, type Instant } from "../domain/time.ts";
import { rfc3339 } from "../platform/rfc3339.ts";

/**
 * RFC 3339 only. The pattern is needed because Temporal also accepts basic formats, annotations,
 * short offsets and signed years. Temporal then checks the calendar.
 */
const RFC3339 =
  /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Null when the text is not a timestamp. */
export function parseTimestamp(text: string): Instant | null {
  if (!RFC3339.test(text)) return null;
  try {
    return instant(
      Temporal.Instant.from(text.replace(/[t ]/, "T").toUpperCase()).epochMilliseconds,
    );
  } catch {
    return null;
  }
}

/** Some clients send this time for "not set". */
export const ZERO_TIME = instant(-62_135_596_800_000);

export const rfc3339OrNull = (at: Instant | null): string | null =>
  at === null ? null : rfc3339(at);
