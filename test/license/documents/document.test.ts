import { describe, expect, test } from "bun:test";
import { generateKeyPairSync, sign } from "node:crypto";
import * as fc from "fast-check";
import { err } from "../../../src/domain/result.ts";
import {
  MAX_CERTIFICATE,
  readDocumentHeader,
  readUnverifiedPayload,
  signCertified,
  signDocument,
  verifyDocument,
} from "../../../src/license/documents/document.ts";
import {
  DOCUMENT_KINDS,
  isCertified,
  type CertifiedKind,
  type DocumentKind,
} from "../../../src/license/documents/document-kinds.ts";
import { publicPart } from "../../../src/license/documents/keys.ts";
import {
  base64url,
  signUnchecked,
  signWithHmac,
  buildCertifiedHeader,
  buildHeader,
  CERTIFICATE,
  ISSUING_KEY,
  UNTRUSTED_KEY,
  VENDOR_KEY,
} from "../../vectors/generate.ts";

const key = publicPart(ISSUING_KEY);
const payload = { license_id: 42, customer: "Zürich 東京 😀" };
const header = buildCertifiedHeader("license", ISSUING_KEY, CERTIFICATE);
const document = signUnchecked(header, payload, ISSUING_KEY);
const [first = "", second = "", third = ""] = document.split(".");

const verify = (text: string, kind: DocumentKind = "license") => verifyDocument(kind, text, key);
const MAX_LENGTH = 48 * 1024;
const jsonOf = (part = ""): unknown => JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
const NOT_SIGNED = err({ wrong: "form" as const });
const WRONG_KEY = err({ wrong: "signature" as const });

const isCertifiedKind = (kind: DocumentKind): kind is CertifiedKind => isCertified(kind);

const headerOf = (kind: DocumentKind) =>
  isCertified(kind)
    ? buildCertifiedHeader(kind, ISSUING_KEY, CERTIFICATE)
    : buildHeader(kind, ISSUING_KEY);

describe.each(DOCUMENT_KINDS.map((kind) => ({ kind })))("a $kind document", ({ kind }) => {
  const signed = isCertifiedKind(kind)
    ? signCertified(kind, payload, { key: ISSUING_KEY, cert: CERTIFICATE })
    : signDocument(kind, payload, ISSUING_KEY);

  test("verifies and returns its payload", async () => {
    expect(await verify(await signed, kind)).toEqual({ ok: true, value: payload });
    expect(readDocumentHeader(await signed)).toEqual({
      ok: true,
      value: { kind, kid: header.kid, cert: isCertified(kind) ? CERTIFICATE : null },
    });
    expect(readUnverifiedPayload(await signed)).toEqual(payload);
  });

  test("equals, byte for byte, what another implementation signs", async () => {
    expect(await signed).toBe(signUnchecked(headerOf(kind), payload, ISSUING_KEY));
  });

  test("is refused as any other kind", async () => {
    for (const other of DOCUMENT_KINDS.filter((candidate) => candidate !== kind)) {
      expect(await verify(await signed, other)).toEqual(err({ wrong: "kind", kind }));
    }
  });

  test("is refused with the header of another kind", async () => {
    for (const other of DOCUMENT_KINDS.filter((candidate) => candidate !== kind)) {
      const [, body = "", signature = ""] = (await signed).split(".");
      const renamed = base64url(JSON.stringify(headerOf(other)));
      expect(await verify(`${renamed}.${body}.${signature}`, other)).toEqual(WRONG_KEY);
    }
  });

  test("is refused with another key", async () => {
    expect(await verifyDocument(kind, await signed, publicPart(UNTRUSTED_KEY))).toEqual(WRONG_KEY);
  });
});

test("verifyDocument accepts a private key in place of its public part", async () => {
  expect(await verifyDocument("license", document, ISSUING_KEY)).toEqual({
    ok: true,
    value: payload,
  });
});

