// What a case of the lease check consists of. The cases themselves are in lease-cases-*.ts.
import type { LeaseIssuer } from "./lease-documents.ts";

/** The codes of the error `LeaseRefused`, in the order of the checks. */
const REFUSALS = [
  "license_malformed",
  "license_forged",
  "retired_key",
  "lease_malformed",
  "lease_forged",
  "other_product",
  "license_disabled",
  "license_not_started",
  "license_ended",
  "lease_expired",
  "lease_outlasts_license",
  "lease_too_long",
  "lease_not_started",
  "other_license",
  "other_device",
] as const;

export type Refusal = (typeof REFUSALS)[number];

export interface LeaseInput {
  readonly lease: string;
  readonly license: string;
  /** The public root keys that the application contains. */
  readonly rootKeys?: readonly string[];
  /** The issuing keys that the application refuses. */
  readonly retired?: readonly string[];
  readonly product?: string;
  readonly nonce?: string;
}

export interface LeaseCase {
  readonly title: string;
  /** Null: accepted; otherwise the codes, one of which the refusal has. */
  readonly refusals: readonly Refusal[] | null;
  /** Makes the texts just before the check, since they depend on the current time. */
  readonly make: () => LeaseInput | Promise<LeaseInput>;
  /** The verdict is certain for so many seconds after the texts were made. */
  readonly certainSeconds?: number;
  /** The example in the guide reads a text less strictly, or does not read a spelling. */
  readonly differsFromExample?: true;
  /** A string in C ends at a NUL character, and cannot contain half of a UTF-16 pair. */
  readonly isImpossibleInC?: true;
}

type Options = Pick<LeaseCase, "certainSeconds" | "differsFromExample" | "isImpossibleInC">;
type Make = LeaseCase["make"];

export const accepts = (title: string, make: Make, options: Options = {}): LeaseCase => ({
  title,
  refusals: null,
  make,
  ...options,
});

export const refuses = (
  title: string,
  refusal: Refusal | readonly Refusal[],
  make: Make,
  options: Options = {},
): LeaseCase => ({
  title,
  refusals: typeof refusal === "string" ? [refusal] : refusal,
  make,
  ...options,
});

/** A header that names another algorithm or type is refused before or with the signature. */
export const BAD_LICENSE: readonly Refusal[] = ["license_malformed", "license_forged"];
export const BAD_LEASE: readonly Refusal[] = ["lease_malformed", "lease_forged"];

export const LAXER_EXAMPLE = { differsFromExample: true } as const;

/** The texts of a license and of a lease under it. */
export function leaseUnder(
  issuer: LeaseIssuer,
  terms: Readonly<Record<string, unknown>>,
  lease: Readonly<Record<string, unknown>> = {},
): LeaseInput {
  const license = issuer.license(terms);
  return { license, lease: issuer.lease(license, lease) };
}
