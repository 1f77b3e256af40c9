import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { no, ok, type Result } from "../domain/result.ts";
import type { Terms } from "../domain/terms.ts";
import { readHeader, signDocument, verifyDocument, type DocumentFault } from "./document.ts";
import { idOf, PublicKey, type PrivateKey } from "./keys.ts";
import { decodeTerms, TermsDocument } from "./terms.ts";
import type { Vendor } from "./trust.ts";

const closed = { additionalProperties: false };
const maybeId = Type.Union([Type.String({ pattern: "^[0-9a-f]{32}$" }), Type.Null()]);

/** A vendor's terms for one appliance: its key, its hardware, one serial after the other. */
export const LicenseDocument = Type.Object(
  {
    iss: Type.String({ pattern: "^[0-9A-HJKMNP-TV-Z]{16}$" }),
    iat: Type.Integer({ minimum: 0 }),
    license_id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    serial: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
    request_id: maybeId,
    nonce: maybeId,
    appliance: Type.String({ pattern: "^[0-9A-HJKMNP-TV-Z]{16}$" }),
    cnf: Type.Object({ jwk: PublicKey }, closed),
    hardware_id: Type.String({ pattern: "^[0-9a-f]{64}$" }),
    terms: TermsDocument,
  },
  closed,
);

export type LicenseDocument = Static<typeof LicenseDocument>;

export const signLicense = (license: LicenseDocument, key: PrivateKey): Promise<string> =>
  signDocument("license", license, key);

export interface SignedLicense {
  readonly license: LicenseDocument;
  readonly terms: Terms;
  readonly vendor: string;
}

export type LicenseFault = DocumentFault | "is not a license" | "is signed by nobody trusted here";

/**
 * Reads a license that one of `vendors` signed; whether it fits this appliance is not asked here.
 */
export async function verifyLicense(
  document: string,
  vendors: readonly Vendor[],
): Promise<Result<SignedLicense, LicenseFault>> {
  const header = readHeader(document);
  if (!header.ok) return header;
  if (header.value.kind !== "license") return no("is another kind of document");
  for (const { vendor, keys } of vendors) {
    const key = keys.find((candidate) => idOf(candidate) === header.value.kid);
    if (key === undefined) continue;
    const verified = await verifyDocument("license", document, key);
    if (!verified.ok) return verified;
    const license = verified.value;
    if (!Value.Check(LicenseDocument, license) || license.iss !== vendor)
      return no("is not a license");
    const terms = decodeTerms(license.terms);
    return terms === null ? no("is not a license") : ok({ license, terms, vendor });
  }
  return no("is signed by nobody trusted here");
}
