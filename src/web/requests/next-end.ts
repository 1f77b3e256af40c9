const DAY = 86_400_000;

/** The last day of a license that runs whole years longer, past now; empty without an expiry. */
export function nextEndOf(end: string | null, now: number): string {
  if (end === null) return "";
  const at = Date.parse(end);
  // An end at midnight belongs to the day before.
  const lastDay = new Date(at % DAY === 0 ? at - DAY : at);
  do lastDay.setUTCFullYear(lastDay.getUTCFullYear() + 1);
  while (lastDay.getTime() < now);
  return lastDay.toISOString().slice(0, "2027-12-31".length);
}
