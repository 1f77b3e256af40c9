import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { err, ok, type Result } from "../../domain/result.ts";
import {
  canonicalizeCode,
  CODE_BITS,
  decodeCode,
  encodeCode,
  decodeCrockford,
} from "../codes/code.ts";
import { signCertified, type IssuingKey } from "./document.ts";
import type { VendorDocumentFault } from "./document-fault.ts";
import { CODE_KINDS, splitCodeKind, prefixCodeKind } from "../codes/code-kinds.ts";
import { verifyVendorDocument, type Signer, type VendorRoot } from "./trust.ts";

const ID_BITS = 80;

/** The code that a site reads out to request the time: its id, and a nonce that is valid once. */
export function encodeTimeCode(appliance: string, nonce: string): string {
  const id = decodeCrockford(appliance, ID_BITS);
  if (id === null) throw new Error("an appliance id has 16 symbols");
  const rest = Buffer.concat([id, Buffer.from(nonce, "hex")]);
  return encodeCode(prefixCodeKind(CODE_KINDS.time, rest), CODE_BITS.time);
}

/** Null when it is not a time code. */
export function decodeTimeCode(code: string): { appliance: string; nonce: string } | null {
  const decoded = decodeCode(code, CODE_BITS.time);
  if (!decoded.ok) return null;
  const { kind, rest } = splitCodeKind(decoded.bytes);
  if (kind !== CODE_KINDS.time) return null;
  return { appliance: canonicalizeCode(code).slice(1, 17), nonce: rest.slice(20) };
}

/** The vendor's statement of the time, valid once for one appliance. */
export const TimeDocument = Type.Object(
  {
    iss: Type.String(),
    iat: Type.Integer({ minimum: 0, maximum: 253_402_300_799 }),
    appliance: Type.String(),
    nonce: Type.String({ pattern: "^[0-9a-f]{10}$" }),
  },
  { additionalProperties: false },
);

export type TimeDocument = Static<typeof TimeDocument>;

export const signTimeDocument = (time: TimeDocument, key: IssuingKey): Promise<string> =>
  signCertified("time", time, key);

export interface SignedTimeDocument {
  readonly time: TimeDocument;
  readonly signer: Signer;
}

export async function verifyTimeDocument(
  document: string,
  vendors: readonly VendorRoot[],
): Promise<Result<SignedTimeDocument, VendorDocumentFault>> {
  const signed = await verifyVendorDocument("time", document, vendors);
  if (!signed.ok) return signed;
  const { payload, signer } = signed.value;
  const isTimeDocument = Value.Check(TimeDocument, payload) && payload.iss === signer.vendor.vendor;
  return isTimeDocument
    ? ok({ time: payload, signer })
    : err({ wrong: "content", expected: "time" });
}
