import { DAY } from "../domain/time.ts";

/** A day alone, or a day with a time of day and its zone. */
const DAY_OR_TIME =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ]((?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d+)?)([Zz]|[+-]\d\d:\d\d))?$/;

/** Whether a text is a day alone; that there is such a day is for the ones below to say. */
export const isDateOnly = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text);

/** As a document holds it, for a term that begins: a day counts from its beginning. */
export const parseStartTime = (text: string): string | null => timeOf(text, 0);

/** The same for a term that ends: a day counts whole, so that it ends as the next day begins. */
export const parseEndTime = (text: string): string | null => timeOf(text, DAY);

/** All times are UTC. `Date` turns 30 February into 2 March; null is the answer instead. */
function timeOf(text: string, afterDay: number): string | null {
  const [, day, time, zone = ""] = DAY_OR_TIME.exec(text) ?? [];
  if (day === undefined) return null;
  const midnight = new Date(`${day}T00:00:00.000Z`);
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return null;
  const at =
    time === undefined
      ? midnight.getTime() + afterDay
      : Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  if (Number.isNaN(at)) return null;
  const written = new Date(at).toISOString();
  // Past the year 9999 it is written in another way, which no document has.
  return written.length === "9999-12-31T00:00:00.000Z".length ? written : null;
}
