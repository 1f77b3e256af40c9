import type { ImportTarget } from "../../rules/flexnet/imported-rules.ts";

/** The product or PRODUCT:FEATURE that a reader typed; null: it is neither. */
export function parseTarget(text: string): ImportTarget | null {
  const [product = "", feature = null, ...rest] = text.trim().split(":");
  if (product === "" || feature === "" || rest.length > 0) return null;
  return { product, feature };
}

/**
 * What each feature becomes, where the reader typed something. A feature with nothing becomes a
 * product of the same name.
 */
export const readTargets = (
  typed: ReadonlyMap<string, string>,
): ReadonlyMap<string, ImportTarget> =>
  new Map(
    [...typed].flatMap(([feature, text]) => {
      const target = parseTarget(text);
      return target === null ? [] : [[feature, target] as const];
    }),
  );

/** The first text of a feature's field: the installed product of that name, or the name itself. */
export function suggestTarget(feature: string, products: readonly string[]): string {
  const [name = ""] = feature.split(":");
  const isSame = (product: string): boolean => product.toLowerCase() === name.toLowerCase();
  return products.find(isSame) ?? name;
}