describe("verifyDocument refuses a correctly signed header with", () => {
  const { alg, typ, kid, cert } = header;
  const json = JSON.stringify(header);
  const ofPolicy = signUnchecked(headerOf("policy"), payload, ISSUING_KEY);
  test.each<[string, object | string]>([
    ["no algorithm", { typ, kid, cert }],
    ["no certificate", { alg, typ, kid }],
    ["a certificate that is null", { ...header, cert: null }],
    ["an empty certificate", { ...header, cert: "" }],
    ["a certificate in a list", { ...header, cert: [cert] }],
    ["a certificate with padding", { ...header, cert: `${cert}==` }],
    ["a certificate without its signature", { ...header, cert: cert.slice(0, -87) }],
    ["a policy in place of the certificate", { ...header, cert: ofPolicy }],
    ["a certificate that is too long", { ...header, cert: `${cert}${"A".repeat(1_000)}` }],
    ["the certificate twice", `${json.slice(0, -1)},"cert":"${cert}"}`],
    ["an escape in the certificate", json.replace(`"cert":"e`, String.raw`"cert":"\u0065`)],
    ["the certificate before the kid", { alg, typ, cert, kid }],
    ["the type before the algorithm", { typ, alg, kid, cert }],
    ["a space after a colon", json.replace(":", ": ")],
    ["a space after its end", `${json} `],
    ["a line break before its begin", `\n${json}`],
    ...["none", "None", "eddsa", "Ed25519", "Ed448", "HS256", "ES256", "RS256", "PS512", ""].map(
      (other): [string, object] => [`the algorithm ${other}`, { ...header, alg: other }],
    ),
    ["a list of algorithms", { ...header, alg: ["EdDSA"] }],
    ["an unknown critical field", { ...header, crit: ["exp"], exp: 1 }],
    ["a known critical field", { ...header, crit: ["b64"], b64: true }],
    ["an unencoded payload", { ...header, crit: ["b64"], b64: false }],
    ["a key of its own", { ...header, jwk: key }],
    ["certificates", { ...header, x5c: ["MIIB"] }],
    ["a URL of keys", { ...header, jku: "https://example.com/keys" }],
    ["compression", { ...header, zip: "DEF" }],
    ["a __proto__ field", `{"__proto__":{},${JSON.stringify(header).slice(1)}`],
    ["no kid", { alg, typ, cert }],
    ["a kid that is not a text", { ...header, kid: 5 }],
    ["no type", { alg, kid, cert }],
    ["the type JWT", { ...header, typ: "JWT" }],
    ["an unknown type", { ...header, typ: "berth-toString+jwt" }],
    ["a type with the prefix application/", { ...header, typ: `application/${typ}` }],
    ["a list in its place", [header]],
    ["null in its place", "null"],
  ])("%s", async (_, badHeader) => {
    const text = signUnchecked(badHeader, payload, ISSUING_KEY);
    expect(await verify(text)).toEqual(NOT_SIGNED);
    expect(readDocumentHeader(text)).toEqual(NOT_SIGNED);
  });
});

describe.each(DOCUMENT_KINDS.filter((kind) => !isCertified(kind)).map((kind) => ({ kind })))(
  "a $kind document",
  ({ kind }) => {
    const { alg, typ, kid } = headerOf(kind);

    test("may have the members of its header in any order", async () => {
      const text = signUnchecked({ kid, alg, typ }, payload, ISSUING_KEY);
      expect(await verify(text, kind)).toEqual({ ok: true, value: payload });
    });

    test.each([[CERTIFICATE], [null]])("is refused with the certificate %p", async (cert) => {
      const text = signUnchecked({ alg, typ, kid, cert }, payload, ISSUING_KEY);
      expect(await verify(text, kind)).toEqual(NOT_SIGNED);
    });
  },
);

test("a certificate may have 1,024 characters and not one more", async () => {
  expect(MAX_CERTIFICATE).toBe(1_024);
  const lengths: number[] = [];
  for (let spaces = 0; spaces < 600; spaces += 1) {
    for (const before of ["", " ", "  "]) {
      const content = JSON.stringify(jsonOf(CERTIFICATE.split(".")[1])) + " ".repeat(spaces);
      const certHeader = before + JSON.stringify(buildHeader("key", VENDOR_KEY));
      const cert = signUnchecked(certHeader, content, VENDOR_KEY);
      if (cert.length < 1_023 || cert.length > 1_026) continue;
      const text = signUnchecked({ ...header, cert }, payload, ISSUING_KEY);
      lengths.push(cert.length);
      expect([cert.length, (await verify(text)).ok]).toEqual([cert.length, cert.length <= 1_024]);
    }
  }
  expect(lengths).toContain(1_024);
  expect(lengths).toContain(1_025);
});

