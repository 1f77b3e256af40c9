/**
 * Writes test/vectors/documents again: `bun test/vectors/generate.ts`. It does not import src, so
 * the vectors are an independent check. Ed25519 is deterministic, so the bytes are always the same.
 */
import { createHash, createHmac, createPrivateKey, sign } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export interface TestKey {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
  readonly d: string;
}

/** The vendor's root. RFC 8032, 7.1, test 1: published in a standard, so usable for tests only. */
export const VENDOR_KEY: TestKey = {
  kty: "OKP",
  crv: "Ed25519",
  x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
  d: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
};

/** RFC 8032, 7.1, test 2. */
export const APPLIANCE_KEY: TestKey = {
  kty: "OKP",
  crv: "Ed25519",
  x: "PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw",
  d: "TM0Imyj_ltqdtsNG7BFOD1uKMZ81q6Yk2oz27U-4pvs",
};

/** RFC 8032, 7.1, test 3. */
export const UNTRUSTED_KEY: TestKey = {
  kty: "OKP",
  crv: "Ed25519",
  x: "_FHNjmIYoaONpH7QAjDwWAgW7RO6MwOsXeuRFUiQgCU",
  d: "xaqN9D-fg3vtt0QvMdy3sWbThTUHbwlLhc46LgtEWPc",
};

/** The vendor's issuing key: RFC 8032, 7.1, test 1024. */
export const ISSUING_KEY: TestKey = {
  kty: "OKP",
  crv: "Ed25519",
  x: "J4EX_BRMcjQPZ9DyMW6Dhs7_vyskKMnFH-98WX8dQm4",
  d: "9eV2fPFTMZUXYw8iaHa4bIFgzFg7wBN0TGvyVfXMDuU",
};

/** An issuing key that the vendor retired: RFC 8032, 7.1, test SHA(abc). */
export const RETIRED_KEY: TestKey = {
  kty: "OKP",
  crv: "Ed25519",
  x: "7Bcrk61eVjv0kyxw4SRQNMNUZ-8u_U1k6_gZaDRn4r8",
  d: "gz_mJAkje51i7HdYdSCRHpp1nOwdGXVbfakBuW3KPUI",
};

export const base64url = (data: string | Uint8Array): string =>
  Buffer.from(data).toString("base64url");

/** The first 80 bits of SHA-256 of the key in Crockford Base32, computed as one large number. */
export const keyIdOf = ({ x }: { readonly x: string }): string =>
  BigInt(`0x${sha256(Buffer.from(x, "base64url")).toString("hex", 0, 10)}`)
    .toString(32)
    .padStart(16, "0")
    .replaceAll(/[a-v]/g, (digit) => "ABCDEFGHJKMNPQRSTVWXYZ"[digit.charCodeAt(0) - 97] ?? "");

export const buildHeader = (kind: string, key: TestKey) => ({
  alg: "EdDSA",
  typ: `berth-${kind}+jwt`,
  kid: keyIdOf(key),
});

/** The header of a document of the vendor: with the certificate of the issuing key. */
export const buildCertifiedHeader = (kind: string, key: TestKey, cert: string) => ({
  ...buildHeader(kind, key),
  cert,
});

/** Signs any header and payload; texts and bytes are used as they are, other values as JSON. */
export function signUnchecked(header: object | string, payload: unknown, key: TestKey): string {
  const input = `${part(header)}.${part(payload)}`;
  const { kty, crv, x, d } = key;
  const signer = createPrivateKey({ key: { kty, crv, x, d }, format: "jwk" });
  return `${input}.${base64url(sign(null, Buffer.from(input), signer))}`;
}

/** A known attack: HS256 with the public key, which everybody has, as the secret. */
export function signWithHmac(header: object, payload: unknown, { x }: TestKey): string {
  const input = `${part(header)}.${part(payload)}`;
  const secret = Buffer.from(x, "base64url");
  return `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`;
}

