import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { DAY, instant, type Instant } from "../../../src/domain/time.ts";
import { canonicalizeCode, encodeCode, encodeCrockford } from "../../../src/license/codes/code.ts";
import {
  signConfirmationCode,
  decodeActivationCode,
  decodeConfirmationCode,
  encodeActivationCode,
  verifyConfirmationCode,
  type ActivationCode,
  type ConfirmationCode,
  type ConfirmationClaims,
} from "../../../src/license/codes/confirmation.ts";
import { generateKey } from "../../../src/license/documents/keys.ts";
import { sha256 } from "../../../src/platform/crypto/hash.ts";

const SYMBOLS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const KEY = await generateKey();
const OTHER_KEY = await generateKey();
const ACTIVATION_BITS = 165;
const CONFIRMATION_BITS = 544;

const activation: ActivationCode = {
  appliance: "0123456789ABCDEF",
  nonce: "00ff10a5c3",
  hardwarePrefix: "deadbeef01",
  weak: false,
};

const claims: ConfirmationClaims = {
  activation,
  licenseKey: "ABCD-1234",
  policyHash: sha256("a policy"),
  initializationCode: "7K2MX-00110",
};

const END = instant(20_500 * DAY);
const CODE = await signConfirmationCode(claims, { validUntil: END, serial: 7 }, KEY);

const hex = (bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((value) => Buffer.from(value).toString("hex"));

const anyActivation: fc.Arbitrary<ActivationCode> = fc.record({
  appliance: fc
    .uint8Array({ minLength: 10, maxLength: 10 })
    .map((bytes) => encodeCrockford(new Uint8Array(bytes), 80)),
  nonce: hex(5),
  hardwarePrefix: hex(5),
  weak: fc.boolean(),
});

function decode(code: string): ConfirmationCode {
  const decoded = decodeConfirmationCode(code);
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.fault));
  return decoded.value;
}

const bytesOf = (code: string): Buffer => Buffer.from(decode(code).bytes, "hex");
const isValid = (expected: ConfirmationClaims, code: string, key = KEY): Promise<boolean> =>
  verifyConfirmationCode(expected, decode(code), key);
const replaceAt = (code: string, index: number, text: string): string =>
  code.slice(0, index) + text + code.slice(index + text.length);

describe("an activation code", () => {
  test("can be decoded to its values, for any value and both kinds", () => {
    fc.assert(
      fc.property(anyActivation, (any) => {
        expect(decodeActivationCode(encodeActivationCode(any))).toEqual({ ok: true, value: any });
      }),
    );
  });

  test("has 35 symbols in two rows and begins with its kind", () => {
    const strong = canonicalizeCode(encodeActivationCode(activation));
    const weak = canonicalizeCode(encodeActivationCode({ ...activation, weak: true }));
    expect([strong.length, weak.length]).toEqual([35, 35]);
    expect([strong.charAt(0), weak.charAt(0)]).toEqual(["1", "2"]);
    expect(encodeActivationCode(activation).split("\n").map(canonicalizeCode)).toEqual([
      strong.slice(0, 20),
      strong.slice(20),
    ]);
  });

  test("contains the appliance id in its usual form", () => {
    expect(canonicalizeCode(encodeActivationCode(activation)).slice(1, 17)).toBe(
      activation.appliance,
    );
  });

  test.each([0, 3, 4, 16, 31])(
    "of kind %d is refused, although its check symbols are correct",
    (kind) => {
      const bytes = Buffer.alloc(21);
      bytes[0] = kind << 3;
      const decoded = decodeActivationCode(encodeCode(bytes, ACTIVATION_BITS));
      expect(decoded).toEqual({ ok: false, fault: { wrong: "row", row: 1 } });
    },
  );

  test("is not created for an invalid appliance id", () => {
    for (const appliance of ["", "0123", "0123456789ABCDEU", "0123456789ABCDEF0"]) {
      expect(() => encodeActivationCode({ ...activation, appliance })).toThrow("16 symbols");
    }
  });

  test("is read with any dashes, spaces and case, and with o and l for 0 and 1", () => {
    const typed = encodeActivationCode(activation).toLowerCase().replaceAll("-", " – ");
    expect(decodeActivationCode(typed.replaceAll("0", "o").replaceAll("1", "l"))).toEqual({
      ok: true,
      value: activation,
    });
  });
});

