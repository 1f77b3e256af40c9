import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { no, ok, type Result } from "../domain/result.ts";
import { readHeader, signDocument, verifyDocument, type DocumentFault } from "./document.ts";
import { idOf, type PrivateKey, type PublicKey } from "./keys.ts";
import { decodeTerms, TermsDocument } from "./terms.ts";
import type { Vendor } from "./trust.ts";

/** License terms bound to nobody yet: they come with the install medium and wait for a code. */
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

export interface SignedPolicy {
  readonly policy: Policy;
  readonly vendor: Vendor;
  /** The key that signed it, which is the one that confirms it. */
  readonly key: PublicKey;
}

export type PolicyFault = DocumentFault | "is not a policy" | "is signed by nobody trusted here";

export async function verifyPolicy(
  document: string,
  vendors: readonly Vendor[],
): Promise<Result<SignedPolicy, PolicyFault>> {
  const header = readHeader(document);
  if (!header.ok) return header;
  if (header.value.kind !== "policy") return no("is another kind of document");
  for (const vendor of vendors) {
    const key = vendor.keys.find((candidate) => idOf(candidate) === header.value.kid);
    if (key === undefined) continue;
    const verified = await verifyDocument("policy", document, key);
    if (!verified.ok) return verified;
    const policy = verified.value;
    const whole = Value.Check(Policy, policy) && decodeTerms(policy.terms) !== null;
    return whole && policy.iss === vendor.vendor
      ? ok({ policy, vendor, key })
      : no("is not a policy");
  }
  return no("is signed by nobody trusted here");
}
