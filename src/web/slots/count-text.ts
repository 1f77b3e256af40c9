import { formatNumber } from "../format.ts";
import { slots } from "./slots-texts.ts";
import { wordsOf, type SlotFilter } from "./rows.ts";

interface Counts {
  readonly shown: number;
  /** In use, of the product if the filter has one. */
  readonly inUse: number;
  /** The slots of the product's licenses; null: not known. */
  readonly licensed: number | null;
}

/** How many slots are shown, and of what; a count always names its filter. */
export function countText(filter: SlotFilter, { shown, inUse, licensed }: Counts): string {
  const { product, borrowedOnly, search } = filter;
  const words = wordsOf(search);
  const conditions = [
    ...(words.length > 0 ? [slots.contains(words)] : []),
    ...(borrowedOnly ? [slots.borrowedOnly.toLowerCase()] : []),
  ];
  if (conditions.length > 0)
    return slots.shown(formatNumber(shown), formatNumber(inUse), product, conditions.join(", "));
  if (product === "" || licensed === null) return slots.inUse(inUse, formatNumber(inUse));
  return slots.inUseOfProduct(formatNumber(inUse), formatNumber(licensed), product);
}