describe.each([
  ["activation", encodeActivationCode(activation), (code: string) => decodeActivationCode(code).ok],
  ["confirmation", CODE, (code: string) => decodeConfirmationCode(code).ok],
] as const)("the %s code", (_, code, isAccepted) => {
  const plain = canonicalizeCode(code);

  test("is refused with any single wrong symbol", () => {
    expect(isAccepted(plain)).toBe(true);
    for (let at = 0; at < plain.length; at += 1) {
      const accepted = Array.from(SYMBOLS).filter((symbol) =>
        isAccepted(replaceAt(plain, at, symbol)),
      );
      expect(accepted).toEqual([plain.charAt(at)]);
    }
  });

  test("is refused with any two adjacent symbols swapped", () => {
    for (let at = 0; at + 1 < plain.length; at += 1) {
      const [a, b] = [plain.charAt(at), plain.charAt(at + 1)];
      expect(isAccepted(replaceAt(plain, at, b + a))).toBe(a === b);
    }
  });

  test("is refused with more or fewer symbols, and so is random text", () => {
    expect([`${plain}0`, plain.slice(1), plain.slice(0, -1), ""].filter(isAccepted)).toEqual([]);
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        expect(isAccepted(text)).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a confirmation code", () => {
  test("has 115 symbols and is valid for its claims", async () => {
    expect(canonicalizeCode(CODE)).toHaveLength(115);
    expect(await isValid(claims, CODE)).toBe(true);
  });

  test("contains its end and its serial", async () => {
    const decodeTail = async (validUntil: Instant | null, serial: number) => {
      const { bytes: _bytes, ...tail } = decode(
        await signConfirmationCode(claims, { validUntil, serial }, KEY),
      );
      return tail;
    };
    expect(await decodeTail(END, 7)).toEqual({ validUntil: END, serial: 7 });
    expect(await decodeTail(null, 1)).toEqual({ validUntil: null, serial: 1 });
    const last = instant(65_535 * DAY);
    expect(await decodeTail(last, 65_535)).toEqual({ validUntil: last, serial: 65_535 });
  });

  test("is not created for an end or a serial that does not fit into its four bytes", () => {
    const sign = (validUntil: Instant | null, serial: number) =>
      signConfirmationCode(claims, { validUntil, serial }, KEY);
    expect(sign(instant(65_536 * DAY), 1)).rejects.toThrow();
    // An end must be a whole day, and an invalid end must never become "no end".
    expect(sign(instant(END + DAY - 1), 7)).rejects.toThrow();
    expect(sign(instant(0), 1)).rejects.toThrow();
    expect(sign(instant(Number.NaN), 1)).rejects.toThrow();
    expect(sign(null, 65_536)).rejects.toThrow();
    expect(sign(null, -1)).rejects.toThrow();
  });

  test("gives the same 68 bytes however it was typed", () => {
    const { bytes } = decode(CODE);
    expect(bytes).toMatch(/^[\da-f]{136}$/);
    expect(decode(CODE.toLowerCase().replaceAll(/[-\n]/g, "  ")).bytes).toBe(bytes);
  });

  test("is invalid with another key", async () => {
    expect(await isValid(claims, CODE, OTHER_KEY)).toBe(false);
    const forged = await signConfirmationCode(claims, { validUntil: END, serial: 7 }, OTHER_KEY);
    expect(await isValid(claims, forged)).toBe(false);
  });
});

describe("the signature of a confirmation code covers", () => {
  const withActivation = (differing: Partial<ActivationCode>): ConfirmationClaims => ({
    ...claims,
    activation: { ...activation, ...differing },
  });

  test.each<[string, ConfirmationClaims]>([
    ["the kind of the activation", withActivation({ weak: true })],
    ["the appliance", withActivation({ appliance: "0123456789ABCDEG" })],
    ["the nonce", withActivation({ nonce: "00ff10a5c4" })],
    ["the hardware", withActivation({ hardwarePrefix: "deadbeef00" })],
    [
      "the order of nonce and hardware",
      withActivation({ nonce: "deadbeef01", hardwarePrefix: "00ff10a5c3" }),
    ],
    ["the license key", { ...claims, licenseKey: "ABCD-1235" }],
    ["the license key's case", { ...claims, licenseKey: "abcd-1234" }],
    ["the policy", { ...claims, policyHash: sha256("another policy") }],
    ["the initialization code", { ...claims, initializationCode: "7K2MX-00111" }],
    ["whether there is an initialization code", { ...claims, initializationCode: "" }],
  ])("%s", async (_, differing) => {
    expect(await isValid(differing, CODE)).toBe(false);
  });

  test("each bit of the end and the serial", async () => {
    for (let bit = 0; bit < 32; bit += 1) {
      const bytes = bytesOf(CODE);
      const at = 64 + (bit >> 3);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
      expect(await isValid(claims, encodeCode(bytes, CONFIRMATION_BITS))).toBe(false);
    }
  });

  test("the length of each item, so that no character can move to the next one", async () => {
    const adjacent = { ...claims, licenseKey: "AB", initializationCode: "CD" };
    const code = await signConfirmationCode(adjacent, { validUntil: null, serial: 1 }, KEY);
    expect(await isValid({ ...adjacent, licenseKey: "ABC", initializationCode: "D" }, code)).toBe(
      false,
    );
    expect(await isValid(adjacent, code)).toBe(true);
  });

  test("the license key and initialization code independent of their spelling", async () => {
    const nfc = { ...claims, licenseKey: "SCHLÜSSEL".normalize("NFC") };
    const code = await signConfirmationCode(nfc, { validUntil: null, serial: 1 }, KEY);
    const nfd = nfc.licenseKey.normalize("NFD");
    const spelled = { ...nfc, licenseKey: nfd, initializationCode: " 7k2mx ooiio\n" };
    expect(await isValid(spelled, code)).toBe(true);
  });
});

describe("a forged confirmation code is refused", () => {
  test("with bits changed and correct check symbols", async () => {
    const edit = fc.tuple(fc.nat({ max: CONFIRMATION_BITS - 1 }), fc.boolean());
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 12 }), async (edits) => {
        const bytes = bytesOf(CODE);
        for (const [bit, value] of edits) {
          const mask = 0x80 >> (bit & 7);
          const old = bytes[bit >> 3] ?? 0;
          bytes[bit >> 3] = value ? old | mask : old & ~mask;
        }
        const isUnchanged = bytes.equals(bytesOf(CODE));
        const code = encodeCode(bytes, CONFIRMATION_BITS);
        expect(await isValid(claims, code)).toBe(isUnchanged);
      }),
      { numRuns: 3_000 },
    );
  });

  test("with random bytes", async () => {
    const any = fc.uint8Array({ minLength: 68, maxLength: 68 });
    await fc.assert(
      fc.asyncProperty(any, async (bytes) => {
        const code = encodeCode(new Uint8Array(bytes), CONFIRMATION_BITS);
        expect(await isValid(claims, code)).toBe(false);
      }),
      { numRuns: 1_000 },
    );
  });

  test("with the group order added to the second half of the signature", async () => {
    const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
    const bytes = bytesOf(CODE);
    const little = Buffer.from(bytes.subarray(32, 64).toReversed()).toString("hex");
    const more = (BigInt(`0x${little}`) + ORDER).toString(16).padStart(64, "0");
    bytes.set(Buffer.from(more, "hex").toReversed(), 32);
    expect(await isValid(claims, encodeCode(bytes, CONFIRMATION_BITS))).toBe(false);
  });
});