const part = (value: unknown): string =>
  base64url(
    typeof value === "string" || value instanceof Uint8Array ? value : JSON.stringify(value),
  );

const sha256 = (bytes: Uint8Array): Buffer => createHash("sha256").update(bytes).digest();

const publicPart = ({ kty, crv, x }: TestKey) => ({ kty, crv, x });

const hardware = sha256(Buffer.from("the hardware of no machine")).toString("hex");

const YEAR_2001 = 978_307_200;
const YEAR_2026 = 1_767_225_600;
const YEAR_2031 = 1_924_992_000;
const YEAR_2100 = 4_102_444_800;

/** The content of a certificate of the vendor. */
const certificateOf = (key: TestKey) => ({
  iss: keyIdOf(VENDOR_KEY),
  iat: YEAR_2026,
  until: YEAR_2031,
  cnf: { jwk: publicPart(key) },
  trust: 1,
});

const certify = (content: unknown, root = VENDOR_KEY): string =>
  signUnchecked(buildHeader("key", root), content, root);

/** The certificate of the issuing key. */
export const CERTIFICATE = certify(certificateOf(ISSUING_KEY));

const terms = {
  product: "modeler2",
  product_name: "Modeler",
  license_key: null,
  license_type: "perpetual",
  customer: "Zürich Präzision 東京",
  metadata: null,
  trial: false,
  enabled: true,
  start: null,
  valid_until: null,
  maintenance_until: null,
  grace_hours: null,
  slots: 5,
  timeout_minutes: 15,
  borrow_hours: 48,
  early_return: true,
  move_grace_hours: 72,
  consumption: null,
  features: [],
};

const license = {
  iss: keyIdOf(VENDOR_KEY),
  iat: YEAR_2026,
  license_id: 42,
  serial: 1,
  request_id: null,
  nonce: null,
  appliance: keyIdOf(APPLIANCE_KEY),
  cnf: { jwk: publicPart(APPLIANCE_KEY) },
  hardware_id: hardware,
  terms,
};

/** One payload of each kind. Only those of the vendor are complete documents. */
export const PAYLOADS = {
  trust: {
    vendor: keyIdOf(VENDOR_KEY),
    name: "Test Vendor",
    version: 1,
    jwk: publicPart(VENDOR_KEY),
    products: ["modeler2"],
    retired: [keyIdOf(RETIRED_KEY)],
  },
  request: { iss: keyIdOf(APPLIANCE_KEY), request_id: "REQ-1", product: "modeler2" },
  license,
  policy: { iss: keyIdOf(VENDOR_KEY), iat: YEAR_2026, policy_id: "POL-1", terms },
  lease: { iss: keyIdOf(APPLIANCE_KEY), sub: "ada", aud: "modeler2", jti: "1", exp: 1_772_323_200 },
  receipt: { iss: keyIdOf(APPLIANCE_KEY), license_id: 42, serial: 1, total: 7 },
  time: {
    iss: keyIdOf(VENDOR_KEY),
    iat: 1_772_323_200,
    appliance: keyIdOf(APPLIANCE_KEY),
    nonce: "00ff10a5c3",
  },
  usage: {
    iss: keyIdOf(APPLIANCE_KEY),
    aud: keyIdOf(VENDOR_KEY),
    n: 1,
    previous: null,
    from: "2026-02-01",
    to: "2026-03-01",
  },
  ack: {
    iss: keyIdOf(VENDOR_KEY),
    iat: YEAR_2026,
    appliance: keyIdOf(APPLIANCE_KEY),
    n: 1,
    digest: hardware,
  },
  key: certificateOf(ISSUING_KEY),
  "key-request": { vendor: keyIdOf(VENDOR_KEY), jwk: publicPart(ISSUING_KEY) },
} as const;

const BY_APPLIANCE = new Set(["request", "lease", "receipt", "usage"]);

const CERTIFIED = new Set(["license", "policy", "time", "ack"]);

