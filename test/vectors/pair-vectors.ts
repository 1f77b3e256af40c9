// Requests and licenses of a pair: `bun test/vectors/pair-vectors.ts` writes `pair.json`.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  APPLIANCE_KEY,
  buildHeader,
  headerFor,
  ISSUING_KEY,
  keyIdOf,
  signUnchecked,
  VENDOR_KEY,
} from "./generate.ts";

export interface PairVector {
  readonly name: string;
  readonly kind: "request" | "license";
  /** Whether Berth accepts it. */
  readonly valid: boolean;
  readonly hosts: 1 | 2;
  readonly document: string;
}

const sha256 = (text: string | Uint8Array): string =>
  createHash("sha256").update(text).digest("hex");

const framed = (...texts: readonly string[]): Buffer =>
  Buffer.concat(
    texts.flatMap((text) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(Buffer.byteLength(text));
      return [length, Buffer.from(text)];
    }),
  );

interface Host {
  readonly name: string;
  readonly hardware_id: string;
  readonly hardware: readonly { readonly kind: string; readonly digest: string }[];
  readonly head: object | null;
}

function makeHost(name: string): Host {
  const hardware = ["mac", "machine_id"].map((kind) => ({ kind, digest: sha256(name + kind) }));
  const parts = hardware.flatMap(({ kind, digest }) => [kind, digest]);
  const hardware_id = sha256(framed("berth-hardware-v1", ...parts));
  const head = { seq: 812, sum: sha256("line 812"), at: "2026-11-17T09:39:42.389Z" };
  return { name, hardware_id, hardware, head };
}

const [ALPHA, BETA] = [makeHost("alpha"), makeHost("beta")] as const;
const PAIR = { log: "7f0c", epoch: 3, leader: "alpha", hosts: [ALPHA, BETA] };
const { x } = APPLIANCE_KEY;
const JWK = { kty: "OKP", crv: "Ed25519", x };
const REQUEST_ID = "c58aa2bc4702e16285b9d66054d66535";
const SUM = sha256("audit");

const signRequest = (more: object): string =>
  signUnchecked(
    buildHeader("request", APPLIANCE_KEY),
    {
      request_id: REQUEST_ID,
      nonce: "1714c3c831bd7c2769df1f8d9a3d1b24",
      created_at: "2026-11-17T09:39:42.389Z",
      product: "CAD",
      license_key: null,
      ...more,
      appliance: keyIdOf(APPLIANCE_KEY),
      jwk: JWK,
      hardware_id: ALPHA.hardware_id,
      hardware: ALPHA.hardware,
      licenses: [],
      audit: { seq: 2, sum: SUM },
      heads: [{ request_id: REQUEST_ID, audit_seq: 2, sum: SUM }],
      trust: [],
    },
    APPLIANCE_KEY,
  );

const TERMS = {
  product: "CAD",
  product_name: "CAD",
  license_key: null,
  license_type: "perpetual",
  customer: null,
  metadata: null,
  trial: false,
  enabled: true,
  start: null,
  valid_until: null,
  maintenance_until: null,
  grace_hours: null,
  slots: 10,
  timeout_minutes: 15,
  borrow_hours: null,
  early_return: true,
  move_grace_hours: 72,
  consumption: null,
  features: [],
};

const signLicense = (more: object): string =>
  signUnchecked(
    headerFor("license"),
    {
      iss: keyIdOf(VENDOR_KEY),
      iat: 1_794_908_384,
      license_id: 105_450_882_855_113,
      serial: 1,
      request_id: REQUEST_ID,
      nonce: "1714c3c831bd7c2769df1f8d9a3d1b24",
      appliance: keyIdOf(APPLIANCE_KEY),
      cnf: { jwk: JWK },
      hardware_id: ALPHA.hardware_id,
      ...more,
      terms: TERMS,
    },
    ISSUING_KEY,
  );

