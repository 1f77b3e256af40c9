import { describe, expect, test } from "bun:test";
import { err } from "../../../src/domain/result.ts";
import { parsePublicKey, publicPart } from "../../../src/license/documents/keys.ts";
import {
  signTrustDocument,
  verifyTrustDocument,
  type Vendor,
} from "../../../src/license/documents/trust.ts";
import {
  base64url,
  buildCertifiedHeader,
  buildHeader,
  CERTIFICATE,
  ISSUING_KEY,
  keyIdOf,
  RETIRED_KEY,
  signUnchecked,
  UNTRUSTED_KEY,
  VENDOR_KEY,
  type TestKey,
} from "../../vectors/generate.ts";

const vendor: Vendor = {
  vendor: keyIdOf(VENDOR_KEY),
  name: "Präzision",
  version: 2,
  jwk: publicPart(VENDOR_KEY),
  products: ["modeler2", "viewer"],
  retired: [keyIdOf(RETIRED_KEY)],
};

/** Signs any payload as a trust document, without Berth's checks. */
const signAs = (key: TestKey, payload: unknown): string =>
  signUnchecked(buildHeader("trust", key), payload, key);

const WRONG_KEY = err({ wrong: "signature" as const });
const NOT_A_TRUST_DOCUMENT = err({ wrong: "content" as const, expected: "trust" as const });

const ids = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => String(index).padStart(16, "0"));

describe("verifyTrustDocument", () => {
  test("returns what the root signed", async () => {
    const text = await signTrustDocument(vendor, VENDOR_KEY);
    expect(await verifyTrustDocument(text)).toEqual({ ok: true, value: vendor });
    expect(text).toBe(signAs(VENDOR_KEY, vendor));
  });

  test("refuses the signature of another key with the id of the root", async () => {
    const text = signUnchecked(buildHeader("trust", VENDOR_KEY), vendor, UNTRUSTED_KEY);
    expect(await verifyTrustDocument(text)).toEqual(WRONG_KEY);
  });

  test("refuses a document that an issuing key of the vendor signed", async () => {
    expect(await verifyTrustDocument(signAs(ISSUING_KEY, vendor))).toEqual(NOT_A_TRUST_DOCUMENT);
    const header = buildCertifiedHeader("trust", ISSUING_KEY, CERTIFICATE);
    const certified = signUnchecked(header, vendor, ISSUING_KEY);
    expect(await verifyTrustDocument(certified)).toEqual(err({ wrong: "form" }));
  });

  test("refuses another root under the id of a vendor", async () => {
    const claim = { ...vendor, jwk: publicPart(UNTRUSTED_KEY) };
    for (const header of [buildHeader("trust", VENDOR_KEY), buildHeader("trust", UNTRUSTED_KEY)]) {
      const text = signUnchecked(header, claim, UNTRUSTED_KEY);
      expect(await verifyTrustDocument(text)).toEqual(NOT_A_TRUST_DOCUMENT);
    }
  });

  test("refuses a kid that is not the id of the vendor", async () => {
    const header = { ...buildHeader("trust", VENDOR_KEY), kid: keyIdOf(ISSUING_KEY) };
    const text = signUnchecked(header, vendor, VENDOR_KEY);
    expect(await verifyTrustDocument(text)).toEqual(NOT_A_TRUST_DOCUMENT);
  });

  test("refuses every change of a document that a root signed", async () => {
    const [header = "", , signature = ""] = (await signTrustDocument(vendor, VENDOR_KEY)).split(
      ".",
    );
    for (const change of [
      { products: [...vendor.products, "cad"] },
      { version: 3 },
      { name: "Other" },
      { retired: [] },
      { retired: [...vendor.retired, keyIdOf(ISSUING_KEY)] },
    ]) {
      const payload = base64url(JSON.stringify({ ...vendor, ...change }));
      expect(await verifyTrustDocument(`${header}.${payload}.${signature}`)).toEqual(WRONG_KEY);
    }
  });
});

