import type { RegistrationReply } from "../../http/routes/slots/registrations.ts";
import { formatAgo, formatDuration, formatShort } from "../format.ts";
import { slots } from "./slots-texts.ts";

/**
 * The column that shows each field of a slot; null: only the details do. The columns and the
 * details have the order of this table, and a field without a line does not compile.
 */
export const COLUMN_OF_FIELD = {
  user: "user",
  product: "product",
  license_id: null,
  os_hostname: "host",
  peer: "address",
  ip_local: "address",
  last_seen_at: "lastSeen",
  registered_at: "duration",
  expires_at: null,
  borrowed_until: "borrowed",
  features: "features",
  home: "home",
  user_info: "info",
} as const satisfies { readonly [F in keyof RegistrationReply]: string | null };

export type Column = NonNullable<(typeof COLUMN_OF_FIELD)[keyof RegistrationReply]>;

export const COLUMNS: readonly Column[] = [
  ...new Set(Object.values(COLUMN_OF_FIELD).filter((column) => column !== null)),
];

interface ColumnView {
  /** In rem: the least width that is worth showing, and the share of what is left. */
  readonly width: { readonly least: number; readonly share: number };
  /** If not all columns fit, those with the smallest ranks are shown. */
  readonly rank: number;
  /** `now` is the server's time in milliseconds. */
  readonly text: (registration: RegistrationReply, now: number) => string;
  /** What a search finds, and what decides whether the column is empty. */
  readonly searchTexts: (registration: RegistrationReply) => readonly string[];
  /** What the rows are sorted by; absent: the text that is searched, with numbers as numbers. */
  readonly sortKey?: (registration: RegistrationReply) => string;
  /** The smallest key is the largest value: the longest duration began first. */
  readonly isReversed?: true;
  /** The time behind a text such as "2 min ago"; null: there is none. */
  readonly time?: (registration: RegistrationReply) => string | null;
}

const NOTHING: readonly string[] = [];

export const COLUMN_VIEWS: { readonly [C in Column]: ColumnView } = {
  user: {
    width: { least: 9, share: 2 },
    rank: 1,
    text: ({ user }) => user,
    searchTexts: ({ user }) => [user],
  },
  product: {
    width: { least: 6, share: 1 },
    rank: 2,
    text: ({ product }) => product,
    searchTexts: ({ product }) => [product],
  },
  host: {
    width: { least: 8, share: 2 },
    rank: 5,
    text: ({ os_hostname }) => os_hostname,
    searchTexts: ({ os_hostname }) => [os_hostname],
  },
  address: {
    width: { least: 9, share: 1 },
    rank: 9,
    // First what the server saw: a caller can report any other address, of any length.
    text: ({ ip_local, peer }) =>
      ip_local === "" || ip_local === peer ? peer : slots.reportedAddress(peer, ip_local),
    searchTexts: ({ ip_local, peer }) => [peer, ip_local],
    sortKey: ({ peer }) => naturalSortKey(peer),
  },
  lastSeen: {
    width: { least: 8, share: 0 },
    rank: 3,
    text: ({ last_seen_at }, now) => formatAgo(last_seen_at, now),
    searchTexts: () => NOTHING,
    // RFC 3339 times sort as text.
    sortKey: ({ last_seen_at }) => last_seen_at,
    time: ({ last_seen_at }) => last_seen_at,
  },
  duration: {
    width: { least: 7, share: 0 },
    rank: 4,
    text: ({ registered_at }, now) => formatDuration(Math.max(0, now - Date.parse(registered_at))),
    searchTexts: () => NOTHING,
    sortKey: ({ registered_at }) => registered_at,
    isReversed: true,
    time: ({ registered_at }) => registered_at,
  },
  borrowed: {
    width: { least: 9, share: 0 },
    rank: 6,
    text: ({ borrowed_until }, now) =>
      borrowed_until === null ? "" : formatShort(borrowed_until, now),
    searchTexts: () => NOTHING,
    sortKey: ({ borrowed_until }) => borrowed_until ?? "",
    time: ({ borrowed_until }) => borrowed_until,
  },
  features: {
    width: { least: 7, share: 1 },
    rank: 7,
    text: ({ features }) => features.join(", "),
    searchTexts: ({ features }) => features,
    sortKey: ({ features }) => naturalSortKey(features.join(" ")),
  },
  home: {
    width: { least: 8, share: 1 },
    rank: 8,
    text: ({ home }) => home ?? "",
    searchTexts: ({ home }) => (home === null ? NOTHING : [home]),
  },
  info: {
    width: { least: 8, share: 2 },
    rank: 10,
    text: ({ user_info }) => user_info,
    searchTexts: ({ user_info }) => [user_info],
  },
};

export const sortKeyOf = (column: Column, registration: RegistrationReply): string => {
  const { sortKey, searchTexts } = COLUMN_VIEWS[column];
  return sortKey?.(registration) ?? naturalSortKey(searchTexts(registration).join(" "));
};

/** Sorts `ws-9` before `ws-10`. A collator does so too, but takes ten times as long. */
const naturalSortKey = (text: string): string =>
  text.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(12, "0"));

/** Whether a slot has something to show in a column. */
export function isFilled(column: Column, registration: RegistrationReply): boolean {
  const { time, searchTexts } = COLUMN_VIEWS[column];
  return time === undefined
    ? searchTexts(registration).some((text) => text !== "")
    : time(registration) !== null;
}
