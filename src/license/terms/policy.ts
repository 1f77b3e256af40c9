import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { err, ok, type Result } from "../../domain/result.ts";
import { signCertified, type IssuingKey } from "../documents/document.ts";
import type { VendorDocumentFault } from "../documents/document-fault.ts";
import { decodeTerms, TermsDocument } from "./terms.ts";
import { verifyVendorDocument, type Signer, type VendorRoot } from "../documents/trust.ts";

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

export const signPolicy = (policy: Policy, key: IssuingKey): Promise<string> =>
  signCertified("policy", policy, key);

/** A policy as it is, or decoded from base64, without white space. */
export function normalizePolicyText(text: string): string {
  const plain = text.replaceAll(/\s/g, "");
  if (plain.includes(".")) return plain;
  return Buffer.from(plain, "base64").toString("utf8").replaceAll(/\s/g, "");
}

export interface SignedPolicy {
  readonly policy: Policy;
  /** The confirmation code must be signed with the same key. */
  readonly signer: Signer;
}

export async function verifyPolicy(
  document: string,
  vendors: readonly VendorRoot[],
): Promise<Result<SignedPolicy, VendorDocumentFault>> {
  const signed = await verifyVendorDocument("policy", document, vendors);
  if (!signed.ok) return signed;
  const { payload: policy, signer } = signed.value;
  const isPolicy = Value.Check(Policy, policy) && decodeTerms(policy.terms) !== null;
  return isPolicy && policy.iss === signer.vendor.vendor
    ? ok({ policy, signer })
    : err({ wrong: "content", expected: "policy" });
}
