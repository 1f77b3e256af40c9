import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { err } from "../../../src/domain/result.ts";
import { decodeCode, encodeCode, encodeCrockford } from "../../../src/license/codes/code.ts";
import { signCertified } from "../../../src/license/documents/document.ts";
import { publicPart } from "../../../src/license/documents/keys.ts";
import {
  CODE_KINDS,
  splitCodeKind,
  prefixCodeKind,
} from "../../../src/license/codes/code-kinds.ts";
import {
  decodeTimeCode,
  encodeTimeCode,
  signTimeDocument,
  verifyTimeDocument,
  type TimeDocument,
} from "../../../src/license/documents/time-document.ts";
import { certifyKey, createVendor, makeVendor, VENDOR } from "../../support/vendor.ts";

const APPLIANCE = "0123456789ABCDEF";
const NONCE = "00ff10a5c3";
const CODE_BITS = 125;

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });

describe("a clock code", () => {
  test("contains the appliance and the nonce, for any bytes", () => {
    fc.assert(
      fc.property(bytes(10), bytes(5), (id, random) => {
        const request = {
          appliance: encodeCrockford(id, 80),
          nonce: Buffer.from(random).toString("hex"),
        };
        expect(decodeTimeCode(encodeTimeCode(request.appliance, request.nonce))).toEqual(request);
      }),
      {
        examples: [
          [new Uint8Array(10), new Uint8Array(5)],
          [filled(10), filled(5)],
        ],
      },
    );
  });

  test("has 25 symbols and two check symbols", () => {
    const code = encodeTimeCode(APPLIANCE, NONCE);
    expect(code).toMatch(/^([0-9A-Z]{5}-){3}[0-9A-Z]{5}\n[0-9A-Z]{5}-[0-9A-Z]{2}$/);
  });

  test("is read in any case, with other separators, and with l and o for 1 and 0", () => {
    const code = encodeTimeCode(APPLIANCE, NONCE);
    const typed = code.toLowerCase().replaceAll("-", " ").replaceAll("1", "l").replaceAll("0", "o");
    expect(decodeTimeCode(typed)).toEqual({ appliance: APPLIANCE, nonce: NONCE });
    expect(decodeTimeCode(code.replaceAll("\n", "  "))).toEqual(decodeTimeCode(code));
  });

  test("of another kind is refused", () => {
    const rest = Buffer.from("ab".repeat(15), "hex");
    for (const kind of [0, CODE_KINDS.activation, CODE_KINDS.weakActivation, 4, 31]) {
      const code = encodeCode(prefixCodeKind(kind, rest), CODE_BITS);
      expect(decodeCode(code, CODE_BITS).ok).toBe(true);
      expect(decodeTimeCode(code)).toBeNull();
    }
  });

  test("with a wrong or missing symbol, or without any, is refused", () => {
    const code = encodeTimeCode(APPLIANCE, NONCE);
    for (const index of [0, 7, 19, code.length - 1]) {
      const other = code[index] === "Z" ? "Y" : "Z";
      expect(decodeTimeCode(code.slice(0, index) + other + code.slice(index + 1))).toBeNull();
      expect(decodeTimeCode(code.slice(0, index) + code.slice(index + 1))).toBeNull();
    }
    for (const none of ["", " ", "0", APPLIANCE]) expect(decodeTimeCode(none)).toBeNull();
  });

  test("is not created for an invalid appliance id", () => {
    for (const id of ["", "0123", `${APPLIANCE}0`, "0123456789ABCDEU"]) {
      expect(() => encodeTimeCode(id, NONCE)).toThrow("an appliance id has 16 symbols");
    }
  });
});

