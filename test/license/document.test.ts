import { describe, expect, test } from "bun:test";
import { generateKeyPairSync, sign } from "node:crypto";
import * as fc from "fast-check";
import { err } from "../../src/domain/result.ts";
import {
  DOCUMENT_KINDS,
  readDocumentHeader,
  signDocument,
  readUnverifiedPayload,
  verifyDocument,
  type DocumentKind,
} from "../../src/license/document.ts";
import { publicPart } from "../../src/license/keys.ts";
import {
  base64url,
  signUnchecked,
  signWithHmac,
  buildHeader,
  UNTRUSTED_KEY,
  VENDOR_KEY,
} from "../vectors/generate.ts";

const key = publicPart(VENDOR_KEY);
const payload = { license_id: 42, customer: "Zürich 東京 😀" };
const header = buildHeader("license", VENDOR_KEY);
const whole = signUnchecked(header, payload, VENDOR_KEY);
const [first = "", second = "", third = ""] = whole.split(".");

const verified = (text: string, kind: DocumentKind = "license") => verifyDocument(kind, text, key);
const CAP = 48 * 1024;
const NOT_SIGNED = err("is not a signed document" as const);
const WRONG_KEY = err("has an invalid signature" as const);

describe.each(DOCUMENT_KINDS.map((kind) => ({ kind })))("a $kind", ({ kind }) => {
  const made = signDocument(kind, payload, VENDOR_KEY);

  test("comes back as it was signed", async () => {
    expect(await verified(await made, kind)).toEqual({ ok: true, value: payload });
    expect(readDocumentHeader(await made)).toEqual({ ok: true, value: { kind, kid: header.kid } });
    expect(readUnverifiedPayload(await made)).toEqual(payload);
  });

  test("is, byte for byte, what another implementation makes", async () => {
    expect(await made).toBe(signUnchecked(buildHeader(kind, VENDOR_KEY), payload, VENDOR_KEY));
  });

  test("is taken for no other kind", async () => {
    for (const other of DOCUMENT_KINDS.filter((one) => one !== kind)) {
      expect(await verified(await made, other)).toEqual(err("is another kind of document"));
    }
  });

  test("does not become another kind by another header", async () => {
    for (const other of DOCUMENT_KINDS.filter((one) => one !== kind)) {
      const [, body = "", signature = ""] = (await made).split(".");
      const renamed = base64url(JSON.stringify(buildHeader(other, VENDOR_KEY)));
      expect(await verified(`${renamed}.${body}.${signature}`, other)).toEqual(WRONG_KEY);
    }
  });

  test("is not accepted with another key", async () => {
    expect(await verifyDocument(kind, await made, publicPart(UNTRUSTED_KEY))).toEqual(WRONG_KEY);
  });
});

test("a private key verifies as its public half does", async () => {
  expect(await verifyDocument("license", whole, VENDOR_KEY)).toEqual({ ok: true, value: payload });
});

describe("a header, although well signed, is refused with", () => {
  const { alg, typ, kid } = header;
  test.each<[string, object | string]>([
    ["no algorithm at all", { typ, kid }],
    ...["none", "None", "eddsa", "Ed25519", "Ed448", "HS256", "ES256", "RS256", "PS512", ""].map(
      (other): [string, object] => [`the algorithm ${other}`, { ...header, alg: other }],
    ),
    ["a list of algorithms", { ...header, alg: ["EdDSA"] }],
    ["an unknown critical member", { ...header, crit: ["exp"], exp: 1 }],
    ["a known critical member", { ...header, crit: ["b64"], b64: true }],
    ["an unencoded payload", { ...header, crit: ["b64"], b64: false }],
    ["a key of its own", { ...header, jwk: key }],
    ["certificates", { ...header, x5c: ["MIIB"] }],
    ["an address of keys", { ...header, jku: "https://example.com/keys" }],
    ["compression", { ...header, zip: "DEF" }],
    ["a member named like a trap", `{"__proto__":{},${JSON.stringify(header).slice(1)}`],
    ["no key's name", { alg, typ }],
    ["a key's name that is no text", { ...header, kid: 5 }],
    ["no type", { alg, kid }],
    ["a type of the world", { ...header, typ: "JWT" }],
    ["a type nobody knows", { ...header, typ: "berth-toString+jwt" }],
    ["a type with its prefix", { ...header, typ: `application/${typ}` }],
    ["a list in its place", [header]],
    ["null in its place", "null"],
  ])("%s", async (_, strange) => {
    const text = signUnchecked(strange, payload, VENDOR_KEY);
    expect(await verified(text)).toEqual(NOT_SIGNED);
    expect(readDocumentHeader(text)).toEqual(NOT_SIGNED);
  });
});

