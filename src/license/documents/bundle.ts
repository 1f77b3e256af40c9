import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { CONFIRMATION_VERSION } from "../codes/confirmation.ts";
import { PublicKey } from "./keys.ts";

/**
 * The proof of a license that was activated by codes: the policy, the confirmation code, and all
 * else that the code's signature covers. The appliance checks it at each start, applications too.
 */
export const Bundle = Type.Object(
  {
    /** The version of the signed list. */
    version: Type.Literal(CONFIRMATION_VERSION),
    /** The kind of the activation code: 1, or 2 for a weakly bound appliance. */
    kind: Type.Union([Type.Literal(1), Type.Literal(2)]),
    policy: Type.String(),
    confirmation_code: Type.String(),
    license_key: Type.String(),
    appliance_id: Type.String(),
    hardware_prefix: Type.String({ pattern: "^[0-9a-f]{10}$" }),
    nonce: Type.String({ pattern: "^[0-9a-f]{10}$" }),
    initialization_code: Type.String(),
    appliance_jwk: PublicKey,
  },
  { additionalProperties: false },
);

export type Bundle = Static<typeof Bundle>;

/** Null when the text is not a bundle. */
export function parseBundle(text: string): Bundle | null {
  try {
    const value: unknown = JSON.parse(text);
    return Value.Check(Bundle, value) ? value : null;
  } catch {
    return null;
  }
}
