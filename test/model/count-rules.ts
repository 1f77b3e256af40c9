// Consumption of licenses and of features.
import type { AddConsumption, AddFeatureConsumption, Count } from "../../src/domain/command.ts";
import type { ConsumptionTerms } from "../../src/domain/terms.ts";
import type { Instant } from "../../src/domain/time.ts";
import { featureExpiry, termsOf } from "./feature-rules.ts";
import type { LicenseRecord } from "./records.ts";
import { fitting, granted, type Answer, type Reason, type Site } from "./site.ts";

export function consume(site: Site, command: AddConsumption, at: Instant): Answer {
  const counting = fitting(site.valid(command, {}, at), ({ terms }) =>
    terms.consumption === null ? { code: "license_not_consumption" } : null,
  );
  return count(site, counting, null, command, at);
}

export function consumeFeature(site: Site, command: AddFeatureConsumption, at: Instant): Answer {
  const { feature } = command;
  const counting = fitting(site.valid(command, { feature }, at), (license) => {
    const terms = termsOf(license, feature);
    if (terms === undefined) return { code: "invalid_license_feature_code" };
    const isCounting = terms.consumption !== null;
    const uncounted = { code: "unsupported_product_feature" };
    return featureExpiry(terms, at) ?? (isCounting ? null : uncounted);
  });
  return count(site, counting, feature, command, at);
}

/** On the license the user holds, else on the newest that can take all of it; never in parts. */
function count(
  site: Site,
  counting: LicenseRecord[],
  feature: string | null,
  command: Count,
  at: Instant,
): Answer {
  const held = command.user === null ? [] : site.heldOf(counting, command.user, at).slice(0, 1);
  const [license] = fitting(held.length > 0 ? held : counting, (one) =>
    countRefusal(one, feature, site.total(one, feature, at), command),
  );
  if (license === undefined) throw new Error("there was no license to count on");
  const counted = { what: "count", at: site.dated(at, at), count: command.count } as const;
  site.counter(license, feature).entries.push(counted);
  const named = feature === null ? {} : { feature };
  return granted({ license: license.id, ...named, total: site.total(license, feature, at) });
}

function countRefusal(
  license: LicenseRecord,
  feature: string | null,
  total: number,
  { count, allowOverages, maxOverages }: Count,
): Reason | null {
  const counted = feature === null ? license.terms : termsOf(license, feature);
  const terms = counted?.consumption;
  if (terms == null) throw new Error("this does not count");
  if (count === 0) return null;
  if (count < 0) {
    if (terms.negative && total + count >= 0) return null;
    return { code: "negative_not_allowed", total, allowed: terms.negative };
  }
  if (terms.max === null) return null;
  const limit = terms.max + overagesFor(terms, allowOverages, maxOverages);
  if (total + count <= limit) return null;
  const what = feature === null ? "license" : "feature";
  return { code: `${what}_not_enough_consumptions`, left: Math.max(0, limit - total) };
}

/** How far past the maximum a counter may go: a caller can only ask for less. */
function overagesFor(
  terms: ConsumptionTerms,
  allowOverages: boolean | null,
  maxOverages: number | null,
): number {
  if (allowOverages === false) return 0;
  if (maxOverages === null) return terms.overages;
  return Math.min(maxOverages, terms.overages);
}
