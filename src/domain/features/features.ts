import type { FeatureExpired, FeatureRenewed } from "../model/event.ts";
import type { Fault } from "../model/fault.ts";
import { findLicenses, findMissingFields, type LicenseSelector } from "../licenses/licenses.ts";
import { err, ok, type Result } from "../result.ts";
import { findHeldSlot } from "../model/slots/pool.ts";
import type { BaseRegistration } from "../model/slots/registration.ts";
import type { Feature, License, State } from "../model/state.ts";
import { earliest, type Instant } from "../time.ts";

export interface FeatureOutcome {
  readonly license: number;
  readonly feature: string;
}

/**
 * The renewals of the feature slots that depend on a license's slot, when that slot gets a new end.
 */
export function renewHeldFeatures(
  { id: license, features }: License,
  user: string,
  licenseEnd: Instant,
  at: Instant,
): FeatureRenewed[] {
  const renewals: FeatureRenewed[] = [];
  for (const [feature, { pool }] of features) {
    const featureSlot = pool.size === 0 ? null : findHeldSlot(pool, user, at);
    if (featureSlot === null) continue;
    const { timeoutAt } = featureSlot;
    const end = earliest(timeoutAt, licenseEnd);
    if (end === featureSlot.end) continue;
    renewals.push({ type: "FeatureRenewed", at, license, feature, user, end, timeoutAt });
  }
  return renewals;
}

export const makeFeatureExpired = (
  license: number,
  feature: string,
  { user, slot, end }: BaseRegistration,
): FeatureExpired => ({ type: "FeatureExpired", at: end, license, feature, user, slot });

interface FeatureTarget {
  readonly user: string;
  readonly feature: string;
  readonly licenses: readonly License[];
}

export function resolveFeatureTarget(
  state: State,
  command: LicenseSelector & { readonly user: string | null; readonly feature: string | null },
): Result<FeatureTarget, Fault> {
  const { user, feature } = command;
  const missing = findMissingFields(state, command, { user, feature });
  if (user === null || feature === null || missing.length > 0) {
    return err({ code: "missing_parameters", fields: missing });
  }
  const licenses = findLicenses(state, command);
  return licenses.ok ? ok({ user, feature, licenses: licenses.value }) : licenses;
}

/** The licenses with this feature; a fault if the feature has expired in all of them. */
export function findUsableFeatures(
  licenses: readonly License[],
  code: string,
  at: Instant,
): Result<readonly { readonly license: License; readonly feature: Feature }[], Fault> {
  const usable: { license: License; feature: Feature }[] = [];
  let fault: Fault = { code: "invalid_license_feature_code" };
  for (const license of licenses) {
    const feature = license.features.get(code);
    if (feature === undefined) continue;
    const { expires } = feature.terms;
    if (expires === null || at < expires) usable.push({ license, feature });
    else fault = { code: "license_expired", what: "feature", end: expires };
  }
  return usable.length === 0 ? err(fault) : ok(usable);
}