describe("verifyDocument refuses the signature of another algorithm", () => {
  const es256 = (input: string): string => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const signer = { key: privateKey, dsaEncoding: "ieee-p1363" } as const;
    return `${input}.${base64url(sign("sha256", Buffer.from(input), signer))}`;
  };
  const inputOf = (alg: string): string =>
    `${base64url(JSON.stringify({ ...header, alg }))}.${second}`;

  test.each([
    ["none", `${inputOf("none")}.`],
    [
      "HS256 with the public key as the secret",
      signWithHmac({ ...header, alg: "HS256" }, payload, ISSUING_KEY),
    ],
    ["ES256", es256(inputOf("ES256"))],
  ])("with its own name in the header: %s", async (_, text) => {
    expect(await verify(text)).toEqual(NOT_SIGNED);
  });

  test.each([
    ["an HMAC with the public key as the secret", signWithHmac(header, payload, ISSUING_KEY)],
    ["a P-256 signature of the same length", es256(`${first}.${second}`)],
    ["64 zeros", `${first}.${second}.${base64url(new Uint8Array(64))}`],
  ])("with EdDSA in the header: %s", async (_, text) => {
    expect(await verify(text)).toEqual(WRONG_KEY);
  });
});

describe("verifyDocument refuses a text", () => {
  test.each([
    ["that is empty", ""],
    ["of dots alone", ".."],
    ["of two parts", `${first}.${second}`],
    ["of four parts", `${document}.${third}`],
    ["with an empty payload", `${first}..${third}`],
    ["with an empty signature", `${first}.${second}.`],
    ["with padding", `${document}==`],
    ["with a trailing line break", `${document}\n`],
    ["with a leading space", ` ${document}`],
    ["with a line break inside", `${first}.${second.slice(0, 9)}\n${second.slice(9)}.${third}`],
    ["with a tab beside a dot", `${first}.\t${second}.${third}`],
    ["in standard Base64", `${first}.${second}.${third.replaceAll("-", "+").replaceAll("_", "/")}`],
    ["with a part of one character", `${first}.A.${third}`],
    ["with extra characters", `${first}.${second}.${third}AAA`],
    ["as JSON", JSON.stringify({ protected: first, payload: second, signature: third })],
  ])("%s", async (_, text) => {
    expect(text).not.toBe(document);
    expect(await verify(text)).toEqual(NOT_SIGNED);
  });

  test("above 48 KiB, and accepts exactly 48 KiB", async () => {
    const signFilled = (size: number): string =>
      signUnchecked(header, { fill: "x".repeat(size) }, ISSUING_KEY);
    // The length of a part is never 1 above a multiple of 4, so one of these sizes hits the limit.
    const sizes = Array.from({ length: 400 }, (_, more) => 36_100 + more);
    const lengths = sizes.map((size) => signFilled(size).length);
    const last = lengths.findLastIndex((length) => length <= MAX_LENGTH);
    expect(lengths[last]).toBe(MAX_LENGTH);
    expect((await verify(signFilled(sizes[last] ?? 0))).ok).toBe(true);
    expect(await verify(signFilled(sizes[last + 1] ?? 0))).toEqual(err({ wrong: "size" }));
    expect(await verify("x".repeat(1_000_000))).toEqual(err({ wrong: "size" }));
  });
});

