import { getLicenseEnd, type ConsumptionTerms } from "../../domain/model/licenses/terms.ts";
import { isInForce } from "../terms-in-force.ts";
import type { CountedConsumption, TermsPeriod } from "../site-record.ts";
import { compareTexts } from "../../domain/text/compare-texts.ts";
import { countPeople, groupBy } from "./denials.ts";
import type { ConsumptionFigures, EndingLicense } from "./report.ts";

/** What was counted, by license and feature. */
export function computeConsumption(
  counts: readonly CountedConsumption[],
  terms: readonly TermsPeriod[],
): ConsumptionFigures[] {
  const groups = groupBy(counts, ({ license, feature }) => JSON.stringify([license, feature]));
  return [...groups.values()]
    .flatMap((group): ConsumptionFigures[] => {
      const last = group.at(-1);
      if (last === undefined) return [];
      let overage = 0;
      for (const count of group) {
        const max = findConsumptionTerms(terms, count)?.max ?? null;
        if (max !== null) overage = Math.max(overage, count.total - max);
      }
      return [
        {
          product: last.product,
          feature: last.feature,
          license: last.license,
          counted: group.reduce((sum, { count }) => sum + count, 0),
          total: last.total,
          max: findConsumptionTerms(terms, last)?.max ?? null,
          overage,
          people: countPeople(group),
        },
      ];
    })
    .toSorted(
      (a, b) =>
        compareTexts(a.product, b.product) ||
        compareTexts(a.feature ?? "", b.feature ?? "") ||
        a.license - b.license,
    );
}

function findConsumptionTerms(
  terms: readonly TermsPeriod[],
  { license, feature, clockPeriod, at }: CountedConsumption,
): ConsumptionTerms | null {
  const inForce = terms.find(
    (period) => period.license === license && isInForce(period, clockPeriod, at),
  )?.terms;
  if (inForce === undefined || feature === null) return inForce?.consumption ?? null;
  return inForce.features.find(({ code }) => code === feature)?.consumption ?? null;
}

/** Installed licenses and features that have an end, the next end first. */
export const listEndingLicenses = (terms: readonly TermsPeriod[]): EndingLicense[] =>
  terms
    .filter(({ to }) => to === null)
    .flatMap(({ license, terms: { product, slots, features, ...rest } }) => {
      const end = getLicenseEnd({ product, slots, features, ...rest });
      const licenseEnd =
        end === null ? [] : [{ license, product, feature: null, slots, endsAt: end }];
      const ofFeatures = features.flatMap(({ code, expires, floating }) =>
        expires === null
          ? []
          : [{ license, product, feature: code, slots: floating?.slots ?? 0, endsAt: expires }],
      );
      return [...licenseEnd, ...ofFeatures];
    })
    .toSorted((a, b) => a.endsAt - b.endsAt || a.license - b.license);
