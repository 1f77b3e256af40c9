import type { RegistrationReply } from "../../http/routes/admin.ts";
import { COLUMN_VIEWS, COLUMNS, naturalSortKey, type Column } from "./columns.ts";

/** One slot in use, prepared for search, sorting and display. */
export interface SlotRow {
  readonly key: string;
  readonly registration: RegistrationReply;
  readonly isBorrowed: boolean;
  /** Everything shown in the row, in lower case. */
  readonly searchText: string;
  /** Computed once when the row is read, so that sorting only compares. */
  readonly sortKeys: Readonly<Partial<Record<Column, string>>>;
}

export function rowOf(registration: RegistrationReply): SlotRow {
  const searchTexts: string[] = [];
  const sortKeys: Partial<Record<Column, string>> = {};
  for (const column of COLUMNS) {
    const view = COLUMN_VIEWS[column];
    const text = view.text(registration);
    searchTexts.push(...(view.searchTexts?.(registration) ?? [text]));
    sortKeys[column] = view.sortKey?.(registration) ?? naturalSortKey(text);
  }
  return {
    key: `${registration.license_id} ${registration.user}`,
    registration,
    isBorrowed: registration.borrowed_until !== null,
    // One line each, so that a search does not match across two fields.
    searchText: searchTexts.join("\n").toLowerCase(),
    sortKeys,
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
  const words = filter.search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && product === "" && !borrowedOnly) return rows;
  return rows.filter(
    ({ registration, isBorrowed, searchText }) =>
      (product === "" || registration.product === product) &&
      (!borrowedOnly || isBorrowed) &&
      words.every((word) => searchText.includes(word)),
  );
}

export interface SortOrder {
  readonly column: Column;
  readonly descending: boolean;
}

/** Equal rows keep their order: the longest held first. */
export function sortRows(
  rows: readonly SlotRow[],
  { column, descending }: SortOrder,
): readonly SlotRow[] {
  const sign = descending ? -1 : 1;
  return rows.toSorted(({ sortKeys: { [column]: a = "" } }, { sortKeys: { [column]: b = "" } }) =>
    a === b ? 0 : a < b ? -sign : sign,
  );
}

/** A second click on the same column reverses the order. */
export const toggleOrder = (column: Column, current: SortOrder): SortOrder => ({
  column,
  descending: current.column === column && !current.descending,
});
