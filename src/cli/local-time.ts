import { isFlagSet, type FlagValues } from "./command.ts";

const UTC = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z/g;

/**
 * With --local, times in Berth's own form become those of this machine's time zone, with the
 * offset, so that they can still be compared. Columns of names stay as they are.
 */
export const createTimeFormatter = (given: FlagValues): ((text: string) => string) =>
  isFlagSet(given, "local") ? (text) => text.replaceAll(UTC, toLocalTime) : (text) => text;

const toLocalTime = (time: string): string =>
  Temporal.Instant.from(time).toString({
    timeZone: Temporal.Now.timeZoneId(),
    fractionalSecondDigits: time.includes(".") ? 3 : 0,
  });