const withHosts = (...hosts: readonly object[]) => ({ ...PAIR, hosts });

const RIGHT_PAIRS: Readonly<Record<string, object>> = {
  pair: PAIR,
  "pair-in-another-order": withHosts(BETA, ALPHA),
  "pair-with-a-silent-host": withHosts(ALPHA, { ...BETA, head: null }),
};

const WRONG_PAIRS: Readonly<Record<string, unknown>> = {
  "pair-null": null,
  "pair-without-epoch": { log: "7f0c", leader: "alpha", hosts: [ALPHA, BETA] },
  "pair-of-epoch-0": { ...PAIR, epoch: 0 },
  "pair-with-unknown-member": { ...PAIR, term: 10 },
  "pair-of-one-host": withHosts(ALPHA),
  "pair-of-three-hosts": withHosts(ALPHA, BETA, makeHost("gamma")),
  "pair-of-one-machine-twice": withHosts(ALPHA, { ...ALPHA, name: "beta" }),
  "pair-of-one-name-twice": withHosts(ALPHA, { ...BETA, name: "alpha" }),
  "pair-led-by-another-host": { ...PAIR, leader: "gamma" },
  "pair-led-by-the-other-host": { ...PAIR, leader: "beta" },
  "pair-with-a-foreign-hardware-id": withHosts(ALPHA, { ...BETA, hardware_id: sha256("other") }),
  "pair-with-edited-hardware": withHosts(ALPHA, { ...BETA, hardware: ALPHA.hardware }),
  "pair-with-a-line-break-in-a-name": withHosts(ALPHA, { ...BETA, name: "beta\nverified" }),
  "pair-with-a-wrong-head": withHosts(ALPHA, { ...BETA, head: { seq: -1, sum: SUM, at: "" } }),
};

const RIGHT_HOSTS: Readonly<Record<string, object>> = {
  "license-of-two-hosts": [ALPHA.hardware_id, BETA.hardware_id],
  "license-in-another-order": [BETA.hardware_id, ALPHA.hardware_id],
};

const WRONG_HOSTS: Readonly<Record<string, unknown>> = {
  "license-with-hosts-null": null,
  "license-of-no-hosts": [],
  "license-of-one-host-in-a-list": [ALPHA.hardware_id],
  "license-of-one-host-twice": [ALPHA.hardware_id, ALPHA.hardware_id],
  "license-of-three-hosts": [ALPHA, BETA, makeHost("gamma")].map((host) => host.hardware_id),
  "license-of-two-other-hosts": [BETA.hardware_id, makeHost("gamma").hardware_id],
  "license-with-hosts-as-objects": [ALPHA, BETA],
  "license-with-a-number-of-hosts": 2,
};

/** The content of `pair.json`. */
export function buildPairVectors(): PairVector[] {
  const requests = (valid: boolean, pairs: Readonly<Record<string, unknown>>): PairVector[] =>
    Object.entries(pairs).map(([name, pair]) => {
      const document = signRequest({ pair });
      return { name, kind: "request", valid, hosts: 2, document };
    });
  const licenses = (valid: boolean, lists: Readonly<Record<string, unknown>>): PairVector[] =>
    Object.entries(lists).map(([name, hosts]) => {
      const document = signLicense({ hosts });
      return { name, kind: "license", valid, hosts: 2, document };
    });
  return [
    { name: "request", kind: "request", valid: true, hosts: 1, document: signRequest({}) },
    ...requests(true, RIGHT_PAIRS),
    ...requests(false, WRONG_PAIRS),
    { name: "license", kind: "license", valid: true, hosts: 1, document: signLicense({}) },
    ...licenses(true, RIGHT_HOSTS),
    ...licenses(false, WRONG_HOSTS),
  ];
}

if (import.meta.main) {
  const text = `${JSON.stringify(buildPairVectors(), null, 2)}\n`;
  writeFileSync(join(import.meta.dir, "pair.json"), text);
}
