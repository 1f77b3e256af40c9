/** `YYYY-MM` in UTC, like the names of the audit log's files. */
export type Month = string;

/** Every month between two times, newest first. */
export function monthsBetween(from: string, to: string): Month[] {
  const months: Month[] = [];
  const first = from.slice(0, 7);
  for (let month = to.slice(0, 7); month >= first; month = previousMonth(month)) months.push(month);
  return months;
}

/** The query for a range of months; an empty month leaves that side open. */
export function monthRangeQuery(first: Month, last: Month): Record<string, string> {
  return {
    ...(first !== "" && { since: `${first}-01T00:00:00.000Z` }),
    ...(last !== "" && { until: new Date(nextMonthStart(last) - 1).toISOString() }),
  };
}

const nextMonthStart = (month: Month): number => Date.UTC(yearOf(month), numberOf(month));

function previousMonth(month: Month): Month {
  const year = yearOf(month);
  const number = numberOf(month);
  return number === 1 ? `${year - 1}-12` : `${year}-${String(number - 1).padStart(2, "0")}`;
}

const yearOf = (month: Month): number => Number(month.slice(0, 4));
const numberOf = (month: Month): number => Number(month.slice(5));
