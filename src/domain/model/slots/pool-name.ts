/** A pool of slots: those of a product, or of one of its floating features. */
export interface PoolName {
  readonly product: string;
  /** Null: the slots of the product itself. */
  readonly feature: string | null;
}

export const poolKey = ({ product, feature }: PoolName): string =>
  JSON.stringify([product, feature]);
