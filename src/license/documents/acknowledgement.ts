import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { err, ok, type Result } from "../../domain/result.ts";
import { signCertified, type IssuingKey } from "./document.ts";
import type { VendorDocumentFault } from "./document-fault.ts";
import { verifyVendorDocument, type Signer, type VendorRoot } from "./trust.ts";

const id = Type.String({ pattern: "^[0-9A-HJKMNP-TV-Z]{16}$" });

/** The vendor's answer to a usage statement: it has this statement and all before it. */
export const Acknowledgement = Type.Object(
  {
    iss: id,
    iat: Type.Integer({ minimum: 0 }),
    appliance: id,
    n: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    /** SHA-256 of the statement's document. */
    digest: Type.String({ pattern: "^[0-9a-f]{64}$" }),
  },
  { additionalProperties: false },
);

export type Acknowledgement = Static<typeof Acknowledgement>;

export const signAcknowledgement = (ack: Acknowledgement, key: IssuingKey): Promise<string> =>
  signCertified("ack", ack, key);

export interface SignedAcknowledgement {
  readonly ack: Acknowledgement;
  readonly signer: Signer;
}

/** Verifies that one of `vendors` signed it; does not check that it fits this appliance. */
export async function verifyAcknowledgement(
  document: string,
  vendors: readonly VendorRoot[],
): Promise<Result<SignedAcknowledgement, VendorDocumentFault>> {
  const signed = await verifyVendorDocument("ack", document, vendors);
  if (!signed.ok) return signed;
  const { payload, signer } = signed.value;
  const isValid = Value.Check(Acknowledgement, payload) && payload.iss === signer.vendor.vendor;
  return isValid ? ok({ ack: payload, signer }) : err({ wrong: "content", expected: "ack" });
}
