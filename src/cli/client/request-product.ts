import { formatShortList } from "../../domain/requests/request-warnings.ts";

export interface RequestProduct {
  /** Null: the vendor decides. */
  readonly product: string | null;
  readonly note: string | null;
  readonly warning: string | null;
}

/** Chooses the product of a request that names none, if only one is possible. */
export function chooseProduct(
  installed: readonly string[],
  licensed: readonly string[],
): RequestProduct {
  const [only, ...others] = new Set(installed);
  if (only !== undefined && others.length === 0)
    return chooseOnly(only, "the only product installed");
  const products = [...new Set([...installed, ...licensed])];
  const [first] = products;
  if (first === undefined) return { product: null, note: null, warning: null };
  if (products.length === 1) return chooseOnly(first, "the only product of the trusted vendors");
  const warning = `the request names no product; choose one with --product: ${formatShortList(products)}`;
  return { product: null, note: null, warning };
}

const chooseOnly = (product: string, reason: string): RequestProduct => ({
  product,
  note: `the request is for ${product}, ${reason}`,
  warning: null,
});
