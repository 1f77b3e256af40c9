import { DAY } from "../../domain/time.ts";

/** A date, or a date with a time of day and a zone. */
const DAY_OR_TIME =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ]((?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d+)?)([Zz]|[+-]\d\d:\d\d))?$/;

/** Whether a text has the form of a date; the functions below check that the day exists. */
export const isDateOnly = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text);

/** The start of a term, as in a document: a date counts from its first instant. */
export const parseStartTime = (text: string): string | null => timeOf(text, 0);

/** The end of a term, as in a document: a date is included, so it ends when the next day begins. */
export const parseEndTime = (text: string): string | null => timeOf(text, DAY);

/** All times are UTC. Null for a day that does not exist; `Date` turns 30 February into 2 March. */
function timeOf(text: string, dateOffset: number): string | null {
  const [, day, time, zone = ""] = DAY_OR_TIME.exec(text) ?? [];
  if (day === undefined) return null;
  const midnight = new Date(`${day}T00:00:00.000Z`);
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return null;
  const at =
    time === undefined
      ? midnight.getTime() + dateOffset
      : Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  if (Number.isNaN(at)) return null;
  const isoTime = new Date(at).toISOString();
  // Years past 9999 have another format, which documents do not allow.
  return isoTime.length === "9999-12-31T00:00:00.000Z".length ? isoTime : null;
}
