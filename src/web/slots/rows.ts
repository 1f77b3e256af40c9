import type { RegistrationReply } from "../../http/routes/admin.ts";
import { when } from "../format.ts";

/** One slot that is held, ready to be searched, sorted and shown. */
export interface Row {
  readonly key: string;
  readonly held: RegistrationReply;
  /** For a borrowed slot the end of the borrow: nothing renews it before. */
  readonly until: string;
  readonly isBorrowed: boolean;
  /** All that is shown of it, in lower case. */
  readonly text: string;
  /** What it is sorted by: made while it is read, so that a click has only to compare. */
  readonly keys: Readonly<Record<Column, string>>;
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

export function rowOf(held: RegistrationReply): Row {
  const until = held.borrowed_until ?? held.expires_at;
  const shown = [
    held.user,
    held.product,
    held.os_hostname,
    held.ip_local,
    held.peer,
    minute(held.registered_at),
    minute(until),
    ...held.features,
    held.user_info,
  ];
  return {
    key: `${held.license_id} ${held.user}`,
    held,
    until,
    isBorrowed: held.borrowed_until !== null,
    // A line each, so that no word is found across two of them.
    text: shown.join("\n").toLowerCase(),
    keys: {
      user: natural(held.user),
      product: natural(held.product),
      host: natural(held.os_hostname),
      address: natural(held.ip_local || held.peer),
      // Times are written so that their text sorts like them.
      since: held.registered_at,
      until,
      features: natural(held.features.join(" ")),
      info: natural(held.user_info),
    },
  };
}

const MOST_MINUTES = 10_000;
const minutes = new Map<string, string>();

/** Writing a time takes as long as all the rest, and many slots share their minutes. */
export function minute(time: string): string {
  const name = time.slice(0, "2026-03-02T09:00".length);
  const known = minutes.get(name);
  if (known !== undefined) return known;
  if (minutes.size >= MOST_MINUTES) minutes.clear();
  const written = when(time);
  minutes.set(name, written);
  return written;
}

export interface Filter {
  readonly search: string;
  /** Empty: of every product. */
  readonly product: string;
  readonly borrowedOnly: boolean;
}

/** Every word that was typed has to be somewhere in the row. */
export function filtered(rows: readonly Row[], filter: Filter): readonly Row[] {
  const { product, borrowedOnly } = filter;
  const words = filter.search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && product === "" && !borrowedOnly) return rows;
  return rows.filter(
    ({ held, isBorrowed, text }) =>
      (product === "" || held.product === product) &&
      (!borrowedOnly || isBorrowed) &&
      words.every((word) => text.includes(word)),
  );
}

export interface Order {
  readonly column: Column;
  readonly descending: boolean;
}

/** `ws-9` before `ws-10`. A collator knows that too, but takes ten times as long for it. */
const natural = (text: string): string =>
  text.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(12, "0"));

/** Equal ones stay as they were: the longest held first. */
export function sorted(rows: readonly Row[], { column, descending }: Order): readonly Row[] {
  const sign = descending ? -1 : 1;
  return rows.toSorted(({ keys: { [column]: a } }, { keys: { [column]: b } }) =>
    a === b ? 0 : a < b ? -sign : sign,
  );
}

/** A second click on the same column turns it round. */
export const orderBy = (column: Column, before: Order): Order => ({
  column,
  descending: before.column === column && !before.descending,
});
