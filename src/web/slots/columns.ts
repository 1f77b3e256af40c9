import type { RegistrationReply } from "../../http/routes/admin.ts";
import { formatDateTime } from "../format.ts";
import { slots } from "./slots-texts.ts";

/**
 * The column that shows each field of a slot; null: none does. The columns have the order of this
 * table, and a field without a line does not compile.
 */
const COLUMN_OF_FIELD = {
  user: "user",
  product: "product",
  os_hostname: "host",
  ip_local: "address",
  peer: "address",
  registered_at: "since",
  expires_at: "until",
  borrowed_until: "until",
  features: "features",
  user_info: "info",
  license_id: null,
} as const satisfies { readonly [F in keyof RegistrationReply]: string | null };

export type Column = NonNullable<(typeof COLUMN_OF_FIELD)[keyof RegistrationReply]>;

export const COLUMNS: readonly Column[] = [
  ...new Set(Object.values(COLUMN_OF_FIELD).filter((column) => column !== null)),
];

interface ColumnView {
  readonly text: (registration: RegistrationReply) => string;
  /** Shown below the text; null: nothing. */
  readonly secondLine?: (registration: RegistrationReply) => string | null;
  /** What a search finds; absent: the text. */
  readonly searchTexts?: (registration: RegistrationReply) => readonly string[];
  /** What the rows are sorted by; absent: the text, with numbers in it as numbers. */
  readonly sortKey?: (registration: RegistrationReply) => string;
  /** Shows the column name in the cell: a card has no header row. */
  readonly isLabelled?: true;
}

export const COLUMN_VIEWS: { readonly [C in Column]: ColumnView } = {
  user: { text: ({ user }) => user },
  product: { text: ({ product }) => product },
  host: { text: ({ os_hostname }) => os_hostname },
  address: {
    searchTexts: ({ ip_local, peer }) => [ip_local, peer],
    text: ({ ip_local, peer }) => ip_local || peer,
    secondLine: ({ ip_local, peer }) =>
      ip_local !== "" && ip_local !== peer ? slots.from(peer) : null,
  },
  since: {
    text: ({ registered_at }) => formatMinute(registered_at),
    // RFC 3339 times sort as text.
    sortKey: ({ registered_at }) => registered_at,
    isLabelled: true,
  },
  until: {
    text: (registration) => formatMinute(endOf(registration)),
    secondLine: ({ borrowed_until }) => (borrowed_until === null ? null : slots.borrowed),
    sortKey: (registration) => endOf(registration),
    isLabelled: true,
  },
  features: {
    text: ({ features }) => features.join(", "),
    searchTexts: ({ features }) => features,
    sortKey: ({ features }) => naturalSortKey(features.join(" ")),
  },
  info: { text: ({ user_info }) => user_info },
};

/** For a borrowed slot, the end of the borrow: heartbeats do not extend it. */
export const endOf = ({ borrowed_until, expires_at }: RegistrationReply): string =>
  borrowed_until ?? expires_at;

/** Sorts `ws-9` before `ws-10`. A collator does so too, but takes ten times as long. */
export const naturalSortKey = (text: string): string =>
  text.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(12, "0"));

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
