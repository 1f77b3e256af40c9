// Confirmation codes of version 1, signed independently of src: the kind of the activation is not
// part of the signed list.
import { createPrivateKey, sign } from "node:crypto";
import { encodeCode, decodeCrockford } from "../../src/license/codes/code.ts";
import type { ConfirmationClaims } from "../../src/license/codes/confirmation.ts";
import type { PrivateKey } from "../../src/license/documents/keys.ts";

const CONFIRMATION_BITS = 544;

/** The code has no end of its own. */
export function makeConfirmationCodeV1(
  claims: ConfirmationClaims,
  serial: number,
  key: PrivateKey,
): string {
  const { activation, licenseKey, policyHash, initializationCode } = claims;
  const tail = Buffer.from([0, 0, serial >> 8, serial & 255]);
  const items = [
    Buffer.from("berth-confirm-v1"),
    Buffer.from(decodeCrockford(activation.appliance, 80) ?? []),
    Buffer.from(activation.hardwarePrefix, "hex"),
    Buffer.from(activation.nonce, "hex"),
    Buffer.from(licenseKey.normalize("NFC")),
    Buffer.from(policyHash, "hex"),
    Buffer.from(initializationCode),
    tail,
  ];
  const text = Buffer.concat(
    items.flatMap((item) => [Buffer.from([0, 0, item.length >> 8, item.length & 255]), item]),
  );
  const { kty, crv, x, d } = key;
  const signer = createPrivateKey({ key: { kty, crv, x, d }, format: "jwk" });
  return encodeCode(Buffer.concat([sign(null, text, signer), tail]), CONFIRMATION_BITS);
}
