import type { LicenseRequest } from "../../license/requests/request.ts";
import type { Desk } from "../desk.ts";
import { DeskRefused } from "../desk-refused.ts";
import { readLicenseKey, type IssueOptions } from "./issue-options.ts";
import type { IssuedEntry } from "../ledger/ledger-entries.ts";
import { isSameLicenseKey } from "./license-key.ts";

/** The license that this one renews; null: it is a new license. */
export function findRenewedLicense(desk: Desk, options: IssueOptions): IssuedEntry | null {
  const { request, renewLicenseId, licenseId, isNew } = options;
  const id = renewLicenseId ?? licenseId;
  if (id !== null) return getChosenLicense(desk, id, request);
  return isNew || request === null ? null : findLicenseOfSite(desk, options, request);
}

/** The license that the vendor chose; refused unless it can be renewed for the request's site. */
function getChosenLicense(desk: Desk, id: number, request: LicenseRequest | null): IssuedEntry {
  const license = desk.ledger.issuedAs(id).at(-1);
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
  refuseReturnedLicense(
    desk,
    license,
    request === null
      ? "ask the site for a new request; berth vendor issue --request FILE creates a new license"
      : "omit --license-id to issue a new license for the request",
  );
  return license;
}

/** The site's only license of the product, and of the license key if there is one. */
function findLicenseOfSite(
  desk: Desk,
  options: IssueOptions,
  request: LicenseRequest,
): IssuedEntry | null {
  const product = options.terms.product ?? request.product;
  const key = readLicenseKey(options);
  const candidates = new Map<number, IssuedEntry>();
  for (const entry of desk.ledger.issuedTo(request.appliance).toReversed()) {
    const isMatch = entry.terms.product === product;
    const hasKey = key === null || isSameLicenseKey(entry.terms.license_key, key);
    const canRenew = entry.jwk !== null && !desk.ledger.isReturned(entry);
    const isNewest = !candidates.has(entry.license_id);
    if (isMatch && hasKey && canRenew && isNewest) candidates.set(entry.license_id, entry);
  }
  const isKeyUsedElsewhere =
    key !== null &&
    desk.ledger
      .issuedUnder(key)
      .some((entry) => entry.appliance !== request.appliance && !desk.ledger.isReturned(entry));
  if (isKeyUsedElsewhere) {
    throw new DeskRefused(
      "another appliance has a license with this license key",
      "ask that site to return it first, or issue an additional license with --new",
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

/** A site that returned a license refuses this serial and every renewal of it. */
export function refuseReturnedLicense(desk: Desk, issued: IssuedEntry, hint: string): void {
  const receipt = desk.ledger.findReceipt(issued);
  if (receipt === null) return;
  const day = receipt.at.slice(0, 10);
  throw new DeskRefused(`license ${issued.license_id} was returned on ${day}`, hint);
}
