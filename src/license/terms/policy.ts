import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { err, ok, type Result } from "../../domain/result.ts";
import type { Instant } from "../../domain/time.ts";
import { signDocument } from "../documents/document.ts";
import type { VendorDocumentFault } from "../documents/document-fault.ts";
import type { PrivateKey, PublicKey } from "../documents/keys.ts";
import { decodeTerms, TermsDocument } from "./terms.ts";
import { verifyVendorDocument, type Vendor } from "../documents/trust.ts";

/** License terms that are bound to no appliance: a confirmation code binds them to one. */
export const Policy = Type.Object(
  {
    iss: Type.String({ pattern: "^[0-9A-HJKMNP-TV-Z]{16}$" }),
    iat: Type.Integer({ minimum: 0 }),
    policy_id: Type.String({ minLength: 1, maxLength: 256 }),
    terms: TermsDocument,
  },
  { additionalProperties: false },
);

export type Policy = Static<typeof Policy>;

export const signPolicy = (policy: Policy, key: PrivateKey): Promise<string> =>
  signDocument("policy", policy, key);

/** A policy as it is, or decoded from base64, without white space. */
export function normalizePolicyText(text: string): string {
  const plain = text.replaceAll(/\s/g, "");
  if (plain.includes(".")) return plain;
  return Buffer.from(plain, "base64").toString("utf8").replaceAll(/\s/g, "");
}

export interface SignedPolicy {
  readonly policy: Policy;
  readonly vendor: Vendor;
  /** The key that signed it; the confirmation code must be signed with the same one. */
  readonly key: PublicKey;
}

export async function verifyPolicy(
  document: string,
  vendors: readonly Vendor[],
  at: Instant | null = null,
): Promise<Result<SignedPolicy, VendorDocumentFault>> {
  const signed = await verifyVendorDocument("policy", document, vendors, at);
  if (!signed.ok) return signed;
  const { payload: policy, vendor, key } = signed.value;
  const isPolicy = Value.Check(Policy, policy) && decodeTerms(policy.terms) !== null;
  return isPolicy && policy.iss === vendor.vendor
    ? ok({ policy, vendor, key })
    : err({ wrong: "content", expected: "policy" });
}
