import type { Fault } from "../model/fault.ts";
import { err, ok, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { License, State } from "../model/state.ts";
import { checkLicenseHost } from "./license-host.ts";
import { getLicenseEnd } from "../model/licenses/terms.ts";

/** How a caller selects a license. */
export interface LicenseSelector {
  readonly product: string | null;
  readonly licenseId: number | null;
}

/** Why nothing may be granted on this license at this instant; null: it may. */
export function checkLicenseValid(
  state: State,
  license: License,
  context: Pick<RuleContext, "at" | "hasLog" | "isSignedForThisMachine">,
): Fault | null {
  const { terms } = license;
  const { at } = context;
  if (state.retirement !== null) return { code: "moved_away", at: state.retirement.at };
  const hostFault = checkLicenseHost(state, license, context);
  if (hostFault !== null) return hostFault;
  if (!terms.enabled) return { code: "license_not_enabled" };
  if (terms.start !== null && at < terms.start) {
    return { code: "license_not_active", start: terms.start };
  }
  const end = getLicenseEnd(terms);
  if (end !== null && at >= end) return { code: "license_expired", what: "license", end };
  return null;
}

/**
 * All required fields that are missing. The product may be left out while only one is installed.
 */
export function findMissingFields(
  state: State,
  { product }: Pick<LicenseSelector, "product">,
  requiredFields: Readonly<Record<string, string | null>>,
): string[] {
  const missing: string[] = [];
  for (const field in requiredFields) if (requiredFields[field] === null) missing.push(field);
  if (product === null && state.products.size > 1) missing.push("product");
  return missing;
}

/** The licenses that a call selects, the most recently added first. */
export function findLicenses(
  state: State,
  { product, licenseId }: LicenseSelector,
): Result<readonly License[], Fault> {
  if (state.products.size === 0) return err({ code: "license_not_found" });
  const licenses =
    product === null ? state.products.values().next().value : state.products.get(product);
  if (licenses === undefined) return err({ code: "unknown_product" });
  if (licenseId === null) return ok(licenses);
  const matching = licenses.filter(({ id }) => id === licenseId);
  return matching.length === 0 ? err({ code: "license_not_found" }) : ok(matching);
}

/**
 * The valid ones of `licenses`; if there are none, why the most recently added one is not valid.
 */
export function filterValidLicenses(
  state: State,
  licenses: readonly License[],
  context: RuleContext,
): Result<readonly License[], Fault> {
  const valid: License[] = [];
  for (const license of licenses) {
    if (checkLicenseValid(state, license, context) === null) valid.push(license);
  }
  if (valid.length > 0) return ok(valid);
  const [newest] = licenses;
  const reason = newest === undefined ? null : checkLicenseValid(state, newest, context);
  return err(reason ?? { code: "license_not_found" });
}
