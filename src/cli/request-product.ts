import { formatShortList } from "../domain/request-warnings.ts";

export interface RequestProduct {
  /** Null: the vendor decides. */
  readonly product: string | null;
  readonly note: string | null;
  readonly warning: string | null;
}

/** The product of a request that names none: the only one there can be, if there is such a one. */
export function chooseProduct(
  installed: readonly string[],
  licensed: readonly string[],
): RequestProduct {
  const [only, ...others] = new Set(installed);
  if (only !== undefined && others.length === 0)
    return chooseOnly(only, "the only product installed");
  const all = [...new Set([...installed, ...licensed])];
  const [first] = all;
  if (first === undefined) return { product: null, note: null, warning: null };
  if (all.length === 1) return chooseOnly(first, "the only product of the trusted vendors");
  const warning = `the request names no product; choose one with --product: ${formatShortList(all)}`;
  return { product: null, note: null, warning };
}

const chooseOnly = (product: string, why: string): RequestProduct => ({
  product,
  note: `the request is for ${product}, ${why}`,
  warning: null,
});
