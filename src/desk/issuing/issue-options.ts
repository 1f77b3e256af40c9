import type { Instant } from "../../domain/time.ts";
import type { LicenseRequest } from "../../license/requests/request.ts";
import type { TermsChanges } from "../../license/terms/terms-changes.ts";
import type { WriteOff } from "../orders/write-off.ts";
import { normalizeLicenseKey } from "./license-key.ts";

/** What the vendor wants to issue. */
export interface IssueOptions {
  /** Null: a renewal from the ledger, for a site that cannot send a request. */
  readonly request: LicenseRequest | null;
  readonly renewLicenseId: number | null;
  readonly licenseId: number | null;
  readonly isNew: boolean;
  readonly licenseKey: string | null;
  /** How many hosts the license is for; null: as many as the license that it renews, or one. */
  readonly hosts: 1 | 2 | null;
  /** Terms that are absent stay as in the license that is renewed. */
  readonly terms: TermsChanges;
  readonly allowWeakBinding: boolean;
  readonly acceptForkReason: string | null;
  /** The lost machine whose license this one replaces; null: none was lost. */
  readonly writeOff: WriteOff | null;
  readonly now: Instant;
}

/** To answer a request, or to renew a license, without any choice of the vendor. */
export const USUAL_OPTIONS: Omit<IssueOptions, "request" | "now"> = {
  renewLicenseId: null,
  licenseId: null,
  isNew: false,
  licenseKey: null,
  hosts: null,
  terms: {},
  allowWeakBinding: false,
  acceptForkReason: null,
  writeOff: null,
};

/** The flag takes precedence over the terms file, and that over the site's request. */
export function readLicenseKey({ licenseKey, terms, request }: IssueOptions): string | null {
  const key = licenseKey ?? terms.license_key ?? request?.license_key ?? null;
  return key === null ? null : normalizeLicenseKey(key);
}
