import type { PoolName } from "../../domain/model/slots/pool-name.ts";

/** The product or PRODUCT:FEATURE that a reader typed; null: it is neither. */
export function parseTarget(text: string): PoolName | null {
  const [product = "", feature = null, ...rest] = text.trim().split(":");
  if (product === "" || feature === "" || rest.length > 0) return null;
  return { product, feature };
}

/**
 * What each feature becomes, where the reader typed something. A feature with nothing becomes a
 * product of the same name, and a part of one is not converted.
 */
export const readTargets = (typed: ReadonlyMap<string, string>): ReadonlyMap<string, PoolName> =>
  new Map(
    [...typed].flatMap(([feature, text]) => {
      const target = parseTarget(text);
      return target === null ? [] : [[feature, target] as const];
    }),
  );

/**
 * Whether the name stands for a part of a feature's licenses, as `cad:VERSION=2.0`. Rules are for a
 * whole product, so that only the reader can say whether its lines are to become rules.
 */
export const isPartOfFeature = (feature: string): boolean => feature.includes(":");

/** Whether what a reader typed is an error. Nothing is none for a part: it is not converted. */
export const isWrongTarget = (feature: string, text: string): boolean =>
  parseTarget(text) === null && !(isPartOfFeature(feature) && text.trim() === "");

/** The first text of a feature's field: the installed product of that name, or the name itself. */
export function suggestTarget(feature: string, products: readonly string[]): string {
  if (isPartOfFeature(feature)) return "";
  const isSame = (product: string): boolean => product.toLowerCase() === feature.toLowerCase();
  return products.find(isSame) ?? feature;
}