describe("a signature", () => {
  test("is accepted with only one of 16 equivalent last characters", async () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const high = alphabet.indexOf(third.slice(-1));
    const equivalents = Array.from(
      { length: 16 },
      (_, low) => third.slice(0, -1) + alphabet[high | low],
    );
    const bytes = equivalents.map((text) => Buffer.from(text, "base64url").toString("hex"));
    expect(new Set(bytes).size).toBe(1);
    const results = await Promise.all(
      equivalents.map((text) => verify(`${first}.${second}.${text}`)),
    );
    expect(equivalents.filter((_, index) => results[index]?.ok)).toEqual([third]);
    expect(results.filter((result) => Bun.deepEquals(result, NOT_SIGNED))).toHaveLength(15);
  });

  test("is refused with another payload", async () => {
    const other = base64url(JSON.stringify({ ...payload, license_id: 43 }));
    expect(await verify(`${first}.${other}.${third}`)).toEqual(WRONG_KEY);
  });

  test("of another key is refused, even with this key's kid", async () => {
    expect(await verify(signUnchecked(header, payload, UNTRUSTED_KEY))).toEqual(WRONG_KEY);
  });
});

describe("verifyDocument returns exactly the signed payload", () => {
  test("for any JSON object", async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (any) => {
        const text = JSON.stringify(any);
        const value: unknown = JSON.parse(text);
        expect(await verify(signUnchecked(header, text, ISSUING_KEY))).toEqual({
          ok: true,
          value,
        });
      }),
    );
  });

  test("for unusual JSON syntax and duplicate keys", async () => {
    const text = ' {"a" :1e2,\n"a":2, "\\u0062":"\\u00e4", "__proto__": {"c": 3}}\t';
    const result = await verify(signUnchecked(header, text, ISSUING_KEY));
    expect(JSON.stringify(result)).toBe('{"ok":true,"value":{"a":2,"b":"ä","__proto__":{"c":3}}}');
  });

  test.each([
    ["not JSON", "{"],
    ["two values", "{}{}"],
    ["not UTF-8", Buffer.from([0x22, 0xff, 0x22])],
    ["half a character", Buffer.from('"ä"').subarray(0, 2)],
  ])("and refuses a signed payload that is %s", async (_, body) => {
    expect(await verify(signUnchecked(header, body, ISSUING_KEY))).toEqual(WRONG_KEY);
  });
});

describe("a randomly changed document", () => {
  const otherParts = signUnchecked(
    buildCertifiedHeader("policy", UNTRUSTED_KEY, CERTIFICATE),
    { license_id: 43 },
    UNTRUSTED_KEY,
  ).split(".");
  const position = fc.nat({ max: document.length });
  const character = fc.oneof(
    fc.constantFrom(...document.split("")),
    fc.string({ unit: "binary", maxLength: 2 }),
  );
  const partIndex = fc.nat({ max: 2 });
  const flip = fc.integer({ min: 1, max: 255 });
  const withPart = (index: number, part: string): string =>
    document.split(".").with(index, part).join(".");

  const mutation = fc.oneof(
    // Replaces or inserts a character; removes or repeats a piece.
    fc.tuple(position, character, fc.nat({ max: 2 })).map(([from, inserted, removed]) => {
      return document.slice(0, from) + inserted + document.slice(from + removed);
    }),
    fc.tuple(position, position).map(([from, to]) => document.slice(0, from) + document.slice(to)),
    // Changes a byte of a part, reorders the parts, or uses a part of another document or noise.
    fc.tuple(partIndex, fc.nat(), flip).map(([index, where, bits]) => {
      const bytes = Buffer.from(document.split(".")[index] ?? "", "base64url");
      const byte = where % bytes.length;
      return withPart(index, base64url(bytes.with(byte, (bytes[byte] ?? 0) ^ bits)));
    }),
    fc.shuffledSubarray([first, second, third]).map((parts) => parts.join(".")),
    fc.tuple(partIndex, partIndex).map(([index, from]) => withPart(index, otherParts[from] ?? "")),
    fc.tuple(partIndex, fc.uint8Array()).map(([index, noise]) => withPart(index, base64url(noise))),
  );

  test("is refused without an exception", async () => {
    await fc.assert(
      fc.asyncProperty(mutation, async (text) => {
        fc.pre(text !== document);
        expect((await verify(text)).ok).toBe(false);
        readUnverifiedPayload(text);
      }),
      { numRuns: 5_000 },
    );
  });
});
