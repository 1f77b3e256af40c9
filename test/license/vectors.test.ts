import { describe, expect, test } from "bun:test";
import { createPublicKey, verify } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  signConfirmationCode,
  decodeConfirmationCode,
  verifyConfirmationCode,
  type ConfirmationClaims,
} from "../../src/license/codes/confirmation.ts";
import { DAY, instant } from "../../src/domain/time.ts";
import { signDocument, verifyDocument } from "../../src/license/documents/document.ts";
import { DOCUMENT_KINDS } from "../../src/license/documents/document-kinds.ts";
import { keyIdOf, parsePrivateKey, publicPart } from "../../src/license/documents/keys.ts";
import { verifyLicenseRequest } from "../../src/license/requests/request.ts";
import { verifyTrustDocument } from "../../src/license/documents/trust.ts";
import {
  APPLIANCE_KEY,
  buildCodeVectors,
  buildRequestVectors,
  keyIdOf as independentKeyId,
  PAYLOADS,
  signerFor,
  VENDOR_KEY,
  buildVectors,
} from "../vectors/generate.ts";

const folder = join(import.meta.dir, "../vectors/documents");
const files = readdirSync(folder).toSorted();
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

/**
 * A second implementation: Ed25519 over the first two parts as they are. It ignores headers and
 * accepts any spelling of Base64url.
 */
function isSignatureValid(text: string, { x }: { readonly x: string }): boolean {
  const [header = "", payload = "", signature = ""] = text.split(".");
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  const bytes = Buffer.from(signature, "base64url");
  return verify(null, Buffer.from(`${header}.${payload}`), key, bytes);
}

const jsonOf = (part: string | undefined): unknown =>
  JSON.parse(Buffer.from(part ?? "", "base64url").toString("utf8"));

test("the second implementation agrees with the example of RFC 8037, A.4", () => {
  const example =
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
  expect(isSignatureValid(example, VENDOR_KEY)).toBe(true);
  expect(isSignatureValid(example.replace("RXh", "RXi"), VENDOR_KEY)).toBe(false);
});

describe("test/vectors/documents", () => {
  test("contains exactly the files that generate.ts writes, byte for byte", () => {
    const vectors = buildVectors();
    expect(files).toEqual([...vectors.keys()].toSorted());
    for (const [name, text] of vectors) expect(read(name)).toBe(text);
  });

  test("has a valid document of each kind", () => {
    const good = files.filter((name) => name.startsWith("good-"));
    expect(good).toEqual(DOCUMENT_KINDS.map((kind) => `good-${kind}.jwt`).toSorted());
  });

  test.each([
    ["vendor", VENDOR_KEY],
    ["appliance", APPLIANCE_KEY],
  ])("has the key of the %s, marked as a test key", (owner, key) => {
    const text = read(`TEST-KEY-${owner}.jwk.json`);
    expect(text).toContain("TEST KEY");
    expect(parsePrivateKey(JSON.parse(text))).toEqual(key);
    expect(keyIdOf(key)).toBe(independentKeyId(key));
  });
});

describe.each(DOCUMENT_KINDS.map((kind) => ({ kind })))("good-$kind.jwt", ({ kind }) => {
  const text = read(`good-${kind}.jwt`);
  const signer = signerFor(kind);

  test("verifies with Berth", async () => {
    const result = await verifyDocument(kind, text, publicPart(signer));
    expect(result).toEqual({ ok: true, value: PAYLOADS[kind] });
  });

  test("verifies with the second implementation", () => {
    const [header, payload] = text.split(".");
    expect(isSignatureValid(text, signer)).toBe(true);
    expect(jsonOf(header)).toEqual({
      alg: "EdDSA",
      typ: `berth-${kind}+jwt`,
      kid: independentKeyId(signer),
    });
    expect(jsonOf(payload)).toEqual(PAYLOADS[kind]);
  });

  test("equals what Berth signs for the same payload", async () => {
    expect(await signDocument(kind, PAYLOADS[kind], signer)).toBe(text);
  });

  test("fails with another key in both implementations", async () => {
    const other = signer === VENDOR_KEY ? APPLIANCE_KEY : VENDOR_KEY;
    expect((await verifyDocument(kind, text, publicPart(other))).ok).toBe(false);
    expect(isSignatureValid(text, other)).toBe(false);
  });
});

