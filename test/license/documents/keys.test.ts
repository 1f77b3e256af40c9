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
} from "../../../src/license/documents/keys.ts";
import {
  APPLIANCE_KEY,
  base64url,
  keyIdOf as independentKeyId,
  UNTRUSTED_KEY,
  VENDOR_KEY,
} from "../../vectors/generate.ts";

const okp = (x: string) => ({ kty: "OKP", crv: "Ed25519", x }) as const;
const key = okp(VENDOR_KEY.x);

const P = 2n ** 255n - 19n;

/** Encodes a point: 32 bytes, little-endian, with the sign of x in the highest bit. */
function encodePoint(y: bigint, sign: 0 | 1): Buffer {
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

/** A square root modulo P; null: there is none. */
function squareRoot(value: bigint): bigint | null {
  const guess = power(value, (P + 3n) / 8n);
  return (
    [guess, (guess * ROOT_OF_MINUS_ONE) % P].find(
      (candidate) => (candidate * candidate - value) % P === 0n,
    ) ?? null
  );
}

/** Whether x² = (y² - 1) / (dy² + 1) has a solution. */
const isOnCurve = (y: bigint): boolean =>
  squareRoot((((y * y - 1n + P) % P) * inverse((D * y * y + 1n) % P)) % P) !== null;

/** y of the points of order 8: doubling gives y = 0, so y² = -x² and then dy⁴ + 2y² - 1 = 0. */
function findOrderEight(): bigint[] {
  const discriminant = squareRoot((1n + D) % P) ?? 0n;
  return [discriminant, P - discriminant]
    .map((value) => squareRoot((((P - 1n + value) % P) * inverse(D)) % P))
    .flatMap((y) => (y === null ? [] : [y, P - y]))
    .filter(isOnCurve);
}

describe("key id and fingerprint", () => {
  // Computed with Python's hashlib, five bits at a time.
  test.each([
    [VENDOR_KEY.x, "47Z33QX1AJH62RKB", "47Z33-QX1AJ-H62RK-BZ1A0"],
    [APPLIANCE_KEY.x, "77VH7M568GJKY12J", "77VH7-M568G-JKY12-JJGGV"],
    [UNTRUSTED_KEY.x, "VB077R0J7FFAB7ES", "VB077-R0J7F-FAB7E-SPEYT"],
  ])("of %s are %s and %s", (x, id, fingerprint) => {
    expect(keyIdOf(okp(x))).toBe(id);
    expect(fingerprintOf(okp(x))).toBe(fingerprint);
  });

  test("are the first 80 and 100 bits of SHA-256 of the raw key", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        const anyKey = okp(base64url(bytes));
        expect(keyIdOf(anyKey)).toBe(independentKeyId(anyKey));
        expect(fingerprintOf(anyKey)).toMatch(/^[0-9A-Z]{5}(?:-[0-9A-Z]{5}){3}$/);
        expect(fingerprintOf(anyKey).replaceAll("-", "")).toStartWith(keyIdOf(anyKey));
        expect(Buffer.from(publicKeyBytes(anyKey)).equals(bytes)).toBe(true);
      }),
    );
  });

  test("do not depend on the private part", () => {
    expect(keyIdOf(VENDOR_KEY)).toBe(keyIdOf(key));
    expect(fingerprintOf(VENDOR_KEY)).toBe(fingerprintOf(key));
  });
});

describe("generateKey", () => {
  test("returns complete and different keys", async () => {
    const [first, second] = [await generateKey(), await generateKey()];
    expect(parsePrivateKey(first)).toEqual(first);
    expect(first.x).not.toBe(second.x);
    expect(first.d).not.toBe(second.d);
  });

  test("returns a public part that matches the private part", async () => {
    const newKey = await generateKey();
    const { x } = createPublicKey({ key: { ...newKey }, format: "jwk" }).export({ format: "jwk" });
    expect(x).toBe(newKey.x);
    expect(Object.keys(newKey).toSorted()).toEqual(["crv", "d", "kty", "x"]);
  });
});

describe("a point of low order", () => {
  /** Every y of such a point: 0, 1, -1 and those of order 8; also y + P if it is below 2²⁵⁵. */
  const lowOrder = [0n, 1n, P - 1n, ...findOrderEight()];
  const spellings = lowOrder.flatMap((y) => [y, y + P].filter((value) => value < 2n ** 255n));

  test("has one of five y values, in seven encodings without the sign", () => {
    expect(new Set(lowOrder).size).toBe(5);
    expect(new Set(spellings).size).toBe(7);
  });

  test.each(
    spellings.flatMap((y) => [encodePoint(y, 0), encodePoint(y, 1)]).map((b) => b.toString("hex")),
  )("%s is refused as a key", (hex) => {
    const x = base64url(Buffer.from(hex, "hex"));
    expect(parsePublicKey(okp(x))).toBeNull();
    expect(parsePrivateKey({ ...okp(x), d: VENDOR_KEY.d })).toBeNull();
  });

  test("would make a signature valid that anybody can write for any text", () => {
    const weak = createPublicKey({ key: okp(base64url(encodePoint(1n, 0))), format: "jwk" });
    const signature = Buffer.concat([encodePoint(1n, 0), Buffer.alloc(32)]);
    expect(verify(null, Buffer.from("one text"), weak, signature)).toBe(true);
    expect(verify(null, Buffer.from("another"), weak, signature)).toBe(true);
  });

  test("is refused, but the next values are accepted", () => {
    for (const y of [2n, 3n, P - 2n, P - 3n]) {
      expect(parsePublicKey(okp(base64url(encodePoint(y, 0))))).not.toBeNull();
    }
  });
});

