import { describe, expect, test } from "bun:test";
import { err } from "../../../src/domain/result.ts";
import {
  readCertificateVendor,
  signCertificate,
  verifyCertificate,
  type KeyCertificate,
} from "../../../src/license/documents/certificate.ts";
import { publicPart } from "../../../src/license/documents/keys.ts";
import {
  APPLIANCE_KEY,
  base64url,
  buildCertifiedHeader,
  buildHeader,
  CERTIFICATE,
  ISSUING_KEY,
  keyIdOf,
  signUnchecked,
  UNTRUSTED_KEY,
  VENDOR_KEY,
} from "../../vectors/generate.ts";

const VENDOR = keyIdOf(VENDOR_KEY);
const OWNER = { vendor: VENDOR, jwk: publicPart(VENDOR_KEY) };
const content: KeyCertificate = {
  iss: VENDOR,
  iat: 1_767_225_600,
  until: 1_924_992_000,
  cnf: { jwk: publicPart(ISSUING_KEY) },
  trust: 1,
};

const verify = (text: string, roots = [OWNER.jwk]) => verifyCertificate(text, OWNER, roots);
const signContent = (differing: object): string =>
  signUnchecked(buildHeader("key", VENDOR_KEY), { ...content, ...differing }, VENDOR_KEY);

const REFUSED = err({ wrong: "certificate" as const });

describe("verifyCertificate", () => {
  test("returns what the root signed, which is the test vector", async () => {
    const text = await signCertificate(content, VENDOR_KEY);
    expect(text).toBe(CERTIFICATE);
    expect(await verify(text)).toEqual({ ok: true, value: content });
    expect(await verify(text, [])).toEqual({ ok: true, value: content });
  });

  test("accepts any times of a certificate that are in order", async () => {
    for (const times of [
      { iat: 0, until: 1 },
      { iat: 253_402_300_798, until: 253_402_300_799 },
    ]) {
      expect((await verify(signContent(times))).ok).toBe(true);
    }
  });

  test("ignores other members of the key", async () => {
    const cnf = { jwk: { ...content.cnf.jwk, use: "sig" } };
    expect((await verify(signContent({ cnf }))).ok).toBe(true);
  });

  test.each<[string, object]>([
    ["an end that is its begin", { until: content.iat }],
    ["an end before its begin", { until: content.iat - 1 }],
    ["an end after the year 9999", { until: 253_402_300_800 }],
    ["a begin before 1970", { iat: -1 }],
    ["a begin with parts of a second", { iat: 0.5 }],
    ["an end as text", { until: "1924992000" }],
    ["no end", { until: undefined }],
    ["exp in place of until", { until: undefined, exp: content.until }],
    ["exp too", { exp: content.until }],
    ["nbf too", { nbf: 0 }],
    ["no version of a trust document", { trust: undefined }],
    ["version 0 of a trust document", { trust: 0 }],
    ["version 1,000,001 of a trust document", { trust: 1_000_001 }],
    ["no vendor", { iss: undefined }],
    ["another vendor", { iss: keyIdOf(UNTRUSTED_KEY) }],
    ["no key", { cnf: {} }],
    ["a key outside of cnf", { cnf: undefined, jwk: content.cnf.jwk }],
    ["a kid beside the key", { cnf: { ...content.cnf, kid: keyIdOf(ISSUING_KEY) } }],
    ["a key of another curve", { cnf: { jwk: { ...content.cnf.jwk, crv: "X25519" } } }],
    [
      "a key in another spelling",
      { cnf: { jwk: { ...content.cnf.jwk, x: `${ISSUING_KEY.x.slice(0, -1)}5` } } },
    ],
    [
      "a key of low order",
      { cnf: { jwk: { ...content.cnf.jwk, x: base64url(new Uint8Array(32).with(0, 1)) } } },
    ],
    ["the root itself", { cnf: { jwk: publicPart(VENDOR_KEY) } }],
    ["an unknown member", { later: 1 }],
  ])("refuses a certificate with %s", async (_name, differing) => {
    expect(await verify(signContent(differing))).toEqual(REFUSED);
  });

  test("refuses a certificate for the root itself without a list of roots", async () => {
    const text = signContent({ cnf: { jwk: publicPart(VENDOR_KEY) } });
    expect(await verify(text, [])).toEqual(REFUSED);
  });

  test("refuses a certificate for the root of another trusted vendor alone", async () => {
    const text = signContent({ cnf: { jwk: publicPart(UNTRUSTED_KEY) } });
    expect((await verify(text)).ok).toBe(true);
    expect(await verify(text, [OWNER.jwk, publicPart(UNTRUSTED_KEY)])).toEqual(REFUSED);
  });

  test("refuses the signature of any key but the root", async () => {
    for (const key of [ISSUING_KEY, UNTRUSTED_KEY, APPLIANCE_KEY]) {
      const text = signUnchecked(buildHeader("key", VENDOR_KEY), content, key);
      expect(await verify(text)).toEqual(REFUSED);
    }
  });

  test("refuses a root that does not have the id of its vendor", async () => {
    const owner = { vendor: VENDOR, jwk: publicPart(UNTRUSTED_KEY) };
    const text = signUnchecked(buildHeader("key", VENDOR_KEY), content, UNTRUSTED_KEY);
    expect(await verifyCertificate(text, owner, [owner.jwk])).toEqual(REFUSED);
  });

  test.each<[string, object]>([
    ["the kid of the issuing key", { kid: keyIdOf(ISSUING_KEY) }],
    ["the type of a trust document", { typ: "berth-trust+jwt" }],
    ["another algorithm", { alg: "Ed25519" }],
    ["a critical member", { crit: ["exp"], exp: 1 }],
    ["a certificate of its own", { cert: CERTIFICATE }],
  ])("refuses a header with %s", async (_name, differing) => {
    const header = { ...buildHeader("key", VENDOR_KEY), ...differing };
    expect(await verify(signUnchecked(header, content, VENDOR_KEY))).toEqual(REFUSED);
  });

  test("refuses a certificate of 1,025 characters", async () => {
    const text = `${CERTIFICATE}${"A".repeat(1_025 - CERTIFICATE.length)}`;
    expect(await verify(text)).toEqual(REFUSED);
    expect(readCertificateVendor(text)).toBeNull();
  });

  test.each(["", "..", "a.b.c", "{}"])("refuses a text that is no document: %p", async (text) => {
    expect(await verify(text)).toEqual(REFUSED);
    expect(readCertificateVendor(text)).toBeNull();
  });
});

test("signCertificate does not write the private part of the issuing key", async () => {
  const text = await signCertificate({ ...content, cnf: { jwk: ISSUING_KEY } }, VENDOR_KEY);
  expect(text).toBe(CERTIFICATE);
});

test("readCertificateVendor names the vendor of a certificate, and of nothing else", () => {
  expect(readCertificateVendor(CERTIFICATE)).toBe(VENDOR);
  const certified = buildCertifiedHeader("license", ISSUING_KEY, CERTIFICATE);
  for (const header of [buildHeader("trust", VENDOR_KEY), certified]) {
    expect(readCertificateVendor(signUnchecked(header, {}, VENDOR_KEY))).toBeNull();
  }
});
