import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { limits } from "../../domain/model/limits.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import {
  readDocumentHeader,
  signDocument,
  readUnverifiedPayload,
  verifyDocument,
} from "../documents/document.ts";
import type { LicenseRequestFault } from "../documents/document-fault.ts";
import { computeHardwareId, type HashedComponent } from "../documents/hardware.ts";
import { keyIdOf, parsePublicKey, PublicKey, type PrivateKey } from "../documents/keys.ts";
import type { RequestWants } from "../../domain/model/state.ts";

const closed = { additionalProperties: false };
const text = Type.Union([Type.String({ minLength: 1, maxLength: 256 }), Type.Null()]);
const hash = Type.String({ pattern: "^[0-9a-f]{64}$" });
const seq = Type.Integer({ minimum: 0 });
const serial = Type.Integer({ minimum: 1, maximum: 1_000_000_000 });
const id = Type.String({ pattern: "^[0-9a-f]{32}$" });

/** What the site asks for, in its own words. */
const RequestWantsDocument = Type.Object(
  {
    slots: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.wantedSlots })),
    until: Type.Optional(Type.String({ pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" })),
    note: Type.Optional(Type.String({ minLength: 1, maxLength: limits.requestNoteLength })),
  },
  { ...closed, minProperties: 1 },
);

const hostName = Type.String({ pattern: "^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$" });
const hardware = Type.Array(Type.Object({ kind: Type.String(), digest: hash }, closed), {
  maxItems: 64,
});

/** The pair that a license of two hosts is requested for. */
export const RequestPairDocument = Type.Object(
  {
    /** Tells the log of this pair from all others. */
    log: Type.String({ minLength: 1, maxLength: 256 }),
    /** Raised with each change of the leader. */
    epoch: Type.Integer({ minimum: 1 }),
    /** The host that leads and made the request: the one with `hardware_id`. */
    leader: hostName,
    hosts: Type.Array(
      Type.Object(
        {
          name: hostName,
          hardware_id: hash,
          hardware,
          /** The last line of its journal that it reported, and when; null: it reported none. */
          head: Type.Union([
            Type.Object({ seq, sum: hash, at: Type.String() }, closed),
            Type.Null(),
          ]),
        },
        closed,
      ),
      { minItems: 2, maxItems: 2 },
    ),
  },
  closed,
);

export type RequestPairDocument = Static<typeof RequestPairDocument>;

/** A site's request to its vendor: its identity, the wanted license, and its current licenses. */
export const LicenseRequest = Type.Object(
  {
    request_id: id,
    nonce: id,
    created_at: Type.String(),
    product: text,
    license_key: text,
    wants: Type.Optional(RequestWantsDocument),
    /** Absent: the request is for one host. */
    pair: Type.Optional(RequestPairDocument),
    appliance: Type.String(),
    jwk: PublicKey,
    hardware_id: hash,
    hardware,
    licenses: Type.Array(
      Type.Object(
        {
          license_id: seq,
          product: Type.String(),
          vendor: Type.String(),
          serial,
          total_consumptions: seq,
        },
        closed,
      ),
    ),
    /** The head of the audit chain right before this request; `heads`: before the last requests. */
    audit: Type.Object({ seq, sum: hash }, closed),
    heads: Type.Array(Type.Object({ request_id: id, audit_seq: seq, sum: hash }, closed), {
      maxItems: 64,
    }),
    /** The last restores of backups, and the changes that each discarded. */
    restores: Type.Optional(
      Type.Array(
        Type.Object(
          {
            lineage: id,
            at: Type.String(),
            seq,
            replaced: Type.Union([seq, Type.Null()]),
            moved: Type.Optional(Type.Literal(true)),
            /** Licenses for other hardware that serve for a grace period; absent: none. */
            grace: Type.Optional(
              Type.Array(Type.Object({ license_id: seq, serial }, closed), { minItems: 1 }),
            ),
          },
          closed,
        ),
        { maxItems: 64 },
      ),
    ),
    trust: Type.Array(Type.Object({ vendor: Type.String(), version: seq, sum: hash }, closed)),
  },
  closed,
);

export type LicenseRequest = Static<typeof LicenseRequest>;

export const signLicenseRequest = (request: LicenseRequest, key: PrivateKey): Promise<string> =>
  signDocument("request", request, key);

/** The key in a request must have signed it: no appliance can make a request for another. */
export async function verifyLicenseRequest(
  document: string,
): Promise<Result<LicenseRequest, LicenseRequestFault>> {
  const header = readDocumentHeader(document);
  if (!header.ok) return header;
  if (header.value.kind !== "request") return err({ wrong: "kind", kind: header.value.kind });
  const claimed = readUnverifiedPayload(document);
  const key = parsePublicKey((claimed as { jwk?: unknown } | null)?.jwk);
  if (key === null) return err({ wrong: "content", expected: "request" });
  const verified = await verifyDocument("request", document, key);
  if (!verified.ok) return verified;
  if (!Value.Check(LicenseRequest, verified.value))
    return err({ wrong: "content", expected: "request" });
  const request = verified.value;
  const isConsistent =
    keyIdOf(key) === request.appliance && isHardwareOf(request) && isConsistentPair(request);
  return isConsistent ? ok(request) : err({ wrong: "contradiction" });
}

type HardwareList = Pick<LicenseRequest, "hardware" | "hardware_id">;

const isHardwareOf = ({ hardware: list, hardware_id }: HardwareList): boolean =>
  computeHardwareId(list as HashedComponent[]) === hardware_id;

/** Two different hosts, of which the leader is the one that made the request. */
function isConsistentPair({ pair, hardware_id }: LicenseRequest): boolean {
  if (pair === undefined) return true;
  const { hosts, leader } = pair;
  return (
    hosts.every(isHardwareOf) &&
    new Set(hosts.map(({ name }) => name)).size === hosts.length &&
    new Set(hosts.map((host) => host.hardware_id)).size === hosts.length &&
    hosts.find(({ name }) => name === leader)?.hardware_id === hardware_id
  );
}

/**
 * What a site asks for, as one line: its own words, which nothing confirms. The note is quoted, so
 * that its end can be seen. Null: the site asks for nothing.
 */
export function describeWants(wants: RequestWants | undefined): string | null {
  if (wants === undefined) return null;
  const { slots, until, note } = wants;
  const parts = [
    slots !== undefined && `${slots} ${slots === 1 ? "slot" : "slots"}`,
    until !== undefined && `until ${until}`,
    note !== undefined && `note: ${JSON.stringify(note)}`,
  ];
  return `the site asks for (not verified): ${parts.filter((part) => part !== false).join(", ")}`;
}

/** The same of a payload that was not checked; null if it has no valid wishes. */
export function describeUncheckedWants(payload: unknown): string | null {
  const wants = (payload as { wants?: unknown } | null)?.wants;
  return Value.Check(RequestWantsDocument, wants) ? describeWants(wants) : null;
}
