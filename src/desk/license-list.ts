import type { Instant } from "../domain/time.ts";
import { deriveAirgapLicenseId } from "../license/airgap-id.ts";
import { readDocumentHeader } from "../license/document.ts";
import { keyIdOf, publicKeyBytes } from "../license/keys.ts";
import type { Vendor } from "../license/trust.ts";
import { isSameLicenseKey } from "./license-key.ts";
import type { DeskRecords } from "./desk-records.ts";
import type { IssuedEntry, Ledger } from "./ledger.ts";
import { findEndingReceipt } from "./ending-receipt.ts";

export const LICENSE_STATES = [
  "active",
  "not yet started",
  "ended",
  "disabled",
  "returned",
  "replaced",
] as const;

export type LicenseState = (typeof LICENSE_STATES)[number];

export interface ListedLicense extends IssuedEntry {
  readonly customer: string | null;
  readonly product: string;
  readonly slots: number;
  /** The first instant at which it is over; null: it has no end. */
  readonly ends_at: string | null;
  readonly license_key: string | null;
  readonly state: LicenseState;
}

/** Every serial that went out, newest first, each with its state at this moment. */
export function listLicenses(ledger: Ledger, now: Instant): ListedLicense[] {
  const received = Map.groupBy(ledger.receiptEntries(), lineOf);
  const lines = Map.groupBy(ledger.issuedEntries(), lineOf);
  const newest = newestSerials(ledger.issuedEntries());
  return ledger.issuedEntries().map((issued) => {
    const { customer, product, slots, valid_until, license_key } = issued.terms;
    const isNewest = newest.get(lineOf(issued)) === issued.serial;
    const line = lines.get(lineOf(issued)) ?? [];
    const receipts = received.get(lineOf(issued)) ?? [];
    const isGivenBack =
      receipts.some(({ serial }) => serial === issued.serial) ||
      (isNewest && findEndingReceipt(issued.serial, line, receipts) !== undefined);
    const state = isGivenBack ? "returned" : isNewest ? stateOf(issued, now) : "replaced";
    return { ...issued, customer, product, slots, ends_at: valid_until, license_key, state };
  });
}

/** One license at one appliance: by code, one key can go from one appliance to another. */
const lineOf = ({ license_id, appliance }: Pick<IssuedEntry, "license_id" | "appliance">): string =>
  `${license_id} ${appliance}`;

function newestSerials(issued: readonly IssuedEntry[]): Map<string, number> {
  const newest = new Map<string, number>();
  for (const one of issued) {
    newest.set(lineOf(one), Math.max(newest.get(lineOf(one)) ?? 0, one.serial));
  }
  return newest;
}

function stateOf({ terms }: IssuedEntry, now: Instant): LicenseState {
  const { valid_until, start, enabled } = terms;
  if (valid_until !== null && Date.parse(valid_until) <= now) return "ended";
  if (!enabled) return "disabled";
  return start !== null && Date.parse(start) > now ? "not yet started" : "active";
}

/** Of each license at each appliance, the newest serial. */
export function filterNewestSerials(licenses: readonly ListedLicense[]): ListedLicense[] {
  const newest = newestSerials(licenses);
  const taken = new Set<string>();
  return licenses.filter((one) => {
    const line = lineOf(one);
    if (taken.has(line) || newest.get(line) !== one.serial) return false;
    return taken.add(line);
  });
}

/** Id of the key that signed it; null where that cannot be told. */
function signerOf({ jwk, document, license_id, terms }: IssuedEntry, vendor: Vendor) {
  if (jwk !== null) {
    const header = readDocumentHeader(document);
    return header.ok ? header.value.kid : null;
  }
  // A code has no room to name its key, but the license's id is made of it.
  const licenseKey = terms.license_key ?? "";
  const key = vendor.keys.find(
    (one) => deriveAirgapLicenseId(publicKeyBytes(one), licenseKey) === license_id,
  );
  return key === undefined ? null : keyIdOf(key);
}

/** Sites may be using them, and their vendor has retired the key they are signed with. */
export function findLicensesToReissue(
  { vendor, ledger }: DeskRecords,
  now: Instant,
): ListedLicense[] {
  if (vendor.retired === undefined) return [];
  return filterNewestSerials(listLicenses(ledger, now)).filter(
    (one) => isOutstanding(one) && isSignedWithRetiredKey({ vendor }, one),
  );
}

export function isSignedWithRetiredKey(
  { vendor }: Pick<DeskRecords, "vendor">,
  issued: IssuedEntry,
) {
  const signer = signerOf(issued, vendor);
  return vendor.retired?.some(({ key }) => key === signer) === true;
}

/** Which licenses somebody wants to see; null: whatever it is. */
export interface LicenseFilter {
  readonly product: string | null;
  /** A part of the customer's name, in any case. */
  readonly customer: string | null;
  readonly appliance: string | null;
  readonly licenseKey: string | null;
  readonly state: LicenseState | null;
  /** Those that are not over yet and end before this instant, the next to end first. */
  readonly endingBefore: Instant | null;
}

export function filterLicenses(
  licenses: readonly ListedLicense[],
  filter: LicenseFilter,
): ListedLicense[] {
  const { product, customer, appliance, licenseKey, state, endingBefore } = filter;
  const found = licenses.filter(
    (one) =>
      (product === null || one.product === product) &&
      (customer === null || contains(one.customer, customer)) &&
      (appliance === null || one.appliance === appliance) &&
      (licenseKey === null || isSameLicenseKey(one.license_key, licenseKey)) &&
      (state === null || one.state === state) &&
      (endingBefore === null || isEnding(one, endingBefore)),
  );
  if (endingBefore === null) return found;
  return found.toSorted((a, b) => Date.parse(a.ends_at ?? "") - Date.parse(b.ends_at ?? ""));
}

const contains = (text: string | null, part: string): boolean =>
  text !== null && fold(text).includes(fold(part));

const fold = (text: string): string => text.normalize("NFC").toLowerCase();

const LIVE: ReadonlySet<LicenseState> = new Set(["active", "not yet started", "disabled"]);

/** Whether a site may be using it: not over, not given back, not replaced. */
export const isOutstanding = ({ state }: ListedLicense): boolean => LIVE.has(state);

const isEnding = (license: ListedLicense, before: Instant): boolean =>
  isOutstanding(license) && license.ends_at !== null && Date.parse(license.ends_at) <= before;
