import type { Instant } from "../domain/time.ts";

/** An instant for samples. */
export const SAMPLE_TIME = Date.UTC(2027, 0, 31, 18) as Instant;

export const formatList = (items: readonly string[]): string =>
  items.length < 2 ? (items[0] ?? "") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
