import type { TermsDocument } from "./terms.ts";

type Consumption = NonNullable<TermsDocument["consumption"]>;
type Feature = TermsDocument["features"][number];
type Floating = NonNullable<Feature["floating"]>;

/** Changes to a feature; terms that are absent stay unchanged. */
export interface FeatureChanges extends Partial<Omit<Feature, "floating" | "consumption">> {
  readonly code: string;
  /** Null: the feature is no longer floating. */
  readonly floating?: Partial<Floating> | null;
  /** Null: consumption is no longer counted. */
  readonly consumption?: Partial<Consumption> | null;
}

/** Changes to a license; terms that are absent stay unchanged or get their default. */
export interface TermsChanges extends Partial<
  Omit<TermsDocument, "features" | "consumption" | "restore_grace_hours" | "report_every_days">
> {
  /** Null: the license has no grace period after a restore any more. */
  readonly restore_grace_hours?: number | null;
  /** Null: no statements are wanted any more. */
  readonly report_every_days?: number | null;
  /** Null: consumption is no longer counted. */
  readonly consumption?: Partial<Consumption> | null;
  readonly features?: readonly FeatureChanges[];
  /** Codes of features to remove, from the license and from `features`. */
  readonly without?: readonly string[];
}

/** Combines two sets of changes; where both change the same term, the second wins. */
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
