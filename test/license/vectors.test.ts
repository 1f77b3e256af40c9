import { describe, expect, test } from "bun:test";
import { createPublicKey, verify } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  signConfirmationCode,
  decodeConfirmationCode,
  verifyConfirmationCode,
  type ConfirmationClaims,
} from "../../src/license/confirmation.ts";
import { DAY, instant } from "../../src/domain/time.ts";
import { DOCUMENT_KINDS, signDocument, verifyDocument } from "../../src/license/document.ts";
import { keyIdOf, parsePrivateKey, publicPart } from "../../src/license/keys.ts";
import { verifyTrustDocument } from "../../src/license/trust.ts";
import {
  APPLIANCE_KEY,
  buildCodeVectors,
  keyIdOf as idByOther,
  PAYLOADS,
  signerFor,
  VENDOR_KEY,
  buildVectors,
} from "../vectors/generate.ts";

const folder = join(import.meta.dir, "../vectors/documents");
const files = readdirSync(folder).toSorted();
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

/**
 * The second implementation: Ed25519 over the first two parts as they stand. Knows nothing of
 * headers and reads any spelling of Base64url.
 */
function signatureHolds(text: string, { x }: { readonly x: string }): boolean {
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
  expect(signatureHolds(example, VENDOR_KEY)).toBe(true);
  expect(signatureHolds(example.replace("RXh", "RXi"), VENDOR_KEY)).toBe(false);
});

describe("the folder", () => {
  test("holds exactly what make.ts writes, byte for byte", () => {
    const made = buildVectors();
    expect(files).toEqual([...made.keys()].toSorted());
    for (const [name, text] of made) expect(read(name)).toBe(text);
  });

  test("has a good document of each kind", () => {
    const good = files.filter((name) => name.startsWith("good-"));
    expect(good).toEqual(DOCUMENT_KINDS.map((kind) => `good-${kind}.jwt`).toSorted());
  });

  test.each([
    ["vendor", VENDOR_KEY],
    ["appliance", APPLIANCE_KEY],
  ])("has the test key of the %s, marked as one", (who, key) => {
    const text = read(`TEST-KEY-${who}.jwk.json`);
    expect(text).toContain("TEST KEY");
    expect(parsePrivateKey(JSON.parse(text))).toEqual(key);
    expect(keyIdOf(key)).toBe(idByOther(key));
  });
});

describe.each(DOCUMENT_KINDS.map((kind) => ({ kind })))("good-$kind.jwt", ({ kind }) => {
  const text = read(`good-${kind}.jwt`);
  const signer = signerFor(kind);

  test("verifies with our code", async () => {
    const result = await verifyDocument(kind, text, publicPart(signer));
    expect(result).toEqual({ ok: true, value: PAYLOADS[kind] });
  });

  test("verifies with the other", () => {
    const [header, payload] = text.split(".");
    expect(signatureHolds(text, signer)).toBe(true);
    expect(jsonOf(header)).toEqual({
      alg: "EdDSA",
      typ: `berth-${kind}+jwt`,
      kid: idByOther(signer),
    });
    expect(jsonOf(payload)).toEqual(PAYLOADS[kind]);
  });

  test("is what our code makes of the same payload", async () => {
    expect(await signDocument(kind, PAYLOADS[kind], signer)).toBe(text);
  });

  test("verifies with no other key, by either", async () => {
    const other = signer === VENDOR_KEY ? APPLIANCE_KEY : VENDOR_KEY;
    expect((await verifyDocument(kind, text, publicPart(other))).ok).toBe(false);
    expect(signatureHolds(text, other)).toBe(false);
  });
});

describe("codes.json", () => {
  const made = buildCodeVectors();
  const names = Object.keys(made) as (keyof typeof made)[];
  const ends = { validUntil: instant(20_500 * DAY), serial: 7 };

  const confirmedBy = (name: keyof typeof made, weak: boolean): ConfirmationClaims => {
    const { items } = made[name];
    return {
      activation: {
        appliance: idByOther(APPLIANCE_KEY),
        nonce: items.nonce,
        hardwarePrefix: items.hardware_prefix,
        weak,
      },
      licenseKey: Buffer.from(items.license_key, "hex").toString(),
      policyHash: items.policy_sha256,
      initializationCode: "7k2mx-00110",
    };
  };

  test("holds exactly what make.ts writes", () => {
    const text = readFileSync(join(folder, "../codes.json"), "utf8");
    expect(JSON.parse(text)).toEqual(made);
  });

  test.each(names)("%s holds as a bare signature of the vendor", (name) => {
    const { signed, code } = made[name];
    const key = createPublicKey({ key: publicPart(VENDOR_KEY), format: "jwk" });
    const signature = Buffer.from(code, "hex").subarray(0, 64);
    expect(verify(null, Buffer.from(signed, "hex"), key, signature)).toBe(true);
  });

  test.each([
    ["confirmation-v2-strong", false],
    ["confirmation-v2-weak", true],
  ] as const)("%s is what our code makes, and confirms that kind alone", async (name, weak) => {
    const code = await signConfirmationCode(confirmedBy(name, weak), ends, VENDOR_KEY);
    const decoded = decodeConfirmationCode(code);
    expect(decoded).toEqual({ ok: true, value: { ...ends, bytes: made[name].code } });
    const confirmation = { ...ends, bytes: made[name].code };
    const key = publicPart(VENDOR_KEY);
    expect(await verifyConfirmationCode(confirmedBy(name, weak), confirmation, key)).toBe(true);
    expect(await verifyConfirmationCode(confirmedBy(name, !weak), confirmation, key)).toBe(false);
  });

  test("confirmation-v1 is read as version 1 alone", async () => {
    const confirmation = { ...ends, bytes: made["confirmation-v1"].code };
    const confirmed = confirmedBy("confirmation-v1", false);
    const key = publicPart(VENDOR_KEY);
    expect(await verifyConfirmationCode(confirmed, confirmation, key, 1)).toBe(true);
    expect(await verifyConfirmationCode(confirmed, confirmation, key)).toBe(false);
  });
});

test("good-trust.jwt is a vendor's trust document", async () => {
  const result = await verifyTrustDocument(read("good-trust.jwt"), () => null);
  expect(result).toMatchObject({ ok: true, value: { vendor: idByOther(VENDOR_KEY), version: 1 } });
});

const NOT_SIGNED = "is not a signed document";
const OTHER_KIND = "is another kind of document";
const WRONG_KEY = "has an invalid signature";

/** What our code says, and whether the bare signature holds: then only the rules keep it out. */
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

describe("bad documents", () => {
  test("are all judged", () => {
    const bad = files.filter((name) => name.startsWith("bad-"));
    expect(BAD.map(([name]) => `bad-${name}.jwt`).toSorted()).toEqual(bad);
  });

  test.each(BAD)("bad-%s.jwt %s; its bare signature holds: %p", async (name, fault, holds) => {
    const text = read(`bad-${name}.jwt`);
    expect(signatureHolds(text, VENDOR_KEY)).toBe(holds);
    expect(await verifyDocument("license", text, publicPart(VENDOR_KEY))).toEqual({
      ok: false,
      fault,
    });
  });
});
