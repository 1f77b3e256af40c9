import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { err, ok, type Result } from "../../domain/result.ts";
import {
  readDocumentHeader,
  readUnverifiedPayload,
  signDocument,
  verifyDocument,
} from "./document.ts";
import type { ContentFault, DocumentFault } from "./document-fault.ts";
import { keyIdOf, parsePublicKey, PublicKey, type PrivateKey } from "./keys.ts";

/** A desk's request to the root: certify this key. The key itself signs it. */
const KeyRequest = Type.Object(
  { vendor: Type.String({ pattern: "^[0-9A-HJKMNP-TV-Z]{16}$" }), jwk: PublicKey },
  { additionalProperties: false },
);

export type KeyRequest = Static<typeof KeyRequest>;

export const signKeyRequest = (request: KeyRequest, key: PrivateKey): Promise<string> =>
  signDocument("key-request", request, key);

export async function verifyKeyRequest(
  text: string,
): Promise<Result<KeyRequest, DocumentFault | ContentFault>> {
  const header = readDocumentHeader(text);
  if (!header.ok) return header;
  if (header.value.kind !== "key-request") return err({ wrong: "kind", kind: header.value.kind });
  const refused = err({ wrong: "content", expected: "key-request" } as const);
  const key = parsePublicKey((readUnverifiedPayload(text) as { jwk?: unknown } | null)?.jwk);
  if (key === null || keyIdOf(key) !== header.value.kid) return refused;
  const verified = await verifyDocument("key-request", text, key);
  if (!verified.ok) return verified;
  return Value.Check(KeyRequest, verified.value) ? ok({ ...verified.value, jwk: key }) : refused;
}