describe("another algorithm's signature is refused", () => {
  const es256 = (input: string): string => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const how = { key: privateKey, dsaEncoding: "ieee-p1363" } as const;
    return `${input}.${base64url(sign("sha256", Buffer.from(input), how))}`;
  };
  const inputOf = (alg: string): string =>
    `${base64url(JSON.stringify({ ...header, alg }))}.${second}`;

  test.each([
    ["none", `${inputOf("none")}.`],
    [
      "HS256 with the public key as the secret",
      signWithHmac({ ...header, alg: "HS256" }, payload, VENDOR_KEY),
    ],
    ["ES256", es256(inputOf("ES256"))],
  ])("under its own name: %s", async (_, text) => {
    expect(await verified(text)).toEqual(NOT_SIGNED);
  });

  test.each([
    ["an HMAC with the public key as the secret", signWithHmac(header, payload, VENDOR_KEY)],
    ["one over P-256, as long as ours", es256(`${first}.${second}`)],
    ["64 zeros", `${first}.${second}.${base64url(new Uint8Array(64))}`],
  ])("under our name: %s", async (_, text) => {
    expect(await verified(text)).toEqual(WRONG_KEY);
  });
});

describe("a text is refused", () => {
  test.each([
    ["empty", ""],
    ["of dots alone", ".."],
    ["of two parts", `${first}.${second}`],
    ["of four parts", `${whole}.${third}`],
    ["with an empty payload", `${first}..${third}`],
    ["with an empty signature", `${first}.${second}.`],
    ["with padding", `${whole}==`],
    ["with a line break behind", `${whole}\n`],
    ["with a space in front", ` ${whole}`],
    ["with a line break inside", `${first}.${second.slice(0, 9)}\n${second.slice(9)}.${third}`],
    ["with a tab beside a dot", `${first}.\t${second}.${third}`],
    [
      "in the other alphabet",
      `${first}.${second}.${third.replaceAll("-", "+").replaceAll("_", "/")}`,
    ],
    ["with a part no bytes give", `${first}.A.${third}`],
    ["with a character too many", `${first}.${second}.${third}AAA`],
    ["as JSON", JSON.stringify({ protected: first, payload: second, signature: third })],
  ])("%s", async (_, text) => {
    expect(text).not.toBe(whole);
    expect(await verified(text)).toEqual(NOT_SIGNED);
  });

  test("above 48 KiB, and not before", async () => {
    const filled = (size: number): string =>
      signUnchecked(header, { fill: "x".repeat(size) }, VENDOR_KEY);
    // The length of a part is never 1 above a multiple of 4, so one of these sizes hits the cap.
    const sizes = Array.from({ length: 400 }, (_, more) => 36_500 + more);
    const lengths = sizes.map((size) => filled(size).length);
    const last = lengths.findLastIndex((length) => length <= CAP);
    expect(lengths[last]).toBe(CAP);
    expect((await verified(filled(sizes[last] ?? 0))).ok).toBe(true);
    expect(await verified(filled(sizes[last + 1] ?? 0))).toEqual(err("is too large"));
    expect(await verified("x".repeat(1_000_000))).toEqual(err("is too large"));
  });
});