describe("verifyTrustDocument refuses a document with", () => {
  const weak = { ...publicPart(VENDOR_KEY), x: base64url(new Uint8Array(32).with(0, 1)) };
  const { retired: _, ...withoutRetired } = vendor;

  test.each<[string, object]>([
    ["a weak key", { jwk: weak }],
    ["another curve's key", { jwk: { ...vendor.jwk, crv: "X25519" } }],
    ["a key in another spelling", { jwk: { ...vendor.jwk, x: `${VENDOR_KEY.x.slice(0, -1)}p` } }],
    ["no key", { jwk: null }],
    ["a list of keys", { jwk: [vendor.jwk] }],
    ["no name", { name: "" }],
    ["a name of 257 characters", { name: "a".repeat(257) }],
    ["version 0", { version: 0 }],
    ["a fractional version", { version: 2.5 }],
    ["version 1,000,001", { version: 1_000_001 }],
    ["an id of 15 characters", { vendor: vendor.vendor.slice(1) }],
    ["an id in lower case", { vendor: vendor.vendor.toLowerCase() }],
    ["an id with O for 0", { vendor: `O${vendor.vendor.slice(1)}` }],
    ["an empty product", { products: [""] }],
    ["a product of 257 characters", { products: ["a".repeat(257)] }],
    ["1,001 products", { products: Array.from({ length: 1_001 }, (_, i) => `p${i}`) }],
    ["null as products", { products: null }],
    ["a line break in a product", { products: ["viewer", "CA\nD"] }],
    ["a NUL character in a product", { products: ["CAD\u0000"] }],
    ["a line break in the name", { name: "Acme\nvendor trusted" }],
    ["a bidirectional override in the name", { name: "Acme\u202e" }],
    ["an invisible character in a product", { products: ["CA\u200bD"] }],
    ["257 retired keys", { retired: ids(257) }],
    ["a retired key twice", { retired: [...vendor.retired, ...vendor.retired] }],
    ["a retired key that is no id", { retired: ["x"] }],
    ["a retired key with a time", { retired: [{ key: keyIdOf(RETIRED_KEY), from: 0 }] }],
    ["null as retired keys", { retired: null }],
    ["an unknown field", { more: 1 }],
    ["the keys of an earlier version of this format", { keys: [vendor.jwk] }],
  ])("%s", async (_name, change) => {
    const text = signAs(VENDOR_KEY, { ...vendor, ...change });
    expect(await verifyTrustDocument(text)).toEqual(NOT_A_TRUST_DOCUMENT);
  });

  test("no list of retired keys", async () => {
    const text = signAs(VENDOR_KEY, withoutRetired);
    expect(await verifyTrustDocument(text)).toEqual(NOT_A_TRUST_DOCUMENT);
  });

  test("a weak key that signed it", async () => {
    expect(parsePublicKey(weak)).toBeNull();
    const claim = { ...vendor, vendor: keyIdOf(weak), jwk: weak };
    const header = { ...buildHeader("trust", VENDOR_KEY), kid: keyIdOf(weak) };
    const [first = "", second = ""] = signUnchecked(header, claim, VENDOR_KEY).split(".");
    const text = `${first}.${second}.${base64url(new Uint8Array(64).with(0, 1))}`;
    expect(await verifyTrustDocument(text)).toEqual(NOT_A_TRUST_DOCUMENT);
  });

  test("the header of another kind", async () => {
    const text = signUnchecked(buildHeader("receipt", VENDOR_KEY), vendor, VENDOR_KEY);
    expect(await verifyTrustDocument(text)).toEqual(err({ wrong: "kind", kind: "receipt" }));
  });

  test.each([
    ["null", null],
    ["a list", [vendor]],
    ["a number", 5],
  ])("%s as its payload", async (_name, payload) => {
    expect(await verifyTrustDocument(signAs(VENDOR_KEY, payload))).toEqual(NOT_A_TRUST_DOCUMENT);
  });

  test.each(["", "..", "a.b.c", "{}"])("a text that is no document: %p", async (text) => {
    expect(await verifyTrustDocument(text)).toEqual(err({ wrong: "form" }));
  });
});

describe("verifyTrustDocument accepts a document with", () => {
  test.each<[string, object]>([
    ["no product", { products: [] }],
    ["1,000 products", { products: Array.from({ length: 1_000 }, (_, i) => `p${i}`) }],
    ["no retired key", { retired: [] }],
    ["256 retired keys", { retired: ids(256) }],
    ["version 1,000,000", { version: 1_000_000 }],
    [
      "a name and a product of 256 characters",
      { name: "a".repeat(256), products: ["b".repeat(256)] },
    ],
  ])("%s", async (_name, change) => {
    const value = { ...vendor, ...change };
    expect(await verifyTrustDocument(signAs(VENDOR_KEY, value))).toEqual({ ok: true, value });
  });
});

describe("the private part of the root", () => {
  test("is not written into a trust document", async () => {
    const text = await signTrustDocument({ ...vendor, jwk: VENDOR_KEY }, VENDOR_KEY);
    expect(text).toBe(await signTrustDocument(vendor, VENDOR_KEY));
  });

  test("is not returned from a trust document that contains it", async () => {
    const result = await verifyTrustDocument(signAs(VENDOR_KEY, { ...vendor, jwk: VENDOR_KEY }));
    expect(result).toEqual({ ok: true, value: vendor });
  });
});
