import type { LicenseRequest } from "../../license/requests/request.ts";
import { DeskRefused } from "../desk-refused.ts";
import { readLicenseKey, type IssueOptions } from "./issue-options.ts";
import type { IssuedEntry } from "../ledger/ledger-entries.ts";
import type { LedgerIndex } from "../ledger/ledger-index.ts";
import { isSameLicenseKey } from "./license-key.ts";

/** The license that this one renews; null: it is a new license. */
export function findRenewedLicense(ledger: LedgerIndex, options: IssueOptions): IssuedEntry | null {
  const { request, renewLicenseId, licenseId, isNew } = options;
  const id = renewLicenseId ?? licenseId;
  if (id !== null) return getChosenLicense(ledger, id, request);
  return isNew || request === null ? null : findLicenseOfSite(ledger, options, request);
}

/** The license that the vendor chose; refused unless it can be renewed for the request's site. */
function getChosenLicense(
  ledger: LedgerIndex,
  id: number,
  request: LicenseRequest | null,
): IssuedEntry {
  const license = ledger.issuedAs(id).at(-1);
  if (license === undefined) {
    throw new DeskRefused(
      `license ${id} is not in the ledger`,
      "berth vendor list shows the licenses",
    );
  }
  if (request !== null && license.appliance !== request.appliance) {
    throw new DeskRefused(
      `license ${id} belongs to another appliance`,
      "ask that site to return it first, or issue an additional license with --new",
    );
  }
  refuseEndedLicense(
    ledger,
    license,
    request === null ? RENEW_HINT : "omit --license-id to issue a new license for the request",
  );
  return license;
}

/** The site's only license of the product, and of the license key if there is one. */
function findLicenseOfSite(
  ledger: LedgerIndex,
  options: IssueOptions,
  request: LicenseRequest,
): IssuedEntry | null {
  const product = options.terms.product ?? request.product;
  const key = readLicenseKey(options);
  const candidates = new Map<number, IssuedEntry>();
  for (const entry of ledger.issuedTo(request.appliance).toReversed()) {
    const isMatch = entry.terms.product === product;
    const hasKey = key === null || isSameLicenseKey(entry.terms.license_key, key);
    const canRenew = entry.jwk !== null && !ledger.isEnded(entry);
    const isNewest = !candidates.has(entry.license_id);
    if (isMatch && hasKey && canRenew && isNewest) candidates.set(entry.license_id, entry);
  }
  const isKeyUsedElsewhere =
    key !== null &&
    ledger
      .issuedUnder(key)
      .some((entry) => entry.appliance !== request.appliance && !ledger.isEnded(entry));
  if (isKeyUsedElsewhere) {
    throw new DeskRefused(
      "another appliance has a license with this license key",
      "ask that site to return it first; --write-off APPLIANCE --reason TEXT if its machine is lost; --new for an additional license",
    );
  }
  if (candidates.size > 1) {
    throw new DeskRefused(
      "the ledger has several licenses of this product for this appliance",
      "choose one with --license-id ID, or issue an additional license with --new",
    );
  }
  return candidates.values().next().value ?? null;
}

export const RENEW_HINT =
  "ask the site for a new request; berth vendor issue --request FILE creates a new license";

/**
 * A site that returned a license refuses this serial and every renewal of it. One that was written
 * off has its place no more.
 */
export function refuseEndedLicense(ledger: LedgerIndex, issued: IssuedEntry, hint: string): void {
  const [receipt, writeOff] = [ledger.findReceipt(issued), ledger.findWriteOff(issued)];
  const end = receipt ?? writeOff;
  if (end === null) return;
  const what = receipt === null ? "written off" : "returned";
  throw new DeskRefused(
    `license ${issued.license_id} was ${what} on ${end.at.slice(0, 10)}`,
    receipt === null ? "if its machine is found again, answer a new request of it" : hint,
  );
}

/** The license of a lost machine: that of the request's product and key, or a chosen one. */
export function findLostLicense(
  ledger: LedgerIndex,
  options: IssueOptions,
  lostAppliance: string,
): IssuedEntry {
  const { licenseId, request } = options;
  if (request?.appliance === lostAppliance) {
    throw new DeskRefused(
      `the request is of appliance ${lostAppliance} itself`,
      "omit --write-off to renew its license",
    );
  }
  const product = options.terms.product ?? request?.product ?? null;
  const key = readLicenseKey(options);
  const newest = new Map(ledger.issuedTo(lostAppliance).map((entry) => [entry.license_id, entry]));
  const candidates = [...newest.values()].filter(
    (entry) =>
      !ledger.isEnded(entry) &&
      (licenseId === null || entry.license_id === licenseId) &&
      (product === null || entry.terms.product === product) &&
      (key === null || isSameLicenseKey(entry.terms.license_key, key)),
  );
  const [found, another] = candidates;
  if (found === undefined) {
    throw new DeskRefused(
      `appliance ${lostAppliance} has no such license that could be written off`,
      `berth vendor list --appliance ${lostAppliance} shows its licenses`,
    );
  }
  if (another === undefined) return found;
  throw new DeskRefused(
    `appliance ${lostAppliance} has several such licenses: ${candidates.map(({ license_id }) => license_id).join(", ")}`,
    "choose one with --license-id ID",
  );
}