describe("a signature", () => {
  test("has 16 spellings of its last character, of which one is taken", async () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const high = alphabet.indexOf(third.slice(-1));
    const same = Array.from({ length: 16 }, (_, low) => third.slice(0, -1) + alphabet[high | low]);
    const bytes = same.map((one) => Buffer.from(one, "base64url").toString("hex"));
    expect(new Set(bytes).size).toBe(1);
    const results = await Promise.all(same.map((one) => verified(`${first}.${second}.${one}`)));
    expect(same.filter((_, at) => results[at]?.ok)).toEqual([third]);
    expect(results.filter((one) => Bun.deepEquals(one, NOT_SIGNED))).toHaveLength(15);
  });

  test("does not fit another payload", async () => {
    const other = base64url(JSON.stringify({ ...payload, license_id: 43 }));
    expect(await verified(`${first}.${other}.${third}`)).toEqual(WRONG_KEY);
  });

  test("by another key is refused, even under this key's name", async () => {
    expect(await verified(signUnchecked(header, payload, UNTRUSTED_KEY))).toEqual(WRONG_KEY);
  });
});

describe("what is parsed is what was verified", () => {
  test("any JSON, as it was signed", async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (any) => {
        const text = JSON.stringify(any);
        const value: unknown = JSON.parse(text);
        expect(await verified(signUnchecked(header, text, VENDOR_KEY))).toEqual({
          ok: true,
          value,
        });
      }),
    );
  });

  test("however it is spelled", async () => {
    const text = ' {"a" :1e2,\n"a":2, "\\u0062":"\\u00e4", "__proto__": {"c": 3}}\t';
    const result = await verified(signUnchecked(header, text, VENDOR_KEY));
    expect(JSON.stringify(result)).toBe('{"ok":true,"value":{"a":2,"b":"ä","__proto__":{"c":3}}}');
  });

  test.each([
    ["no JSON", "{"],
    ["two values", "{}{}"],
    ["no UTF-8", Buffer.from([0x22, 0xff, 0x22])],
    ["half a character", Buffer.from('"ä"').subarray(0, 2)],
  ])("and what is %s is refused, although well signed", async (_, body) => {
    expect(await verified(signUnchecked(header, body, VENDOR_KEY))).toEqual(WRONG_KEY);
  });
});

describe("whatever is done to a document", () => {
  const neighbour = signUnchecked(
    buildHeader("policy", UNTRUSTED_KEY),
    { license_id: 43 },
    UNTRUSTED_KEY,
  ).split(".");
  const at = fc.nat({ max: whole.length });
  const character = fc.oneof(
    fc.constantFrom(...whole.split("")),
    fc.string({ unit: "binary", maxLength: 2 }),
  );
  const which = fc.nat({ max: 2 });
  const flip = fc.integer({ min: 1, max: 255 });
  const withPart = (index: number, part: string): string =>
    whole.split(".").with(index, part).join(".");

  const mutation = fc.oneof(
    // A character in place of others, or between them; a piece left out or doubled.
    fc.tuple(at, character, fc.nat({ max: 2 })).map(([from, by, gone]) => {
      return whole.slice(0, from) + by + whole.slice(from + gone);
    }),
    fc.tuple(at, at).map(([from, to]) => whole.slice(0, from) + whole.slice(to)),
    // A byte of a part, a part in another's place, a neighbour's part, a part of noise.
    fc.tuple(which, fc.nat(), flip).map(([index, where, bits]) => {
      const bytes = Buffer.from(whole.split(".")[index] ?? "", "base64url");
      const byte = where % bytes.length;
      return withPart(index, base64url(bytes.with(byte, (bytes[byte] ?? 0) ^ bits)));
    }),
    fc.shuffledSubarray([first, second, third]).map((parts) => parts.join(".")),
    fc.tuple(which, which).map(([index, from]) => withPart(index, neighbour[from] ?? "")),
    fc.tuple(which, fc.uint8Array()).map(([index, noise]) => withPart(index, base64url(noise))),
  );

  test("it is refused and nothing breaks", async () => {
    await fc.assert(
      fc.asyncProperty(mutation, async (text) => {
        fc.pre(text !== whole);
        expect((await verified(text)).ok).toBe(false);
        readUnverifiedPayload(text);
      }),
      { numRuns: 5_000 },
    );
  });
});
