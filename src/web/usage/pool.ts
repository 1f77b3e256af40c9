/** A product, or one of its floating features. */
export interface Pool {
  readonly product: string;
  /** Null: the slots of the product itself. */
  readonly feature: string | null;
}

export const isSamePool = (a: Pool, b: Pool): boolean =>
  a.product === b.product && a.feature === b.feature;

export const poolKey = ({ product, feature }: Pool): string => JSON.stringify([product, feature]);
