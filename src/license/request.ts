import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { err, ok, type Result } from "../domain/result.ts";
import {
  readDocumentHeader,
  signDocument,
  readUnverifiedPayload,
  verifyDocument,
  type DocumentFault,
} from "./document.ts";
import { computeHardwareId, type HashedComponent } from "./hardware.ts";
import { keyIdOf, parsePublicKey, PublicKey, type PrivateKey } from "./keys.ts";

const closed = { additionalProperties: false };
const text = Type.Union([Type.String({ minLength: 1, maxLength: 256 }), Type.Null()]);
const hash = Type.String({ pattern: "^[0-9a-f]{64}$" });
const seq = Type.Integer({ minimum: 0 });
const id = Type.String({ pattern: "^[0-9a-f]{32}$" });

/** What a site tells its vendor: who it is, what it asks for, and how it stands. */
export const LicenseRequest = Type.Object(
  {
    request_id: id,
    nonce: id,
    created_at: Type.String(),
    product: text,
    license_key: text,
    appliance: Type.String(),
    jwk: PublicKey,
    hardware_id: hash,
    hardware: Type.Array(Type.Object({ kind: Type.String(), digest: hash }, closed), {
      maxItems: 64,
    }),
    licenses: Type.Array(
      Type.Object(
        {
          license_id: seq,
          product: Type.String(),
          vendor: Type.String(),
          serial: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
          total_consumptions: seq,
        },
        closed,
      ),
    ),
    /**
     * Where the audit chain stood right before this request, and before those that went out last.
     */
    audit: Type.Object({ seq, sum: hash }, closed),
    heads: Type.Array(Type.Object({ request_id: id, audit_seq: seq, sum: hash }, closed), {
      maxItems: 64,
    }),
    /** When a backup was brought back, and what the site gave up by it; the last times only. */
    restores: Type.Optional(
      Type.Array(
        Type.Object(
          {
            lineage: id,
            at: Type.String(),
            seq,
            replaced: Type.Union([seq, Type.Null()]),
            moved: Type.Optional(Type.Literal(true)),
          },
          closed,
        ),
        { maxItems: 64 },
      ),
    ),
    trust: Type.Array(Type.Object({ vendor: Type.String(), version: seq }, closed)),
  },
  closed,
);

export type LicenseRequest = Static<typeof LicenseRequest>;

export const signLicenseRequest = (request: LicenseRequest, key: PrivateKey): Promise<string> =>
  signDocument("request", request, key);

export type LicenseRequestFault = DocumentFault | "is not a request" | "contradicts itself";

/** A request is signed with the key it names: nobody can speak for another appliance. */
export async function verifyLicenseRequest(
  document: string,
): Promise<Result<LicenseRequest, LicenseRequestFault>> {
  const header = readDocumentHeader(document);
  if (!header.ok) return header;
  if (header.value.kind !== "request") return err("is another kind of document");
  const claimed = readUnverifiedPayload(document);
  const key = parsePublicKey((claimed as { jwk?: unknown } | null)?.jwk);
  if (key === null) return err("is not a request");
  const verified = await verifyDocument("request", document, key);
  if (!verified.ok) return verified;
  if (!Value.Check(LicenseRequest, verified.value)) return err("is not a request");
  const request = verified.value;
  const honest =
    keyIdOf(key) === request.appliance &&
    computeHardwareId(request.hardware as HashedComponent[]) === request.hardware_id;
  return honest ? ok(request) : err("contradicts itself");
}
