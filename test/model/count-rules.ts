// Consumption of licenses and of features.
import type { AddConsumption } from "../../src/domain/consumption/add-consumption.ts";
import type { AddFeatureConsumption } from "../../src/domain/consumption/add-feature-consumption.ts";
import type { ConsumptionRequest } from "../../src/domain/consumption/counters.ts";
import type { ConsumptionTerms } from "../../src/domain/model/licenses/terms.ts";
import type { Instant } from "../../src/domain/time.ts";
import { checkFeatureExpiry, findFeatureTerms } from "./feature-rules.ts";
import type { LicenseRecord } from "./records.ts";
import { filterAllowed, makeGrant, type Answer, type Reason, type ModelSite } from "./site.ts";

export function consume(site: ModelSite, command: AddConsumption, at: Instant): Answer {
  const countable = filterAllowed(site.findValidLicenses(command, {}, at), ({ terms }) =>
    terms.consumption === null ? { code: "license_not_consumption" } : null,
  );
  return countOnLicense(site, countable, null, command, at);
}

export function consumeFeature(
  site: ModelSite,
  command: AddFeatureConsumption,
  at: Instant,
): Answer {
  const { feature } = command;
  const countable = filterAllowed(site.findValidLicenses(command, { feature }, at), (license) => {
    const terms = findFeatureTerms(license, feature);
    if (terms === undefined) return { code: "invalid_license_feature_code" };
    const isCounting = terms.consumption !== null;
    const notCounted = { code: "unsupported_product_feature" };
    return checkFeatureExpiry(terms, at) ?? (isCounting ? null : notCounted);
  });
  return countOnLicense(site, countable, feature, command, at);
}

/**
 * Counts on the license the user holds, else on the newest that can take all of it; never in parts.
 */
function countOnLicense(
  site: ModelSite,
  countable: LicenseRecord[],
  feature: string | null,
  command: ConsumptionRequest,
  at: Instant,
): Answer {
  const heldLicenses =
    command.user === null ? [] : site.filterHeldBy(countable, command.user, at).slice(0, 1);
  const [license] = filterAllowed(heldLicenses.length > 0 ? heldLicenses : countable, (candidate) =>
    checkCount(candidate, feature, site.computeTotal(candidate, feature, at), command),
  );
  if (license === undefined) throw new Error("there is no license to count on");
  const entry = { what: "count", at: site.recordInstant(at, at), count: command.count } as const;
  site.findCounter(license, feature).entries.push(entry);
  const featureFact = feature === null ? {} : { feature };
  return makeGrant({
    license: license.id,
    ...featureFact,
    total: site.computeTotal(license, feature, at),
  });
}

function checkCount(
  license: LicenseRecord,
  feature: string | null,
  total: number,
  { count, allowOverages, maxOverages }: ConsumptionRequest,
): Reason | null {
  const countedTerms = feature === null ? license.terms : findFeatureTerms(license, feature);
  const terms = countedTerms?.consumption;
  if (terms == null) throw new Error("this has no consumption terms");
  if (count === 0) return null;
  if (count < 0) {
    if (terms.negative && total + count >= 0) return null;
    return { code: "negative_not_allowed", total, allowed: terms.negative };
  }
  if (terms.max === null) return null;
  const limit = terms.max + computeOverages(terms, allowOverages, maxOverages);
  if (total + count <= limit) return null;
  const scope = feature === null ? "license" : "feature";
  return { code: `${scope}_not_enough_consumptions`, left: Math.max(0, limit - total) };
}

/** How far past the maximum a counter may go; a caller can only lower it. */
function computeOverages(
  terms: ConsumptionTerms,
  allowOverages: boolean | null,
  maxOverages: number | null,
): number {
  if (allowOverages === false) return 0;
  if (maxOverages === null) return terms.overages;
  return Math.min(maxOverages, terms.overages);
}
