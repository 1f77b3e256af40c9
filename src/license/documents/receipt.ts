import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { err, ok, type Result } from "../../domain/result.ts";
import { signDocument, readUnverifiedPayload, verifyDocument } from "./document.ts";
import type { ContentFault, DocumentFault } from "./document-fault.ts";
import { keyIdOf, parsePublicKey, PublicKey, type PrivateKey } from "./keys.ts";

/** Proves to the vendor that a license was returned and its serials can never be used again. */
export const Receipt = Type.Object(
  {
    appliance: Type.String(),
    /** The key that signs the receipt; its id is the appliance's id. */
    jwk: PublicKey,
    license_id: Type.Integer({ minimum: 1 }),
    serial: Type.Integer({ minimum: 1 }),
    vendor: Type.String(),
    product: Type.String(),
    removed_at: Type.String(),
    total_consumptions: Type.Integer({ minimum: 0 }),
    borrows: Type.Array(Type.String()),
  },
  { additionalProperties: false },
);

export type Receipt = Static<typeof Receipt>;

export const signReceipt = (receipt: Receipt, key: PrivateKey): Promise<string> =>
  signDocument("receipt", receipt, key);

/** The key in a receipt must have signed it: no appliance can return the license of another. */
export async function verifyReceipt(
  document: string,
): Promise<Result<Receipt, DocumentFault | ContentFault>> {
  const claimed = readUnverifiedPayload(document) as { jwk?: unknown } | null;
  const key = parsePublicKey(claimed?.jwk);
  if (key === null) return err({ wrong: "content", expected: "receipt" });
  const verified = await verifyDocument("receipt", document, key);
  if (!verified.ok) return verified;
  const isReceipt =
    Value.Check(Receipt, verified.value) && verified.value.appliance === keyIdOf(key);
  return isReceipt ? ok(verified.value) : err({ wrong: "content", expected: "receipt" });
}
