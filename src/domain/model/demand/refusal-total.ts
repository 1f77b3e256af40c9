import type { Instant } from "../../time.ts";

/** What refusals are counted by. */
export interface RefusalKind {
  readonly product: string | null;
  /** Null: the product itself, or counted by a version that did not distinguish features. */
  readonly feature: string | null;
  readonly code: string;
}

export interface RefusalTotal extends RefusalKind {
  readonly count: number;
  readonly lastAt: Instant;
}

/** The key of a total in a map. */
export const refusalKey = ({ product, feature, code }: RefusalKind): string =>
  JSON.stringify([product, feature, code]);
