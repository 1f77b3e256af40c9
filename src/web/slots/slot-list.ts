import type { RegistrationReply } from "../../http/routes/slots/registrations.ts";
import type { RegistrationChangesReply } from "../../http/routes/slots/registrations-changes.ts";
import { renewedRow, rowOf, slotKey, sortRows, updateSorted } from "./rows.ts";
import type { SlotRow, SortOrder } from "./rows.ts";

/** The page's copy of the list of slots. */
export interface SlotList {
  /** By `slotKey`. Versions of the list share it: only the newest one may be read. */
  readonly rows: ReadonlyMap<string, SlotRow>;
  readonly version: number;
  /** The rows that this version added or replaced; null: all. */
  readonly changed: readonly SlotRow[] | null;
  /** Where the next changes begin. */
  readonly cursor: string;
  /** How far the server's clock is ahead of the browser's, in milliseconds. */
  readonly clockOffset: number;
}

type Position = Pick<RegistrationChangesReply, "next" | "now">;

export function newList(
  registrations: Iterable<RegistrationReply>,
  { next, now }: Position,
  version: number,
  browserTime: number,
): SlotList {
  const rows = new Map<string, SlotRow>();
  // A user who released a slot and took another meanwhile is listed twice: the later one counts.
  for (const registration of registrations) rows.set(slotKey(registration), rowOf(registration));
  const clockOffset = Date.parse(now) - browserTime;
  return { rows, version, changed: null, cursor: next, clockOffset };
}

/** Applies what changed since the list was read. Returns the same list if nothing did. */
export function applyChanges(
  list: SlotList,
  changes: RegistrationChangesReply,
  browserTime: number,
): SlotList {
  const rows = list.rows as Map<string, SlotRow>;
  const replaced = new Map<string, SlotRow>();
  const removedKeys = changes.removed.map(slotKey).filter((key) => rows.has(key));
  for (const registration of changes.changed)
    replaced.set(slotKey(registration), rowOf(registration));
  for (const renewal of changes.renewed) {
    const row = rows.get(slotKey(renewal));
    if (row !== undefined && isLater(renewal, row)) replaced.set(row.key, renewedRow(row, renewal));
  }
  for (const row of rows.values()) {
    const { borrowed_until } = row.registration;
    if (borrowed_until === null || borrowed_until > changes.now || replaced.has(row.key)) continue;
    replaced.set(row.key, rowOf({ ...row.registration, borrowed_until: null }));
  }
  const clockOffset = Date.parse(changes.now) - browserTime;
  const next = { ...list, cursor: changes.next, clockOffset };
  if (removedKeys.length === 0 && replaced.size === 0) return Object.assign(list, next);
  for (const key of removedKeys) rows.delete(key);
  for (const [key, row] of replaced) rows.set(key, row);
  return { ...next, version: list.version + 1, changed: [...replaced.values()] };
}

type Renewal = RegistrationChangesReply["renewed"][number];

const isLater = ({ last_seen_at, expires_at }: Renewal, { registration }: SlotRow): boolean =>
  last_seen_at !== registration.last_seen_at || expires_at !== registration.expires_at;

/** The rows of a version of the list in an order. */
export interface SortedList {
  readonly version: number;
  readonly order: SortOrder;
  readonly rows: readonly SlotRow[];
}

/** Sorts the list; with the order before, only the changed rows move. */
export function sortList(
  list: SlotList,
  order: SortOrder,
  previous: SortedList | null,
): SortedList {
  const { version, changed, rows } = list;
  if (previous?.order !== order || changed === null || previous.version < version - 1)
    return { version, order, rows: sortRows([...rows.values()], order) };
  if (previous.version === version) return previous;
  const isCurrent = (row: SlotRow): boolean => rows.get(row.key) === row;
  return { version, order, rows: updateSorted(previous.rows, isCurrent, changed, order) };
}
