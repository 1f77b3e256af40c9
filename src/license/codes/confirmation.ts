import { importJWK } from "jose";
import {
  CODE_BITS,
  decodeCode,
  canonicalizeCode,
  encodeCode,
  decodeCrockford,
  type CodeFault,
} from "./code.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { instant, DAY, type Instant } from "../../domain/time.ts";
import { CODE_KINDS, splitCodeKind, prefixCodeKind } from "./code-kinds.ts";
import { publicPart, type PrivateKey, type PublicKey } from "../documents/keys.ts";

/**
 * The two codes of an air-gapped activation. The activation code names the appliance, its hardware
 * and a nonce. The confirmation code is the vendor's signature over these, a policy and a license
 * key, with an end and a serial of its own.
 */

const SIGNATURE_BYTES = 64;
const ID_BITS = 80;

export interface ActivationCode {
  readonly appliance: string;
  /** 5 bytes, hex. */
  readonly nonce: string;
  /** The first 5 bytes of the hardware id, hex. */
  readonly hardwarePrefix: string;
  readonly weak: boolean;
}

/** The kind of an activation code as a number, in the code itself and in the signed list. */
export const activationCodeKind = (weak: boolean): 1 | 2 =>
  weak ? CODE_KINDS.weakActivation : CODE_KINDS.activation;

/** The version of the signed list. */
export const CONFIRMATION_VERSION = 2;

export function encodeActivationCode({
  appliance,
  nonce,
  hardwarePrefix,
  weak,
}: ActivationCode): string {
  const id = decodeCrockford(appliance, ID_BITS);
  if (id === null) throw new Error("an appliance id has 16 symbols");
  const rest = Buffer.concat([id, Buffer.from(nonce, "hex"), Buffer.from(hardwarePrefix, "hex")]);
  return encodeCode(prefixCodeKind(activationCodeKind(weak), rest), CODE_BITS.activation);
}

export function decodeActivationCode(code: string): Result<ActivationCode, CodeFault> {
  const decoded = decodeCode(code, CODE_BITS.activation);
  if (!decoded.ok) return err(decoded.fault);
  const { kind, rest: hex } = splitCodeKind(decoded.bytes);
  const weak = kind === CODE_KINDS.weakActivation;
  if (!weak && kind !== CODE_KINDS.activation) return err({ wrong: "row", row: 1 });
  return ok({
    appliance: canonicalizeCode(code).slice(1, 17),
    nonce: hex.slice(20, 30),
    hardwarePrefix: hex.slice(30, 40),
    weak,
  });
}

/** Everything the vendor's signature covers. */
export interface ConfirmationClaims {
  readonly activation: ActivationCode;
  readonly licenseKey: string;
  /** SHA-256 of the compact policy document, hex. */
  readonly policyHash: string;
  /** As typed; empty: none. */
  readonly initializationCode: string;
}

export interface ConfirmationCode {
  /** Null: the end in the policy applies. */
  readonly validUntil: Instant | null;
  readonly serial: number;
  /** The code's 68 bytes, hex: a lease refers to the license by their hash. */
  readonly bytes: string;
}

export async function signConfirmationCode(
  claims: ConfirmationClaims,
  { validUntil, serial }: Omit<ConfirmationCode, "bytes">,
  key: PrivateKey,
): Promise<string> {
  const days = validUntil === null ? 0 : validUntil / DAY;
  if (validUntil !== null && !canHoldEnd(validUntil))
    throw new RangeError("a code ends on a day, 1970 to 2149");
  const tail = Buffer.alloc(4);
  tail.writeUInt16BE(days, 0);
  tail.writeUInt16BE(serial, 2);
  const signature = await crypto.subtle.sign(
    "Ed25519",
    await cryptoKey(key),
    message(claims, tail),
  );
  return encodeCode(Buffer.concat([new Uint8Array(signature), tail]), CODE_BITS.confirmation);
}

const isDay = (days: number): boolean => Number.isInteger(days) && days > 0 && days <= 0xffff;

/** Whether a code can hold this end: a day in two bytes. */
export const canHoldEnd = (end: Instant): boolean => isDay(end / DAY);

/** Decodes a code without verifying it: `verifyConfirmationCode` checks the signature. */
export function decodeConfirmationCode(code: string): Result<ConfirmationCode, CodeFault> {
  const decoded = decodeCode(code, CODE_BITS.confirmation);
  if (!decoded.ok) return err(decoded.fault);
  const tail = Buffer.from(decoded.bytes).subarray(SIGNATURE_BYTES);
  const days = tail.readUInt16BE(0);
  return ok({
    validUntil: days === 0 ? null : instant(days * DAY),
    serial: tail.readUInt16BE(2),
    bytes: Buffer.from(decoded.bytes).toString("hex"),
  });
}

/** The code in its canonical spelling. */
export const encodeConfirmationCode = ({ bytes }: ConfirmationCode): string =>
  encodeCode(Buffer.from(bytes, "hex"), CODE_BITS.confirmation);

export async function verifyConfirmationCode(
  claims: ConfirmationClaims,
  { bytes }: ConfirmationCode,
  key: PublicKey,
): Promise<boolean> {
  const all = Buffer.from(bytes, "hex");
  const text = message(claims, all.subarray(SIGNATURE_BYTES));
  const signature = new Uint8Array(all.subarray(0, SIGNATURE_BYTES));
  return crypto.subtle.verify("Ed25519", await cryptoKey(publicPart(key)), signature, text);
}

/** The signed list: a length before each item, so that no two lists have the same bytes. */
function message(claims: ConfirmationClaims, tail: Uint8Array): Uint8Array<ArrayBuffer> {
  const { activation, licenseKey, policyHash, initializationCode } = claims;
  const items = [
    Buffer.from(`berth-confirm-v${CONFIRMATION_VERSION}`),
    Buffer.from([activationCodeKind(activation.weak)]),
    decodeCrockford(activation.appliance, ID_BITS) ?? new Uint8Array(),
    Buffer.from(activation.hardwarePrefix, "hex"),
    Buffer.from(activation.nonce, "hex"),
    Buffer.from(licenseKey.normalize("NFC")),
    Buffer.from(policyHash, "hex"),
    Buffer.from(canonicalizeCode(initializationCode)),
    tail,
  ];
  return new Uint8Array(
    Buffer.concat(
      items.flatMap((item) => {
        const length = Buffer.alloc(4);
        length.writeUInt32BE(item.length);
        return [length, item];
      }),
    ),
  );
}

async function cryptoKey(key: PublicKey): Promise<CryptoKey> {
  const imported = await importJWK(key, "EdDSA");
  if (imported instanceof Uint8Array) throw new Error("a key pair was read as a secret");
  return imported;
}