describe("codes.json", () => {
  const vectors = buildCodeVectors();
  const names = Object.keys(vectors) as (keyof typeof vectors)[];
  const tail = { validUntil: instant(20_500 * DAY), serial: 7 };

  const claimsOf = (name: keyof typeof vectors, weak: boolean): ConfirmationClaims => {
    const { items } = vectors[name];
    return {
      activation: {
        appliance: independentKeyId(APPLIANCE_KEY),
        nonce: items.nonce,
        hardwarePrefix: items.hardware_prefix,
        weak,
      },
      licenseKey: Buffer.from(items.license_key, "hex").toString(),
      policyHash: items.policy_sha256,
      initializationCode: "7k2mx-00110",
    };
  };

  test("contains exactly what generate.ts writes", () => {
    const text = readFileSync(join(folder, "../codes.json"), "utf8");
    expect(JSON.parse(text)).toEqual(vectors);
  });

  test.each(names)("%s has a valid bare signature of the vendor", (name) => {
    const { signed, code } = vectors[name];
    const key = createPublicKey({ key: publicPart(VENDOR_KEY), format: "jwk" });
    const signature = Buffer.from(code, "hex").subarray(0, 64);
    expect(verify(null, Buffer.from(signed, "hex"), key, signature)).toBe(true);
  });

  test.each([
    ["confirmation-v2-strong", false],
    ["confirmation-v2-weak", true],
  ] as const)("%s equals what Berth signs, and is valid for that kind only", async (name, weak) => {
    const code = await signConfirmationCode(claimsOf(name, weak), tail, VENDOR_KEY);
    const decoded = decodeConfirmationCode(code);
    expect(decoded).toEqual({ ok: true, value: { ...tail, bytes: vectors[name].code } });
    const confirmation = { ...tail, bytes: vectors[name].code };
    const key = publicPart(VENDOR_KEY);
    expect(await verifyConfirmationCode(claimsOf(name, weak), confirmation, key)).toBe(true);
    expect(await verifyConfirmationCode(claimsOf(name, !weak), confirmation, key)).toBe(false);
  });
});

test("good-trust.jwt is a valid trust document", async () => {
  const result = await verifyTrustDocument(read("good-trust.jwt"), () => null);
  expect(result).toMatchObject({
    ok: true,
    value: { vendor: independentKeyId(VENDOR_KEY), version: 1 },
  });
});

const NOT_SIGNED = "form";
const OTHER_KIND = "kind";
const WRONG_KEY = "signature";

/** Berth's fault, and whether the bare signature is valid; if so, only Berth's rules refuse it. */
const BAD = [
  ["alg-none", NOT_SIGNED, false],
  ["alg-none-signed", NOT_SIGNED, true],
  ["alg-hs256-public-key", NOT_SIGNED, false],
  ["alg-ed25519", NOT_SIGNED, true],
  ["typ-jwt", NOT_SIGNED, true],
  ["typ-policy", OTHER_KIND, true],
  ["crit", NOT_SIGNED, true],
  ["jwk", NOT_SIGNED, false],
  ["no-kid", NOT_SIGNED, true],
  ["kid-not-text", NOT_SIGNED, true],
  ["other-key", WRONG_KEY, false],
  ["moved-signature", WRONG_KEY, false],
  ["signature-spelling", NOT_SIGNED, true],
  ["signature-zero", WRONG_KEY, false],
  ["signature-plus-order", WRONG_KEY, false],
  ["two-parts", NOT_SIGNED, false],
  ["four-parts", NOT_SIGNED, true],
  ["padding", NOT_SIGNED, true],
  ["line-break", NOT_SIGNED, true],
  ["part-of-one-character", NOT_SIGNED, false],
  ["payload-not-utf8", WRONG_KEY, true],
  ["payload-not-json", WRONG_KEY, true],
] as const;

describe("a bad document", () => {
  test("is listed here for each file in the folder", () => {
    const bad = files.filter((name) => name.startsWith("bad-"));
    expect(BAD.map(([name]) => `bad-${name}.jwt`).toSorted()).toEqual(bad);
  });

  test.each(BAD)(
    "bad-%s.jwt has a wrong %s; its bare signature is valid: %p",
    async (name, wrong, isValid) => {
      const text = read(`bad-${name}.jwt`);
      expect(isSignatureValid(text, VENDOR_KEY)).toBe(isValid);
      expect(await verifyDocument("license", text, publicPart(VENDOR_KEY))).toEqual({
        ok: false,
        fault: wrong === OTHER_KIND ? { wrong, kind: "policy" } : { wrong },
      });
    },
  );
});

describe("requests.json", () => {
  const text = readFileSync(join(folder, "../requests.json"), "utf8");
  const vectors = JSON.parse(text) as ReturnType<typeof buildRequestVectors>;

  test("is what the generator writes", () => {
    expect(vectors).toEqual(JSON.parse(JSON.stringify(buildRequestVectors())) as typeof vectors);
  });

  test.each(vectors.map((vector) => [vector.name, vector.valid, vector] as const))(
    "%s is a valid request: %p",
    async (_name, isValid, { document, wants }) => {
      const result = await verifyLicenseRequest(document);
      expect(result.ok).toBe(isValid);
      if (result.ok) expect([result.value.wants ?? null]).toEqual([wants as never]);
      else expect(result.fault).toEqual({ wrong: "content", expected: "request" });
    },
  );
});
