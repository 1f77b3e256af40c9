const UTC_TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z/g;

/**
 * With --local, converts times in Berth's format to this machine's time zone, with the offset, so
 * that they can still be compared. For columns of times and texts, not for columns of names.
 */
export const createTimeFormatter = ({
  local,
}: {
  readonly local: boolean;
}): ((text: string) => string) =>
  local ? (text) => text.replaceAll(UTC_TIME, toLocalTime) : (text) => text;

const toLocalTime = (time: string): string =>
  Temporal.Instant.from(time).toString({
    timeZone: Temporal.Now.timeZoneId(),
    fractionalSecondDigits: time.includes(".") ? 3 : 0,
  });
