import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { err, ok, type Result } from "../../domain/result.ts";
import type { Terms } from "../../domain/model/licenses/terms.ts";
import { signCertified, type IssuingKey } from "./document.ts";
import type { VendorDocumentFault } from "./document-fault.ts";
import { PublicKey } from "./keys.ts";
import { decodeTerms, TermsDocument } from "../terms/terms.ts";
import { verifyVendorDocument, type Signer, type VendorRoot } from "./trust.ts";

const closed = { additionalProperties: false };
const idOrNull = Type.Union([Type.String({ pattern: "^[0-9a-f]{32}$" }), Type.Null()]);

const hardwareId = Type.String({ pattern: "^[0-9a-f]{64}$" });

/** A vendor's terms, bound to the key and hardware of one appliance; a renewal has a new serial. */
export const LicenseDocument = Type.Object(
  {
    iss: Type.String({ pattern: "^[0-9A-HJKMNP-TV-Z]{16}$" }),
    iat: Type.Integer({ minimum: 0 }),
    license_id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    serial: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
    request_id: idOrNull,
    nonce: idOrNull,
    appliance: Type.String({ pattern: "^[0-9A-HJKMNP-TV-Z]{16}$" }),
    cnf: Type.Object({ jwk: PublicKey }, closed),
    hardware_id: hardwareId,
    /** Both hosts of a pair, `hardware_id` included. */
    hosts: Type.Optional(Type.Array(hardwareId, { minItems: 2, maxItems: 2, uniqueItems: true })),
    terms: TermsDocument,
  },
  closed,
);

export type LicenseDocument = Static<typeof LicenseDocument>;

export const signLicense = (license: LicenseDocument, key: IssuingKey): Promise<string> =>
  signCertified("license", license, key);

export interface SignedLicense {
  readonly license: LicenseDocument;
  readonly terms: Terms;
  readonly signer: Signer;
}

/** Verifies that one of `vendors` signed a license; does not check that it fits this appliance. */
export async function verifyLicense(
  document: string,
  vendors: readonly VendorRoot[],
): Promise<Result<SignedLicense, VendorDocumentFault>> {
  const signed = await verifyVendorDocument("license", document, vendors);
  if (!signed.ok) return signed;
  const { payload: license, signer } = signed.value;
  if (!Value.Check(LicenseDocument, license) || license.iss !== signer.vendor.vendor) {
    return err({ wrong: "content", expected: "license" });
  }
  const terms = decodeTerms(license.terms);
  const isHostNamed = license.hosts?.includes(license.hardware_id) ?? true;
  return terms === null || !isHostNamed
    ? err({ wrong: "content", expected: "license" })
    : ok({ license, terms, signer });
}
