import type { SlotRow } from "./rows.ts";

/** Which slots are selected, by their keys. */
export interface Selection {
  readonly keys: ReadonlySet<string>;
  /** The slot that was selected last, where a range begins; null: none. */
  readonly anchor: string | null;
}

export const NO_SELECTION: Selection = { keys: new Set(), anchor: null };

/** Selects a slot, or no longer. With `isRange`, all shown slots from the last one to this one. */
export function toggleRow(
  { keys, anchor }: Selection,
  key: string,
  shown: readonly SlotRow[],
  isRange: boolean,
): Selection {
  const next = new Set(keys);
  const isSelected = !keys.has(key);
  const range = isRange && anchor !== null ? rangeBetween(shown, anchor, key) : [key];
  for (const one of range) {
    if (isSelected) next.add(one);
    else next.delete(one);
  }
  return { keys: next, anchor: key };
}

/** The keys from one row to another, in the order that is shown. */
function rangeBetween(shown: readonly SlotRow[], from: string, to: string): readonly string[] {
  const [start, end] = [from, to].map((key) => shown.findIndex((row) => row.key === key));
  if (start === undefined || end === undefined || start < 0 || end < 0) return [to];
  return shown.slice(Math.min(start, end), Math.max(start, end) + 1).map(({ key }) => key);
}

/** Selects all shown slots; if all of them are selected, none of them. */
export function toggleAll({ keys }: Selection, shown: readonly SlotRow[]): Selection {
  const isAll = shown.every(({ key }) => keys.has(key));
  const next = new Set(keys);
  for (const { key } of shown) {
    if (isAll) next.delete(key);
    else next.add(key);
  }
  return { keys: next, anchor: null };
}

/** Without the slots that are no longer in use. */
export function pruneSelection(selection: Selection, isInUse: (key: string) => boolean): Selection {
  const keys = [...selection.keys].filter(isInUse);
  return keys.length === selection.keys.size ? selection : { ...selection, keys: new Set(keys) };
}