describe("parsePublicKey", () => {
  test("returns the key without other fields", () => {
    expect(parsePublicKey(key)).toEqual(key);
    expect(parsePublicKey({ ...key, kid: "a", use: "sig", alg: "EdDSA" })).toEqual(key);
  });

  test("returns only the public part of a private key", () => {
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
    ["a symmetric key", { kty: "oct", k: VENDOR_KEY.x }],
    ["the name of another curve", { ...key, crv: "Ed448" }],
    ["the curve in lower case", { ...key, crv: "ed25519" }],
    ["the name of another key type", { ...key, kty: "EC" }],
    ["a key without a type", { crv: "Ed25519", x: key.x }],
    ["a key without a curve", { kty: "OKP", x: key.x }],
    ["a key without a point", { kty: "OKP", crv: "Ed25519" }],
    ["a point that is not a text", { ...key, x: 7 }],
    ["a list", [key]],
    ["the point alone", key.x],
    ["null", null],
    ["undefined", undefined],
    ["a number", 5],
  ])("refuses %s, and so does parsePrivateKey", (_, value) => {
    expect(parsePublicKey(value)).toBeNull();
    expect(parsePrivateKey(value)).toBeNull();
  });
});

describe("the encoding of a point", () => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const last = alphabet.indexOf(key.x.slice(-1));

  test("is accepted with only one of four equivalent last characters", () => {
    const equivalents = Array.from(
      { length: 4 },
      (_, low) => key.x.slice(0, -1) + alphabet[last | low],
    );
    const bytes = equivalents.map((x) => Buffer.from(x, "base64url").toString("hex"));
    expect(new Set(bytes).size).toBe(1);
    expect(equivalents.filter((x) => parsePublicKey(okp(x)) !== null)).toEqual([key.x]);
  });

  test.each([
    ["padding", `${key.x}=`],
    ["a trailing line break", `${key.x}\n`],
    ["a leading space", ` ${key.x}`],
    ["the standard Base64 alphabet", key.x.replace("_", "/")],
    ["one character too few", key.x.slice(1)],
    ["one character too many", `A${key.x}`],
    ["31 bytes", base64url(new Uint8Array(31).fill(9))],
    ["33 bytes", base64url(new Uint8Array(33).fill(9))],
    ["no characters", ""],
    ["hex", Buffer.from(key.x, "base64url").toString("hex")],
    ["a letter outside the alphabet", `ä${key.x.slice(1)}`],
  ])("is refused with %s", (_, x) => {
    expect(parsePublicKey(okp(x))).toBeNull();
  });
});

describe("parsePrivateKey", () => {
  test("returns both parts without other fields", () => {
    expect(parsePrivateKey({ ...VENDOR_KEY, kid: "a" })).toEqual(VENDOR_KEY);
  });

  test.each<[string, unknown]>([
    ["a public key", key],
    ["a private part that is too short", { ...VENDOR_KEY, d: VENDOR_KEY.d.slice(1) }],
    ["a private part with padding", { ...VENDOR_KEY, d: `${VENDOR_KEY.d}=` }],
    [
      "a private part in the standard Base64 alphabet",
      { ...VENDOR_KEY, d: VENDOR_KEY.d.replace("_", "/") },
    ],
    ["a private part that is not a text", { ...VENDOR_KEY, d: 7 }],
    ["a private part in a list", { ...VENDOR_KEY, d: [VENDOR_KEY.d] }],
    ["a private part without a public part", { kty: "OKP", crv: "Ed25519", d: VENDOR_KEY.d }],
  ])("refuses %s", (_, value) => {
    expect(parsePrivateKey(value)).toBeNull();
  });
});

test("the keys of the test vectors are those of RFC 8032", () => {
  const hex = (text: string): string => Buffer.from(text, "base64url").toString("hex");
  expect(hex(VENDOR_KEY.d)).toStartWith("9d61b19deffd5a60ba844af492ec2cc4");
  expect(hex(VENDOR_KEY.x)).toStartWith("d75a980182b10ab7d54bfed3c964073a");
  // RFC 8037, A.3: the thumbprint of the same key.
  const members = JSON.stringify({ crv: "Ed25519", kty: "OKP", x: VENDOR_KEY.x });
  expect(createHash("sha256").update(members).digest("base64url")).toBe(
    "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
  );
});
