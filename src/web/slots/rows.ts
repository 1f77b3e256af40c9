import { compareTexts } from "../../domain/text/compare-texts.ts";
import type { RegistrationReply } from "../../http/routes/slots/registrations.ts";
import { COLUMN_VIEWS, COLUMNS, sortKeyOf, type Column } from "./columns.ts";

/** One slot in use, prepared for search, sorting and display. */
export interface SlotRow {
  readonly key: string;
  readonly registration: RegistrationReply;
  readonly isBorrowed: boolean;
  /** Everything shown in the row except times, in lower case. */
  readonly searchText: string;
  /** Computed once when the row is read, so that sorting only compares. */
  readonly sortKeys: Readonly<Record<Column, string>>;
}

export const slotKey = ({
  license_id,
  user,
}: Pick<RegistrationReply, "license_id" | "user">): string => `${license_id} ${user}`;

export function rowOf(registration: RegistrationReply): SlotRow {
  const searchTexts = COLUMNS.flatMap((column) => COLUMN_VIEWS[column].searchTexts(registration));
  const sortKeys = Object.fromEntries(
    COLUMNS.map((column) => [column, sortKeyOf(column, registration)]),
  ) as Record<Column, string>;
  return {
    key: slotKey(registration),
    registration,
    isBorrowed: registration.borrowed_until !== null,
    // One line each, so that a search does not match across two fields.
    searchText: searchTexts.join("\n").toLowerCase(),
    sortKeys,
  };
}

/** The row after a heartbeat, which changes only times. */
export function renewedRow(
  row: SlotRow,
  times: Pick<RegistrationReply, "last_seen_at" | "expires_at">,
): SlotRow {
  const { last_seen_at, expires_at } = times;
  return {
    ...row,
    registration: { ...row.registration, last_seen_at, expires_at },
    sortKeys: { ...row.sortKeys, lastSeen: last_seen_at },
  };
}

export interface SlotFilter {
  readonly search: string;
  /** Empty: all products. */
  readonly product: string;
  readonly borrowedOnly: boolean;
}

/** A row matches if it contains every word of the search. */
export function filterRows(rows: readonly SlotRow[], filter: SlotFilter): readonly SlotRow[] {
  const { product, borrowedOnly } = filter;
  const words = wordsOf(filter.search);
  if (words.length === 0 && product === "" && !borrowedOnly) return rows;
  return rows.filter(
    ({ registration, isBorrowed, searchText }) =>
      (product === "" || registration.product === product) &&
      (!borrowedOnly || isBorrowed) &&
      words.every((word) => searchText.includes(word)),
  );
}

export const wordsOf = (search: string): readonly string[] =>
  search.toLowerCase().split(/\s+/).filter(Boolean);

export interface SortOrder {
  readonly column: Column;
  readonly descending: boolean;
}

type Compare = (a: SlotRow, b: SlotRow) => number;

/** Rows that are equal in the column have the longest held slot first. */
function comparatorOf({ column, descending }: SortOrder): Compare {
  const isReversed = COLUMN_VIEWS[column].isReversed === true;
  const sign = descending === isReversed ? 1 : -1;
  return (a, b) => {
    const [first, second] = [a.sortKeys[column], b.sortKeys[column]];
    if (first !== second) return first < second ? -sign : sign;
    return compareTexts(a.sortKeys.duration, b.sortKeys.duration) || compareTexts(a.key, b.key);
  };
}

export const sortRows = (rows: readonly SlotRow[], order: SortOrder): readonly SlotRow[] =>
  rows.toSorted(comparatorOf(order));

/** Puts some rows into a sorted list, in place of those that are no longer current. */
export function updateSorted(
  sorted: readonly SlotRow[],
  isCurrent: (row: SlotRow) => boolean,
  changed: readonly SlotRow[],
  order: SortOrder,
): readonly SlotRow[] {
  const compare = comparatorOf(order);
  const rest = sorted.filter(isCurrent);
  const inserted = changed.toSorted(compare);
  const merged: SlotRow[] = [];
  let next = 0;
  for (const row of rest) {
    for (let other = inserted[next]; other !== undefined && compare(other, row) < 0;) {
      merged.push(other);
      next += 1;
      other = inserted[next];
    }
    merged.push(row);
  }
  for (const other of inserted.slice(next)) merged.push(other);
  return merged;
}

/** A second click on the same column reverses the order. */
export const toggleOrder = (column: Column, current: SortOrder): SortOrder => ({
  column,
  descending: current.column === column && !current.descending,
});
