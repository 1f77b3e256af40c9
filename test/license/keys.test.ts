import { describe, expect, test } from "bun:test";
import { createHash, createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import * as fc from "fast-check";
import {
  fingerprintOf,
  keyIdOf,
  generateKey,
  parsePrivateKey,
  parsePublicKey,
  publicPart,
  publicKeyBytes,
} from "../../src/license/keys.ts";
import {
  APPLIANCE_KEY,
  base64url,
  keyIdOf as idByOther,
  UNTRUSTED_KEY,
  VENDOR_KEY,
} from "../vectors/generate.ts";

const okp = (x: string) => ({ kty: "OKP", crv: "Ed25519", x }) as const;
const key = okp(VENDOR_KEY.x);

const P = 2n ** 255n - 19n;

/** 32 bytes, the lowest first, with the sign of x in the highest bit. */
function point(y: bigint, sign: 0 | 1): Buffer {
  const hex = (y | (BigInt(sign) << 255n)).toString(16).padStart(64, "0");
  return Buffer.from(Buffer.from(hex, "hex").toReversed());
}

const power = (base: bigint, exponent: bigint): bigint => {
  let result = 1n;
  for (let b = base % P, e = exponent; e > 0n; e >>= 1n, b = (b * b) % P) {
    if (e & 1n) result = (result * b) % P;
  }
  return result;
};
const inverse = (value: bigint): bigint => power(value, P - 2n);
const D = ((P - 121665n) * inverse(121666n)) % P;
const ROOT_OF_MINUS_ONE = power(2n, (P - 1n) / 4n);

/** Null when there is none. */
function root(value: bigint): bigint | null {
  const guess = power(value, (P + 3n) / 8n);
  return (
    [guess, (guess * ROOT_OF_MINUS_ONE) % P].find((one) => (one * one - value) % P === 0n) ?? null
  );
}

/** Of x² = (y² - 1) / (dy² + 1), without the sign: what a point's y says about its x. */
const isOnCurve = (y: bigint): boolean =>
  root((((y * y - 1n + P) % P) * inverse((D * y * y + 1n) % P)) % P) !== null;

/** Doubling (x, y) of order 8 leads to y = 0, so that y² = -x² and then dy⁴ + 2y² - 1 = 0. */
function orderEight(): bigint[] {
  const discriminant = root((1n + D) % P) ?? 0n;
  return [discriminant, P - discriminant]
    .map((one) => root((((P - 1n + one) % P) * inverse(D)) % P))
    .flatMap((y) => (y === null ? [] : [y, P - y]))
    .filter(isOnCurve);
}

describe("who a key belongs to", () => {
  // By Python's hashlib, five bits at a time.
  test.each([
    [VENDOR_KEY.x, "47Z33QX1AJH62RKB", "47Z33-QX1AJ-H62RK-BZ1A0"],
    [APPLIANCE_KEY.x, "77VH7M568GJKY12J", "77VH7-M568G-JKY12-JJGGV"],
    [UNTRUSTED_KEY.x, "VB077R0J7FFAB7ES", "VB077-R0J7F-FAB7E-SPEYT"],
  ])("%s is %s, and by voice %s", (x, id, fingerprint) => {
    expect(keyIdOf(okp(x))).toBe(id);
    expect(fingerprintOf(okp(x))).toBe(fingerprint);
  });

  test("is 80 and 100 bits of SHA-256 of the raw key, whatever the key", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        const one = okp(base64url(bytes));
        expect(keyIdOf(one)).toBe(idByOther(one));
        expect(fingerprintOf(one)).toMatch(/^[0-9A-Z]{5}(?:-[0-9A-Z]{5}){3}$/);
        expect(fingerprintOf(one).replaceAll("-", "")).toStartWith(keyIdOf(one));
        expect(Buffer.from(publicKeyBytes(one)).equals(bytes)).toBe(true);
      }),
    );
  });

  test("does not depend on the private half", () => {
    expect(keyIdOf(VENDOR_KEY)).toBe(keyIdOf(key));
    expect(fingerprintOf(VENDOR_KEY)).toBe(fingerprintOf(key));
  });
});

describe("a new key", () => {
  test("is whole, and no two are alike", async () => {
    const [one, two] = [await generateKey(), await generateKey()];
    expect(parsePrivateKey(one)).toEqual(one);
    expect(one.x).not.toBe(two.x);
    expect(one.d).not.toBe(two.d);
  });

  test("has the public half that belongs to the private one", async () => {
    const made = await generateKey();
    const { x } = createPublicKey({ key: { ...made }, format: "jwk" }).export({ format: "jwk" });
    expect(x).toBe(made.x);
    expect(Object.keys(made).toSorted()).toEqual(["crv", "d", "kty", "x"]);
  });
});

describe("points of low order", () => {
  /** Every y below 2²⁵⁵ that stands for one: 0, 1, -1, those of order 8, and y + p where it fits. */
  const lowOrder = [0n, 1n, P - 1n, ...orderEight()];
  const spellings = lowOrder.flatMap((y) => [y, y + P].filter((one) => one < 2n ** 255n));

  test("there are five, in seven spellings without the sign", () => {
    expect(new Set(lowOrder).size).toBe(5);
    expect(new Set(spellings).size).toBe(7);
  });

  test.each(spellings.flatMap((y) => [point(y, 0), point(y, 1)]).map((b) => b.toString("hex")))(
    "%s is no key",
    (hex) => {
      const x = base64url(Buffer.from(hex, "hex"));
      expect(parsePublicKey(okp(x))).toBeNull();
      expect(parsePrivateKey({ ...okp(x), d: VENDOR_KEY.d })).toBeNull();
    },
  );

  test("with one of them a signature that anybody can write fits any text", () => {
    const weak = createPublicKey({ key: okp(base64url(point(1n, 0))), format: "jwk" });
    const signature = Buffer.concat([point(1n, 0), Buffer.alloc(32)]);
    expect(verify(null, Buffer.from("one text"), weak, signature)).toBe(true);
    expect(verify(null, Buffer.from("another"), weak, signature)).toBe(true);
  });

  test("their neighbours are not on the list", () => {
    for (const y of [2n, 3n, P - 2n, P - 3n]) {
      expect(parsePublicKey(okp(base64url(point(y, 0))))).not.toBeNull();
    }
  });
});

