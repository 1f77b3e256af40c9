import type { RegistrationReply } from "../../http/routes/admin.ts";
import { formatDateTime } from "../format.ts";

/** One slot in use, prepared for search, sorting and display. */
export interface SlotRow {
  readonly key: string;
  readonly registration: RegistrationReply;
  /** For a borrowed slot, the end of the borrow: heartbeats do not extend it. */
  readonly until: string;
  readonly isBorrowed: boolean;
  /** Everything shown in the row, in lower case. */
  readonly searchText: string;
  /** Computed once when the row is read, so that sorting only compares. */
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

export function rowOf(registration: RegistrationReply): SlotRow {
  const until = registration.borrowed_until ?? registration.expires_at;
  const texts = [
    registration.user,
    registration.product,
    registration.os_hostname,
    registration.ip_local,
    registration.peer,
    formatMinute(registration.registered_at),
    formatMinute(until),
    ...registration.features,
    registration.user_info,
  ];
  return {
    key: `${registration.license_id} ${registration.user}`,
    registration,
    until,
    isBorrowed: registration.borrowed_until !== null,
    // One line each, so that a search does not match across two fields.
    searchText: texts.join("\n").toLowerCase(),
    sortKeys: {
      user: naturalSortKey(registration.user),
      product: naturalSortKey(registration.product),
      host: naturalSortKey(registration.os_hostname),
      address: naturalSortKey(registration.ip_local || registration.peer),
      // RFC 3339 times sort as text.
      since: registration.registered_at,
      until,
      features: naturalSortKey(registration.features.join(" ")),
      info: naturalSortKey(registration.user_info),
    },
  };
}

const MAX_CACHED_MINUTES = 10_000;
const minuteCache = new Map<string, string>();

/** Cached: formatting a time takes as long as the rest of a row, and many slots share a minute. */
export function formatMinute(time: string): string {
  const minute = time.slice(0, "2026-03-02T09:00".length);
  const cached = minuteCache.get(minute);
  if (cached !== undefined) return cached;
  if (minuteCache.size >= MAX_CACHED_MINUTES) minuteCache.clear();
  const text = formatDateTime(time);
  minuteCache.set(minute, text);
  return text;
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

/** Sorts `ws-9` before `ws-10`. A collator does so too, but takes ten times as long. */
const naturalSortKey = (text: string): string =>
  text.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(12, "0"));

/** Equal rows keep their order: the longest held first. */
export function sortRows(
  rows: readonly SlotRow[],
  { column, descending }: SortOrder,
): readonly SlotRow[] {
  const sign = descending ? -1 : 1;
  return rows.toSorted(({ sortKeys: { [column]: a } }, { sortKeys: { [column]: b } }) =>
    a === b ? 0 : a < b ? -sign : sign,
  );
}

/** A second click on the same column reverses the order. */
export const toggleOrder = (column: Column, current: SortOrder): SortOrder => ({
  column,
  descending: current.column === column && !current.descending,
});