export function signerFor(kind: string): TestKey {
  if (CERTIFIED.has(kind) || kind === "key-request") return ISSUING_KEY;
  return BY_APPLIANCE.has(kind) ? APPLIANCE_KEY : VENDOR_KEY;
}

export const headerFor = (kind: string) =>
  CERTIFIED.has(kind)
    ? buildCertifiedHeader(kind, ISSUING_KEY, CERTIFICATE)
    : buildHeader(kind, signerFor(kind));

/** Includes the private parts on purpose: the keys sign nothing else. */
const keyFile = (key: TestKey): string =>
  `${JSON.stringify({ warning: "TEST KEY, published in RFC 8032: never trust it", ...key }, null, 2)}\n`;

/** Every file, by name. */
export function buildVectors(): ReadonlyMap<string, string> {
  const good = Object.entries(PAYLOADS).map(([kind, payload]): [string, string] => {
    return [`good-${kind}.jwt`, signUnchecked(headerFor(kind), payload, signerFor(kind))];
  });
  return new Map([
    ...good,
    ...buildGoodLicenses(),
    ...buildBadDocuments(),
    ...buildBadCertificates(),
    ["TEST-KEY-vendor.jwk.json", keyFile(VENDOR_KEY)],
    ["TEST-KEY-issuing.jwk.json", keyFile(ISSUING_KEY)],
    ["TEST-KEY-appliance.jwk.json", keyFile(APPLIANCE_KEY)],
  ]);
}

/** A license with a certificate of this content for the key that signs it. */
function licenseWith(content: object | string, key = ISSUING_KEY): string {
  return signUnchecked(buildCertifiedHeader("license", key, certify(content)), license, key);
}

/** White space in a certificate brings it to so many characters. */
function certificateOfLength(length: number): string {
  const header = JSON.stringify(buildHeader("key", VENDOR_KEY));
  const content = JSON.stringify(certificateOf(ISSUING_KEY));
  for (const space of ["", " ", "  "]) {
    const left = length - part(header + space).length - 88; // dots and signature
    const filler = " ".repeat(Math.floor((left * 3) / 4) - Buffer.byteLength(content));
    const certificate = signUnchecked(header + space, content + filler, VENDOR_KEY);
    if (certificate.length === length) return certificate;
  }
  throw new Error(`no certificate has ${length} characters`);
}

/** Licenses that are valid, although their certificate is unusual. */
function buildGoodLicenses(): [string, string][] {
  const sign = (cert: string, key = ISSUING_KEY): string =>
    signUnchecked(buildCertifiedHeader("license", key, cert), license, key);
  const right = certificateOf(ISSUING_KEY);
  const root = keyIdOf(VENDOR_KEY);
  const ofTime = (iat: number, until: number): string => licenseWith({ ...right, iat, until });
  return [
    ["good-license-key-ended.jwt", ofTime(0, YEAR_2001)],
    ["good-license-key-of-2100.jwt", ofTime(YEAR_2100, YEAR_2100 + 1)],
    ["good-license-cert-of-1024-characters.jwt", sign(certificateOfLength(1_024))],
    [
      "good-license-cert-header-order.jwt",
      sign(signUnchecked({ kid: root, typ: "berth-key+jwt", alg: "EdDSA" }, right, VENDOR_KEY)),
    ],
    [
      "good-license-cert-jwk-unknown-member.jwt",
      licenseWith({ ...right, cnf: { jwk: { ...right.cnf.jwk, use: "sig" } } }),
    ],
    ["retired-license.jwt", licenseWith(certificateOf(RETIRED_KEY), RETIRED_KEY)],
  ];
}

/** The neutral point: whatever is signed, R = the neutral point and S = 0 is a signature. */
const LOW_ORDER_KEY: TestKey = {
  ...ISSUING_KEY,
  x: base64url(new Uint8Array(32).with(0, 1)),
};