describe("a code kind", () => {
  test("and the bytes after it are split as they were joined", () => {
    const any = fc.uint8Array({ minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(fc.nat(31), any, (kind, rest) => {
        const hex = Buffer.from(rest).toString("hex");
        expect(splitCodeKind(prefixCodeKind(kind, rest))).toEqual({ kind, rest: hex });
      }),
    );
  });

  test("is unique", () => {
    const all = Object.values(CODE_KINDS);
    expect(new Set<number>(all).size).toBe(all.length);
  });
});

describe("verifyTimeDocument", () => {
  const time: TimeDocument = {
    iss: VENDOR.id,
    iat: 1_772_442_000,
    appliance: APPLIANCE,
    nonce: NONCE,
  };
  const vendor = makeVendor();
  const trusted = [vendor];
  const { issuing } = VENDOR;

  test("returns what a trusted vendor signed, and who signed it", async () => {
    expect(await verifyTimeDocument(await signTimeDocument(time, issuing), trusted)).toEqual({
      ok: true,
      value: {
        time,
        signer: {
          vendor,
          key: publicPart(issuing.key),
          certificate: {
            iss: VENDOR.id,
            iat: 0,
            until: 253_402_300_799,
            cnf: { jwk: publicPart(issuing.key) },
            trust: 1,
          },
        },
      },
    });
  });

  test("refuses a time after the year 9999, which no reply could show", async () => {
    for (const [iat, isAccepted] of [
      [253_402_300_799, true],
      [253_402_300_800, false],
      [1e300, false],
      [-1, false],
    ] as const) {
      const document = await signTimeDocument({ ...time, iat }, issuing);
      expect((await verifyTimeDocument(document, trusted)).ok).toBe(isAccepted);
    }
  });

  test("accepts any issuing key of any trusted vendor, in that vendor's name only", async () => {
    const other = await createVendor();
    const vendors = [...trusted, makeVendor({}, other.root)];
    const otherTime = { ...time, iss: other.id };
    for (const key of [other.issuing, await certifyKey(other.root)]) {
      expect((await verifyTimeDocument(await signTimeDocument(otherTime, key), vendors)).ok).toBe(
        true,
      );
      expect(await verifyTimeDocument(await signTimeDocument(time, key), vendors)).toEqual(
        err({ wrong: "content", expected: "time" }),
      );
    }
    expect((await verifyTimeDocument(await signTimeDocument(time, issuing), vendors)).ok).toBe(
      true,
    );
  });

  test("refuses a document of a vendor that is not trusted", async () => {
    const other = await createVendor();
    const fault = err({ wrong: "signer" } as const);
    const ofOther = await signTimeDocument({ ...time, iss: other.id }, other.issuing);
    expect(await verifyTimeDocument(ofOther, trusted)).toEqual(fault);
    expect(await verifyTimeDocument(await signTimeDocument(time, issuing), [])).toEqual(fault);
  });

  test("refuses a certificate of another key, or of another root", async () => {
    const [mine, other] = [await certifyKey(VENDOR.root), await createVendor()];
    const swapped = { key: mine.key, cert: issuing.cert };
    const ofThief = await certifyKey(other.root, { iss: VENDOR.id });
    const [header = "", payload = ""] = ofThief.cert.split(".");
    const kid = JSON.stringify({ alg: "EdDSA", typ: "berth-key+jwt", kid: VENDOR.id });
    const renamed = [Buffer.from(kid).toString("base64url"), payload, ofThief.cert.slice(-86)];
    for (const key of [swapped, { ...ofThief, cert: renamed.join(".") }]) {
      const document = await signTimeDocument(time, key);
      expect(await verifyTimeDocument(document, trusted)).toEqual(err({ wrong: "certificate" }));
    }
    expect(header).not.toBe(renamed[0]);
  });

  test("refuses another payload with the same signature", async () => {
    const [header, , signature] = (await signTimeDocument(time, issuing)).split(".");
    const forged = Buffer.from(JSON.stringify({ ...time, iat: 0 })).toString("base64url");
    const document = `${header}.${forged}.${signature}`;
    expect(await verifyTimeDocument(document, trusted)).toEqual(err({ wrong: "signature" }));
  });

  test("refuses another kind of document with the same fields", async () => {
    const document = await signCertified("license", time, issuing);
    expect(await verifyTimeDocument(document, trusted)).toEqual(
      err({ wrong: "kind", kind: "license" }),
    );
  });

  test("refuses missing, unknown and invalid fields", async () => {
    const wrong: readonly object[] = [
      { ...time, more: 1 },
      { ...time, nonce: NONCE.toUpperCase() },
      { ...time, nonce: `${NONCE}0` },
      { ...time, iat: -1 },
      { ...time, iat: 0.5 },
      { ...time, iat: "1772442000" },
      { ...time, appliance: null },
      { iss: time.iss, iat: time.iat, nonce: NONCE },
      [],
    ];
    for (const payload of wrong) {
      const document = await signCertified("time", payload, issuing);
      expect(await verifyTimeDocument(document, trusted)).toEqual(
        err({ wrong: "content", expected: "time" }),
      );
    }
  });

  test("refuses a text that is not a document", async () => {
    for (const text of ["", "a.b.c", "{}", encodeTimeCode(APPLIANCE, NONCE)]) {
      expect(await verifyTimeDocument(text, trusted)).toEqual(err({ wrong: "form" }));
    }
  });
});

function filled(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).fill(255);
}
