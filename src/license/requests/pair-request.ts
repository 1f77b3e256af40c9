import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { COMPONENT_KINDS } from "../documents/hardware.ts";
import { fingerprintOfDigest } from "../documents/keys.ts";
import { RequestPairDocument } from "./request.ts";

const END_OF_9999 = 253_402_300_799_999;

const PairRequest = Type.Object(
  {
    berth_pair_request: Type.Literal(1),
    host: Type.String({ pattern: "^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$" }),
    /** The version of Berth on the host. */
    version: Type.String({ maxLength: 64 }),
    /** By the clock of the host, in milliseconds since 1970. */
    made_at: Type.Integer({ minimum: 0, maximum: END_OF_9999 }),
    /** X25519; only the host can read what is encrypted to it. */
    public_key: Type.String({ pattern: "^[A-Za-z0-9_-]{43}$" }),
    /** The other host hashes the values with the key of the appliance, as for a license request. */
    hardware: Type.Array(
      Type.Object({
        kind: Type.Union(COMPONENT_KINDS.map((kind) => Type.Literal(kind))),
        value: Type.String({ maxLength: 256 }),
      }),
      { maxItems: 64 },
    ),
  },
  { additionalProperties: false },
);

/** What a host sends to join a pair. It has no secret, but serial numbers of the host. */
export type PairRequest = Static<typeof PairRequest>;

export const formatPairRequest = (request: PairRequest): string =>
  JSON.stringify(orderMembers(request), null, 1);

/** Null: not a request of a host. */
export function parsePairRequest(text: string): PairRequest | null {
  try {
    const value: unknown = JSON.parse(text);
    return Value.Check(PairRequest, value) ? orderMembers(value) : null;
  } catch {
    return null;
  }
}

/** To compare by voice: it covers everything in the request. */
export const fingerprintOfRequest = (request: PairRequest): string =>
  fingerprintOfDigest(
    new Bun.CryptoHasher("sha256").update(JSON.stringify(orderMembers(request))).digest(),
  );

const orderMembers = (request: PairRequest): PairRequest => ({
  berth_pair_request: 1,
  host: request.host,
  version: request.version,
  made_at: request.made_at,
  public_key: request.public_key,
  hardware: request.hardware.map(({ kind, value }) => ({ kind, value })),
});

/** The pair that a request describes, as one line; null: the request is for one host. */
export function describeRequestPair(pair: RequestPairDocument | undefined): string | null {
  if (pair === undefined) return null;
  const hosts = pair.hosts.map(({ name, head }) =>
    head === null ? `${name} has reported no line` : `${name} at line ${head.seq} (${head.at})`,
  );
  return `the request is for two hosts: ${hosts.join(", ")}; ${pair.leader} leads in epoch ${pair.epoch}`;
}

/** The same of a payload that was not checked; null if it has no valid pair. */
export function describeUncheckedPair(payload: unknown): string | null {
  const pair = (payload as { pair?: unknown } | null)?.pair;
  return Value.Check(RequestPairDocument, pair) ? describeRequestPair(pair) : null;
}