/** Licenses that are wrong in one way each, in their certificate or in how they name it. */
function buildBadCertificates(): [string, string][] {
  const right = certificateOf(ISSUING_KEY);
  const header = buildCertifiedHeader("license", ISSUING_KEY, CERTIFICATE);
  const { alg, typ, kid, cert } = header;
  const sign = (badHeader: object | string, payload: object = license): string =>
    signUnchecked(badHeader, payload, ISSUING_KEY);
  const withCert = (other: unknown): string => sign({ ...header, cert: other });
  const root = keyIdOf(VENDOR_KEY);
  const other = keyIdOf(UNTRUSTED_KEY);
  const keyHeader = buildHeader("key", VENDOR_KEY);
  const signKey = (badHeader: object | string, content: object = right): string =>
    signUnchecked(badHeader, content, VENDOR_KEY);
  const [lowHeader = "", lowPayload = ""] = licenseWith(
    certificateOf(LOW_ORDER_KEY),
    LOW_ORDER_KEY,
  ).split(".");
  const json = JSON.stringify(header);
  const { trust: _, ...withoutTrust } = right;
  const members: readonly (readonly [string, object])[] = [
    ["exp", { ...right, exp: YEAR_2100 }],
    ["nbf", { ...right, nbf: 0 }],
    ["no-trust", withoutTrust],
    ["trust-0", { ...right, trust: 0 }],
    ["ends-as-it-begins", { ...right, until: right.iat }],
    ["parts-of-a-second", { ...right, until: right.until + 0.5 }],
    ["cnf-unknown-member", { ...right, cnf: { ...right.cnf, kid } }],
    ["unknown-member", { ...right, later: 1 }],
    ["other-iss", { ...right, iss: other }],
  ];
  const documents: readonly (readonly [string, string])[] = [
    ["no-cert", sign({ alg, typ, kid })],
    ["cert-twice", sign(`${json.slice(0, -1)},"cert":"${cert}"}`)],
    ["cert-not-text", withCert([cert])],
    ["header-order", sign({ typ, alg, kid, cert })],
    ["header-white-space", sign(json.replaceAll(":", ": "))],
    ["header-unknown-member", sign({ ...header, later: 1 })],
    ["kid-of-root", sign({ ...header, kid: root })],
    ["other-iss", sign(header, { ...license, iss: other })],
    [
      "cert-of-other-vendor",
      sign(
        { ...header, cert: certify({ ...right, iss: other }, UNTRUSTED_KEY) },
        { ...license, iss: other },
      ),
    ],
    ["cert-signed-by-other-root", withCert(signUnchecked(keyHeader, right, UNTRUSTED_KEY))],
    ["cert-signed-by-issuing-key", withCert(signUnchecked(keyHeader, right, ISSUING_KEY))],
    ["cert-of-other-type", withCert(signKey({ ...keyHeader, typ: "berth-trust+jwt" }))],
    ["cert-other-kid", withCert(signKey({ ...keyHeader, kid }))],
    ["cert-header-unknown-member", withCert(signKey({ ...keyHeader, later: 1 }))],
    ["cert-crit", withCert(signKey({ ...keyHeader, crit: ["exp"], exp: 1 }))],
    ["cert-spelling", withCert(respell(cert))],
    ["cert-of-1025-characters", withCert(certificateOfLength(1_025))],
    ["cert-of-other-key", withCert(certify(certificateOf(RETIRED_KEY)))],
    ["cert-of-root", licenseWith(certificateOf(VENDOR_KEY), VENDOR_KEY)],
    [
      "cert-of-low-order-key",
      `${lowHeader}.${lowPayload}.${base64url(new Uint8Array(64).with(0, 1))}`,
    ],
    ...members.map(([name, content]) => [`cert-${name}`, licenseWith(content)] as const),
  ];
  return documents.map(([name, text]) => [`bad-${name}.jwt`, text]);
}