describe("what is read as a public key", () => {
  test("a whole key, without anything else it came with", () => {
    expect(parsePublicKey(key)).toEqual(key);
    expect(parsePublicKey({ ...key, kid: "a", use: "sig", alg: "EdDSA" })).toEqual(key);
  });

  test("the public half of a private key, the private one left behind", () => {
    expect(parsePublicKey(VENDOR_KEY)).toEqual(key);
    expect(publicPart(VENDOR_KEY)).toEqual(key);
    expect(JSON.stringify([parsePublicKey(VENDOR_KEY), publicPart(VENDOR_KEY)])).not.toContain(
      VENDOR_KEY.d,
    );
  });

  const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey;
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey;
  const x25519 = generateKeyPairSync("x25519").publicKey;

  test.each<[string, unknown]>([
    ["a key for ES256", p256.export({ format: "jwk" })],
    ["a key for RS256", rsa.export({ format: "jwk" })],
    ["a key for key agreement", x25519.export({ format: "jwk" })],
    ["a secret", { kty: "oct", k: VENDOR_KEY.x }],
    ["another curve's name", { ...key, crv: "Ed448" }],
    ["another case of the curve", { ...key, crv: "ed25519" }],
    ["another type's name", { ...key, kty: "EC" }],
    ["no type", { crv: "Ed25519", x: key.x }],
    ["no curve", { kty: "OKP", x: key.x }],
    ["no point", { kty: "OKP", crv: "Ed25519" }],
    ["a point that is no text", { ...key, x: 7 }],
    ["a list", [key]],
    ["the point alone", key.x],
    ["null", null],
    ["undefined", undefined],
    ["a number", 5],
  ])("not %s", (_, value) => {
    expect(parsePublicKey(value)).toBeNull();
    expect(parsePrivateKey(value)).toBeNull();
  });
});

describe("how a point is written", () => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const last = alphabet.indexOf(key.x.slice(-1));

  test("of the four last characters that decode alike, one is taken", () => {
    const same = Array.from({ length: 4 }, (_, low) => key.x.slice(0, -1) + alphabet[last | low]);
    const bytes = same.map((x) => Buffer.from(x, "base64url").toString("hex"));
    expect(new Set(bytes).size).toBe(1);
    expect(same.filter((x) => parsePublicKey(okp(x)) !== null)).toEqual([key.x]);
  });

  test.each([
    ["padding", `${key.x}=`],
    ["a line break behind", `${key.x}\n`],
    ["a space in front", ` ${key.x}`],
    ["the other alphabet", key.x.replace("_", "/")],
    ["a character too few", key.x.slice(1)],
    ["a character too many", `A${key.x}`],
    ["31 bytes", base64url(new Uint8Array(31).fill(9))],
    ["33 bytes", base64url(new Uint8Array(33).fill(9))],
    ["nothing", ""],
    ["hex", Buffer.from(key.x, "base64url").toString("hex")],
    ["a letter that is none of ours", `ä${key.x.slice(1)}`],
  ])("not with %s", (_, x) => {
    expect(parsePublicKey(okp(x))).toBeNull();
  });
});

describe("what is read as a private key", () => {
  test("both halves, and nothing else it came with", () => {
    expect(parsePrivateKey({ ...VENDOR_KEY, kid: "a" })).toEqual(VENDOR_KEY);
  });

  test.each<[string, unknown]>([
    ["a public key", key],
    ["half a private part", { ...VENDOR_KEY, d: VENDOR_KEY.d.slice(1) }],
    ["a private part with padding", { ...VENDOR_KEY, d: `${VENDOR_KEY.d}=` }],
    ["a private part in the other alphabet", { ...VENDOR_KEY, d: VENDOR_KEY.d.replace("_", "/") }],
    ["a private part that is no text", { ...VENDOR_KEY, d: 7 }],
    ["a private part in a list", { ...VENDOR_KEY, d: [VENDOR_KEY.d] }],
    ["a private part and no public one", { kty: "OKP", crv: "Ed25519", d: VENDOR_KEY.d }],
  ])("not %s", (_, value) => {
    expect(parsePrivateKey(value)).toBeNull();
  });
});

test("the keys of the vectors are those of RFC 8032", () => {
  const hex = (text: string): string => Buffer.from(text, "base64url").toString("hex");
  expect(hex(VENDOR_KEY.d)).toStartWith("9d61b19deffd5a60ba844af492ec2cc4");
  expect(hex(VENDOR_KEY.x)).toStartWith("d75a980182b10ab7d54bfed3c964073a");
  // RFC 8037, A.3: the thumbprint of the same key.
  const members = JSON.stringify({ crv: "Ed25519", kty: "OKP", x: VENDOR_KEY.x });
  expect(createHash("sha256").update(members).digest("base64url")).toBe(
    "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
  );
});
