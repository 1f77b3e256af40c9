// Consumption of licenses and of features.
import type {
  AddConsumption,
  AddFeatureConsumption,
  ConsumptionRequest,
} from "../../src/domain/command.ts";
import type { ConsumptionTerms } from "../../src/domain/terms.ts";
import type { Instant } from "../../src/domain/time.ts";
import { checkFeatureExpiry, findFeatureTerms } from "./feature-rules.ts";
import type { LicenseRecord } from "./records.ts";
import { filterAllowed, makeGrant, type Answer, type Reason, type ModelSite } from "./site.ts";

export function consume(site: ModelSite, command: AddConsumption, at: Instant): Answer {
  const counting = filterAllowed(site.findValidLicenses(command, {}, at), ({ terms }) =>
    terms.consumption === null ? { code: "license_not_consumption" } : null,
  );
  return countOnLicense(site, counting, null, command, at);
}

export function consumeFeature(
  site: ModelSite,
  command: AddFeatureConsumption,
  at: Instant,
): Answer {
  const { feature } = command;
  const counting = filterAllowed(site.findValidLicenses(command, { feature }, at), (license) => {
    const terms = findFeatureTerms(license, feature);
    if (terms === undefined) return { code: "invalid_license_feature_code" };
    const isCounting = terms.consumption !== null;
    const uncounted = { code: "unsupported_product_feature" };
    return checkFeatureExpiry(terms, at) ?? (isCounting ? null : uncounted);
  });
  return countOnLicense(site, counting, feature, command, at);
}

/** On the license the user holds, else on the newest that can take all of it; never in parts. */
function countOnLicense(
  site: ModelSite,
  counting: LicenseRecord[],
  feature: string | null,
  command: ConsumptionRequest,
  at: Instant,
): Answer {
  const held =
    command.user === null ? [] : site.filterHeldBy(counting, command.user, at).slice(0, 1);
  const [license] = filterAllowed(held.length > 0 ? held : counting, (one) =>
    checkCount(one, feature, site.computeTotal(one, feature, at), command),
  );
  if (license === undefined) throw new Error("there was no license to count on");
  const counted = { what: "count", at: site.recordInstant(at, at), count: command.count } as const;
  site.findCounter(license, feature).entries.push(counted);
  const named = feature === null ? {} : { feature };
  return makeGrant({
    license: license.id,
    ...named,
    total: site.computeTotal(license, feature, at),
  });
}

function checkCount(
  license: LicenseRecord,
  feature: string | null,
  total: number,
  { count, allowOverages, maxOverages }: ConsumptionRequest,
): Reason | null {
  const counted = feature === null ? license.terms : findFeatureTerms(license, feature);
  const terms = counted?.consumption;
  if (terms == null) throw new Error("this does not count");
  if (count === 0) return null;
  if (count < 0) {
    if (terms.negative && total + count >= 0) return null;
    return { code: "negative_not_allowed", total, allowed: terms.negative };
  }
  if (terms.max === null) return null;
  const limit = terms.max + computeOverages(terms, allowOverages, maxOverages);
  if (total + count <= limit) return null;
  const what = feature === null ? "license" : "feature";
  return { code: `${what}_not_enough_consumptions`, left: Math.max(0, limit - total) };
}

/** How far past the maximum a counter may go: a caller can only ask for less. */
function computeOverages(
  terms: ConsumptionTerms,
  allowOverages: boolean | null,
  maxOverages: number | null,
): number {
  if (allowOverages === false) return 0;
  if (maxOverages === null) return terms.overages;
  return Math.min(maxOverages, terms.overages);
}