/** Licenses that are wrong in one way each. */
function buildBadDocuments(): [string, string][] {
  const header = headerFor("license");
  const document = signUnchecked(header, license, ISSUING_KEY);
  const [first = "", second = "", third = ""] = document.split(".");
  const other = part({ ...license, license_id: 43 });
  const none = part({ ...header, alg: "none" });
  const { kid, ...withoutKid } = header;
  return [
    ["bad-alg-none.jwt", `${none}.${second}.`],
    ["bad-alg-none-signed.jwt", signUnchecked({ ...header, alg: "none" }, license, ISSUING_KEY)],
    [
      "bad-alg-hs256-public-key.jwt",
      signWithHmac({ ...header, alg: "HS256" }, license, ISSUING_KEY),
    ],
    ["bad-alg-ed25519.jwt", signUnchecked({ ...header, alg: "Ed25519" }, license, ISSUING_KEY)],
    ["bad-typ-jwt.jwt", signUnchecked({ ...header, typ: "JWT" }, license, ISSUING_KEY)],
    [
      "bad-typ-policy.jwt",
      signUnchecked({ ...header, typ: "berth-policy+jwt" }, license, ISSUING_KEY),
    ],
    ["bad-crit.jwt", signUnchecked({ ...header, crit: ["exp"], exp: 1 }, license, ISSUING_KEY)],
    [
      "bad-jwk.jwt",
      signUnchecked({ ...header, jwk: publicPart(UNTRUSTED_KEY) }, license, UNTRUSTED_KEY),
    ],
    ["bad-no-kid.jwt", signUnchecked(withoutKid, license, ISSUING_KEY)],
    ["bad-kid-not-text.jwt", signUnchecked({ ...header, kid: [kid] }, license, ISSUING_KEY)],
    ["bad-other-key.jwt", signUnchecked(header, license, UNTRUSTED_KEY)],
    ["bad-moved-signature.jwt", `${first}.${other}.${third}`],
    ["bad-signature-spelling.jwt", `${first}.${second}.${respell(third)}`],
    ["bad-signature-zero.jwt", `${first}.${second}.${base64url(new Uint8Array(64))}`],
    ["bad-signature-plus-order.jwt", `${first}.${second}.${addOrder(third)}`],
    ["bad-two-parts.jwt", `${first}.${second}`],
    ["bad-four-parts.jwt", `${document}.${third}`],
    ["bad-padding.jwt", `${first}.${second}.${third}==`],
    ["bad-line-break.jwt", `${document}\n`],
    ["bad-part-of-one-character.jwt", `${first}.A.${third}`],
    [
      "bad-payload-not-utf8.jwt",
      signUnchecked(header, Buffer.from([0x22, 0xff, 0x22]), ISSUING_KEY),
    ],
    ["bad-payload-not-json.jwt", signUnchecked(header, "{", ISSUING_KEY)],
  ];
}

/** The list that a confirmation code signs, item by item, and the code's 68 bytes, all as hex. */
function buildConfirmation(kind: 1 | 2) {
  const items = {
    version: Buffer.from("berth-confirm-v2"),
    kind: Buffer.from([kind]),
    appliance: sha256(Buffer.from(APPLIANCE_KEY.x, "base64url")).subarray(0, 10),
    hardware_prefix: Buffer.from(hardware, "hex").subarray(0, 5),
    nonce: Buffer.from("00ff10a5c3", "hex"),
    license_key: Buffer.from("SCHLÜSSEL-1".normalize("NFC")),
    policy_sha256: sha256(Buffer.from("a policy")),
    initialization_code: Buffer.from("7K2MX00110"),
    // Ends on day 20500 since 1970; serial 7.
    tail: Buffer.from("50140007", "hex"),
  };
  const text = Buffer.concat(
    Object.values(items).flatMap((item) => [Buffer.from([0, 0, 0, item.length]), item]),
  );
  const { kty, crv, x, d } = ISSUING_KEY;
  const signature = sign(null, text, createPrivateKey({ key: { kty, crv, x, d }, format: "jwk" }));
  const hex = Object.entries(items).map(([name, bytes]) => [name, bytes.toString("hex")]);
  return {
    items: Object.fromEntries(hex) as Record<keyof typeof items, string>,
    signed: text.toString("hex"),
    code: Buffer.concat([signature, items.tail]).toString("hex"),
  };
}

