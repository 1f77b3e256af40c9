import type { RegistrationReply } from "../../http/routes/admin.ts";
import { formatDateTime } from "../format.ts";

/** One slot that is held, ready to be searched, sorted and shown. */
export interface SlotRow {
  readonly key: string;
  readonly registration: RegistrationReply;
  /** For a borrowed slot the end of the borrow: nothing renews it before. */
  readonly until: string;
  readonly isBorrowed: boolean;
  /** All that is shown of it, in lower case. */
  readonly searchText: string;
  /** What it is sorted by: made while it is read, so that a click has only to compare. */
  readonly sortKeys: Readonly<Record<Column, string>>;
}

export const COLUMNS = [
  "user",
  "product",
  "host",
  "address",
  "since",
  "until",
  "features",
  "info",
] as const;

export type Column = (typeof COLUMNS)[number];

export function rowOf(held: RegistrationReply): SlotRow {
  const until = held.borrowed_until ?? held.expires_at;
  const shown = [
    held.user,
    held.product,
    held.os_hostname,
    held.ip_local,
    held.peer,
    formatMinute(held.registered_at),
    formatMinute(until),
    ...held.features,
    held.user_info,
  ];
  return {
    key: `${held.license_id} ${held.user}`,
    registration: held,
    until,
    isBorrowed: held.borrowed_until !== null,
    // A line each, so that no word is found across two of them.
    searchText: shown.join("\n").toLowerCase(),
    sortKeys: {
      user: naturalSortKey(held.user),
      product: naturalSortKey(held.product),
      host: naturalSortKey(held.os_hostname),
      address: naturalSortKey(held.ip_local || held.peer),
      // Times are written so that their text sorts like them.
      since: held.registered_at,
      until,
      features: naturalSortKey(held.features.join(" ")),
      info: naturalSortKey(held.user_info),
    },
  };
}

const MAX_CACHED_MINUTES = 10_000;
const minuteCache = new Map<string, string>();

/** Writing a time takes as long as all the rest, and many slots share their minutes. */
export function formatMinute(time: string): string {
  const name = time.slice(0, "2026-03-02T09:00".length);
  const known = minuteCache.get(name);
  if (known !== undefined) return known;
  if (minuteCache.size >= MAX_CACHED_MINUTES) minuteCache.clear();
  const written = formatDateTime(time);
  minuteCache.set(name, written);
  return written;
}

export interface SlotFilter {
  readonly search: string;
  /** Empty: of every product. */
  readonly product: string;
  readonly borrowedOnly: boolean;
}

/** Every word that was typed has to be somewhere in the row. */
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

/** `ws-9` before `ws-10`. A collator knows that too, but takes ten times as long for it. */
const naturalSortKey = (text: string): string =>
  text.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(12, "0"));

/** Equal ones stay as they were: the longest held first. */
export function sortRows(
  rows: readonly SlotRow[],
  { column, descending }: SortOrder,
): readonly SlotRow[] {
  const sign = descending ? -1 : 1;
  return rows.toSorted(({ sortKeys: { [column]: a } }, { sortKeys: { [column]: b } }) =>
    a === b ? 0 : a < b ? -sign : sign,
  );
}

/** A second click on the same column turns it round. */
export const toggleOrder = (column: Column, before: SortOrder): SortOrder => ({
  column,
  descending: before.column === column && !before.descending,
});
