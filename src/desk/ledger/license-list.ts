import type { Instant } from "../../domain/time.ts";
import { isSameLicenseKey } from "../issuing/license-key.ts";
import type { DeskFacts } from "../desk-records.ts";
import type { LedgerIndex } from "./ledger-index.ts";
import { licenseAtAppliance, type IssuedEntry } from "./ledger-entries.ts";
import { findEndingReceipt } from "../issuing/ending-receipt.ts";

export const LICENSE_STATES = [
  "active",
  "not yet started",
  "ended",
  "disabled",
  "returned",
  "written off",
  "replaced",
] as const;

export type LicenseState = (typeof LICENSE_STATES)[number];

export interface ListedLicense extends IssuedEntry {
  readonly customer: string | null;
  readonly product: string;
  readonly slots: number;
  /** The first instant after its end; null: no expiry. */
  readonly ends_at: string | null;
  readonly license_key: string | null;
  readonly state: LicenseState;
}

/** Every issued serial, newest first, with its state at `now`. */
export function listLicenses(ledger: LedgerIndex, now: Instant): ListedLicense[] {
  const allReceipts = Map.groupBy(ledger.receiptEntries(), licenseAtAppliance);
  const allSerials = Map.groupBy(ledger.issuedEntries(), licenseAtAppliance);
  const newest = newestSerials(ledger.issuedEntries());
  return ledger.issuedEntries().map((issued) => {
    const { product, slots, valid_until, license_key } = issued.terms;
    const customer = issued.terms.customer ?? findCustomer(ledger, issued);
    const id = licenseAtAppliance(issued);
    const isNewest = newest.get(id) === issued.serial;
    const serials = allSerials.get(id) ?? [];
    const receipts = allReceipts.get(id) ?? [];
    const isReturned =
      receipts.some(({ serial }) => serial === issued.serial) ||
      (isNewest && findEndingReceipt(issued.serial, serials, receipts) !== undefined);
    const isWrittenOff = isNewest && ledger.findWriteOff(issued) !== null;
    const newestState = isWrittenOff ? "written off" : stateOf(issued, now);
    const state = isReturned ? "returned" : isNewest ? newestState : "replaced";
    return { ...issued, customer, product, slots, ends_at: valid_until, license_key, state };
  });
}

/** A confirmation code cannot hold the customer, but its order names it. */
function findCustomer({ orders }: LedgerIndex, license: IssuedEntry): string | null {
  const key = orders.adoptingKey(license) ?? license.terms.license_key;
  const order = key === null ? null : orders.findOrder(key);
  return order === null ? null : (orders.findCustomer(order.customer)?.name ?? null);
}

function newestSerials(issued: readonly IssuedEntry[]): Map<string, number> {
  const newest = new Map<string, number>();
  for (const entry of issued) {
    const id = licenseAtAppliance(entry);
    newest.set(id, Math.max(newest.get(id) ?? 0, entry.serial));
  }
  return newest;
}

function stateOf({ terms }: IssuedEntry, now: Instant): LicenseState {
  const { valid_until, start, enabled } = terms;
  if (valid_until !== null && Date.parse(valid_until) <= now) return "ended";
  if (!enabled) return "disabled";
  return start !== null && Date.parse(start) > now ? "not yet started" : "active";
}

/** Keeps the newest serial of each license at each appliance. */
export function filterNewestSerials(licenses: readonly ListedLicense[]): ListedLicense[] {
  const newest = newestSerials(licenses);
  const seenIds = new Set<string>();
  return licenses.filter((license) => {
    const id = licenseAtAppliance(license);
    if (seenIds.has(id) || newest.get(id) !== license.serial) return false;
    return seenIds.add(id);
  });
}

/** Licenses that sites may be using and that a retired key signed. */
export function findLicensesToReissue(
  { vendor, ledger }: DeskFacts,
  now: Instant,
): ListedLicense[] {
  return filterNewestSerials(listLicenses(ledger, now)).filter(
    (license) => isOutstanding(license) && isSignedWithRetiredKey({ vendor }, license),
  );
}

/** The same, and those that were signed again since: their documents may have been lost. */
export function findReissuedLicenses(records: DeskFacts, now: Instant): ListedLicense[] {
  const serials = Map.groupBy(records.ledger.issuedEntries(), licenseAtAppliance);
  return filterNewestSerials(listLicenses(records.ledger, now)).filter(
    (license) =>
      isOutstanding(license) &&
      serials
        .get(licenseAtAppliance(license))
        ?.some((entry) => isSignedWithRetiredKey(records, entry)),
  );
}

export const isSignedWithRetiredKey = (
  { vendor }: Pick<DeskFacts, "vendor">,
  { key }: IssuedEntry,
): boolean => vendor.retired.includes(key);

/** Which licenses to list; null: any value. */
export interface LicenseFilter {
  readonly product: string | null;
  /** A part of the customer's name; upper and lower case are equal. */
  readonly customer: string | null;
  readonly appliance: string | null;
  readonly licenseKey: string | null;
  readonly state: LicenseState | null;
  /** Licenses that have not ended and end by this instant, the next to end first. */
  readonly endingBefore: Instant | null;
}

export function filterLicenses(
  licenses: readonly ListedLicense[],
  filter: LicenseFilter,
): ListedLicense[] {
  const { product, customer, appliance, licenseKey, state, endingBefore } = filter;
  const matches = licenses.filter(
    (license) =>
      (product === null || license.product === product) &&
      (customer === null || contains(license.customer, customer)) &&
      (appliance === null || license.appliance === appliance) &&
      (licenseKey === null || isSameLicenseKey(license.license_key, licenseKey)) &&
      (state === null || license.state === state) &&
      (endingBefore === null || isEnding(license, endingBefore)),
  );
  if (endingBefore === null) return matches;
  return matches.toSorted((a, b) => Date.parse(a.ends_at ?? "") - Date.parse(b.ends_at ?? ""));
}

const contains = (text: string | null, part: string): boolean =>
  text !== null && normalizeCase(text).includes(normalizeCase(part));

const normalizeCase = (text: string): string => text.normalize("NFC").toLowerCase();

const OUTSTANDING: ReadonlySet<LicenseState> = new Set(["active", "not yet started", "disabled"]);

/** Whether a site may be using it: not ended, not returned, not replaced. */
export const isOutstanding = ({ state }: ListedLicense): boolean => OUTSTANDING.has(state);

const isEnding = (license: ListedLicense, before: Instant): boolean =>
  isOutstanding(license) && license.ends_at !== null && Date.parse(license.ends_at) <= before;