/** The content of `codes.json`. */
export const buildCodeVectors = () => ({
  "confirmation-v2-strong": buildConfirmation(1),
  "confirmation-v2-weak": buildConfirmation(2),
});

const framed = (...texts: readonly string[]): Buffer =>
  Buffer.concat(
    texts.flatMap((text) => {
      const bytes = Buffer.from(text);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return [length, bytes];
    }),
  );

function signRequest(more: object): string {
  const component = { kind: "mac", digest: hardware };
  const content = {
    request_id: "c58aa2bc4702e16285b9d66054d66535",
    nonce: "1714c3c831bd7c2769df1f8d9a3d1b24",
    created_at: "2026-11-16T09:39:42.389Z",
    product: "CAD",
    license_key: null,
    ...more,
    appliance: keyIdOf(APPLIANCE_KEY),
    jwk: publicPart(APPLIANCE_KEY),
    hardware_id: sha256(framed("berth-hardware-v1", component.kind, component.digest)).toString(
      "hex",
    ),
    hardware: [component],
    licenses: [],
    audit: { seq: 2, sum: hardware },
    heads: [{ request_id: "c58aa2bc4702e16285b9d66054d66535", audit_seq: 2, sum: hardware }],
    trust: [],
  };
  return signUnchecked(buildHeader("request", APPLIANCE_KEY), content, APPLIANCE_KEY);
}

const RIGHT_WANTS: Readonly<Record<string, object>> = {
  all: { slots: 10, until: "2027-12-31", note: "two more people" },
  slots: { slots: 1 },
  until: { until: "2027-12-31" },
  "note-of-500": { note: "é".repeat(500) },
  "note-of-control-characters": { note: "\u001b[2J\u202e\n" },
};

const WRONG_WANTS: Readonly<Record<string, unknown>> = {
  empty: {},
  null: null,
  "unknown-member": { slots: 1, color: "red" },
  "no-slots": { slots: 0 },
  "slots-as-text": { slots: "10" },
  "until-with-time": { until: "2027-12-31T00:00:00Z" },
  "empty-note": { note: "" },
  "note-of-501": { note: "x".repeat(501) },
};

/** The content of `requests.json`: complete requests, and whether they are valid. */
export const buildRequestVectors = () => [
  { name: "no-wants", valid: true, wants: null, document: signRequest({}) },
  ...Object.entries(RIGHT_WANTS).map(([name, wants]) => ({
    name,
    valid: true,
    wants,
    document: signRequest({ wants }),
  })),
  ...Object.entries(WRONG_WANTS).map(([name, wants]) => ({
    name,
    valid: false,
    wants,
    document: signRequest({ wants }),
  })),
];

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Another last character for the same 64 bytes: the lower four of its six bits are unused. */
const respell = (signature: string): string =>
  signature.slice(0, -1) + (ALPHABET[ALPHABET.indexOf(signature.slice(-1)) | 1] ?? "");

const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

/** S + L in place of S: it satisfies the same equation, so a careless verifier accepts it. */
function addOrder(signature: string): string {
  const bytes = Buffer.from(signature, "base64url");
  const scalar = BigInt(`0x${Buffer.from(bytes.subarray(32).toReversed()).toString("hex")}`);
  const hex = (scalar + ORDER).toString(16).padStart(64, "0");
  bytes.set(Buffer.from(hex, "hex").toReversed(), 32);
  return base64url(bytes);
}

if (import.meta.main) {
  writeFileSync(
    join(import.meta.dir, "codes.json"),
    `${JSON.stringify(buildCodeVectors(), null, 2)}\n`,
  );
  writeFileSync(
    join(import.meta.dir, "requests.json"),
    `${JSON.stringify(buildRequestVectors(), null, 2)}\n`,
  );
  for (const [name, text] of buildVectors()) {
    writeFileSync(join(import.meta.dir, "documents", name), text);
  }
}
