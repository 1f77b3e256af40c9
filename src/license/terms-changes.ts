import type { TermsDocument } from "./terms.ts";

type Consumption = NonNullable<TermsDocument["consumption"]>;
type Feature = TermsDocument["features"][number];
type Floating = NonNullable<Feature["floating"]>;

/** What a feature is to be from now on; what is not named stays as it is. */
export interface FeatureChanges extends Partial<Omit<Feature, "floating" | "consumption">> {
  readonly code: string;
  /** Null: it is not floating any more. */
  readonly floating?: Partial<Floating> | null;
  /** Null: it does not count any more. */
  readonly consumption?: Partial<Consumption> | null;
}

/** What a license is to be from now on; what is not named stays as it is, or is the default. */
export interface TermsChanges extends Partial<Omit<TermsDocument, "features" | "consumption">> {
  /** Null: it does not count any more. */
  readonly consumption?: Partial<Consumption> | null;
  readonly features?: readonly FeatureChanges[];
  /** Codes of features to take away, of those it has and of those named here. */
  readonly without?: readonly string[];
}

/** Changes from two places, of which the second one counts where both name the same term. */
export function combineTermsChanges(first: TermsChanges, second: TermsChanges): TermsChanges {
  const consumption = combineMembers(first.consumption, second.consumption);
  return {
    ...first,
    ...second,
    ...(consumption !== undefined && { consumption }),
    features: combineFeatures(first.features ?? [], second.features ?? []),
    without: [...(first.without ?? []), ...(second.without ?? [])],
  };
}

function combineFeatures(
  first: readonly FeatureChanges[],
  second: readonly FeatureChanges[],
): FeatureChanges[] {
  const combined = new Map(first.map((feature) => [feature.code, feature]));
  for (const feature of second) {
    const earlier = combined.get(feature.code);
    const floating = combineMembers(earlier?.floating, feature.floating);
    const consumption = combineMembers(earlier?.consumption, feature.consumption);
    combined.set(feature.code, {
      ...earlier,
      ...feature,
      ...(floating !== undefined && { floating }),
      ...(consumption !== undefined && { consumption }),
    });
  }
  return [...combined.values()];
}

const combineMembers = <T extends object>(
  first: T | null | undefined,
  second: T | null | undefined,
): T | null | undefined => {
  if (second === undefined) return first;
  return first == null || second === null ? second : { ...first, ...second };
};
