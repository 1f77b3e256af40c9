import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { DAY, instant, type Instant } from "../../src/domain/time.ts";
import { canonicalizeCode, encodeCode, encodeCrockford } from "../../src/license/code.ts";
import {
  signConfirmationCode,
  decodeActivationCode,
  decodeConfirmationCode,
  encodeActivationCode,
  verifyConfirmationCode,
  type ActivationCode,
  type ConfirmationCode,
  type ConfirmationClaims,
} from "../../src/license/confirmation.ts";
import { generateKey } from "../../src/license/keys.ts";
import { sha256 } from "../../src/platform/hash.ts";
import { makeConfirmationCodeV1 } from "../support/confirmation-code-v1.ts";

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

const confirmed: ConfirmationClaims = {
  activation,
  licenseKey: "ABCD-1234",
  policyHash: sha256("a policy"),
  initializationCode: "7K2MX-00110",
};

const END = instant(20_500 * DAY);
const CODE = await signConfirmationCode(confirmed, { validUntil: END, serial: 7 }, KEY);

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

function read(code: string): ConfirmationCode {
  const decoded = decodeConfirmationCode(code);
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.fault));
  return decoded.value;
}

const bytesOf = (code: string): Buffer => Buffer.from(read(code).bytes, "hex");
const isGood = (of: ConfirmationClaims, code: string, key = KEY): Promise<boolean> =>
  verifyConfirmationCode(of, read(code), key);
const replaced = (code: string, at: number, by: string): string =>
  code.slice(0, at) + by + code.slice(at + by.length);

describe("an activation code", () => {
  test("gives back what went in, at any value and of either kind", () => {
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

  test("shows the appliance's id as it is written everywhere else", () => {
    expect(canonicalizeCode(encodeActivationCode(activation)).slice(1, 17)).toBe(
      activation.appliance,
    );
  });

  test.each([0, 3, 4, 16, 31])("of kind %d is refused, although its checks are right", (kind) => {
    const bytes = Buffer.alloc(21);
    bytes[0] = kind << 3;
    const decoded = decodeActivationCode(encodeCode(bytes, ACTIVATION_BITS));
    expect(decoded).toEqual({ ok: false, fault: { wrong: "row", row: 1 } });
  });

  test("of an appliance without an id is not made", () => {
    for (const appliance of ["", "0123", "0123456789ABCDEU", "0123456789ABCDEF0"]) {
      expect(() => encodeActivationCode({ ...activation, appliance })).toThrow("16 symbols");
    }
  });

  test("is read whatever dashes, spaces and case it was typed with", () => {
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
] as const)("of the %s code", (_, code, isRead) => {
  const plain = canonicalizeCode(code);

  test("every single wrong symbol is refused", () => {
    expect(isRead(plain)).toBe(true);
    for (let at = 0; at < plain.length; at += 1) {
      const taken = Array.from(SYMBOLS).filter((symbol) => isRead(replaced(plain, at, symbol)));
      expect(taken).toEqual([plain.charAt(at)]);
    }
  });

  test("every swap of two neighbours is refused", () => {
    for (let at = 0; at + 1 < plain.length; at += 1) {
      const [a, b] = [plain.charAt(at), plain.charAt(at + 1)];
      expect(isRead(replaced(plain, at, b + a))).toBe(a === b);
    }
  });

  test("neither more nor fewer symbols are read, nor any text at all", () => {
    expect([`${plain}0`, plain.slice(1), plain.slice(0, -1), ""].filter(isRead)).toEqual([]);
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        expect(isRead(text)).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a confirmation code", () => {
  test("has 115 symbols and confirms what it was made for", async () => {
    expect(canonicalizeCode(CODE)).toHaveLength(115);
    expect(await isGood(confirmed, CODE)).toBe(true);
  });

  test("says its end and its serial", async () => {
    const said = async (validUntil: Instant | null, serial: number) => {
      const { bytes: _bytes, ...tail } = read(
        await signConfirmationCode(confirmed, { validUntil, serial }, KEY),
      );
      return tail;
    };
    expect(await said(END, 7)).toEqual({ validUntil: END, serial: 7 });
    expect(await said(null, 1)).toEqual({ validUntil: null, serial: 1 });
    const last = instant(65_535 * DAY);
    expect(await said(last, 65_535)).toEqual({ validUntil: last, serial: 65_535 });
  });

  test("is not made with an end or a serial that its four bytes cannot say", () => {
    const made = (validUntil: Instant | null, serial: number) =>
      signConfirmationCode(confirmed, { validUntil, serial }, KEY);
    expect(made(instant(65_536 * DAY), 1)).rejects.toThrow();
    // An end is a day, and one that is not understood must never become "no end".
    expect(made(instant(END + DAY - 1), 7)).rejects.toThrow();
    expect(made(instant(0), 1)).rejects.toThrow();
    expect(made(instant(Number.NaN), 1)).rejects.toThrow();
    expect(made(null, 65_536)).rejects.toThrow();
    expect(made(null, -1)).rejects.toThrow();
  });

  test("is the same 68 bytes however it was typed", () => {
    const { bytes } = read(CODE);
    expect(bytes).toMatch(/^[\da-f]{136}$/);
    expect(read(CODE.toLowerCase().replaceAll(/[-\n]/g, "  ")).bytes).toBe(bytes);
  });

  test("of another key confirms nothing", async () => {
    expect(await isGood(confirmed, CODE, OTHER_KEY)).toBe(false);
    const forged = await signConfirmationCode(confirmed, { validUntil: END, serial: 7 }, OTHER_KEY);
    expect(await isGood(confirmed, forged)).toBe(false);
  });
});

describe("the signed list covers", () => {
  const other = (differing: Partial<ActivationCode>): ConfirmationClaims => ({
    ...confirmed,
    activation: { ...activation, ...differing },
  });

  test.each<[string, ConfirmationClaims]>([
    ["the kind of the activation", other({ weak: true })],
    ["the appliance", other({ appliance: "0123456789ABCDEG" })],
    ["the nonce", other({ nonce: "00ff10a5c4" })],
    ["the hardware", other({ hardwarePrefix: "deadbeef00" })],
    [
      "nonce and hardware, each in its place",
      other({ nonce: "deadbeef01", hardwarePrefix: "00ff10a5c3" }),
    ],
    ["the license key", { ...confirmed, licenseKey: "ABCD-1235" }],
    ["the license key's case", { ...confirmed, licenseKey: "abcd-1234" }],
    ["the policy", { ...confirmed, policyHash: sha256("another policy") }],
    ["the initialization code", { ...confirmed, initializationCode: "7K2MX-00111" }],
    ["that there is an initialization code", { ...confirmed, initializationCode: "" }],
  ])("%s", async (_, differing) => {
    expect(await isGood(differing, CODE)).toBe(false);
  });

  test("the end and the serial, each bit of the last four bytes", async () => {
    for (let bit = 0; bit < 32; bit += 1) {
      const bytes = bytesOf(CODE);
      const at = 64 + (bit >> 3);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
      expect(await isGood(confirmed, encodeCode(bytes, CONFIRMATION_BITS))).toBe(false);
    }
  });

  test("each item with its length: nothing moves from one to the next", async () => {
    const run = { ...confirmed, licenseKey: "AB", initializationCode: "CD" };
    const code = await signConfirmationCode(run, { validUntil: null, serial: 1 }, KEY);
    expect(await isGood({ ...run, licenseKey: "ABC", initializationCode: "D" }, code)).toBe(false);
    expect(await isGood(run, code)).toBe(true);
  });

  test("names and codes, not their spelling", async () => {
    const nfc = { ...confirmed, licenseKey: "SCHLÜSSEL".normalize("NFC") };
    const code = await signConfirmationCode(nfc, { validUntil: null, serial: 1 }, KEY);
    const nfd = nfc.licenseKey.normalize("NFD");
    const spelled = { ...nfc, licenseKey: nfd, initializationCode: " 7k2mx ooiio\n" };
    expect(await isGood(spelled, code)).toBe(true);
  });
});

describe("a confirmation code of version 1", () => {
  const code = makeConfirmationCodeV1({ ...confirmed, initializationCode: "" }, 7, KEY);
  const plain = { ...confirmed, initializationCode: "" };
  const isGoodAs = (of: ConfirmationClaims, version: 1 | 2): Promise<boolean> =>
    verifyConfirmationCode(of, read(code), KEY, version);

  test("is read as what it is, and not as one of today", async () => {
    expect([await isGoodAs(plain, 1), await isGoodAs(plain, 2)]).toEqual([true, false]);
    expect(await verifyConfirmationCode(plain, read(code), KEY)).toBe(false);
    expect(await verifyConfirmationCode(confirmed, read(CODE), KEY, 1)).toBe(false);
  });

  test("says nothing of the kind, and covers the rest", async () => {
    const as = (differing: Partial<ActivationCode>): ConfirmationClaims => ({
      ...plain,
      activation: { ...activation, ...differing },
    });
    expect(await isGoodAs(as({ weak: true }), 1)).toBe(true);
    expect(await isGoodAs(as({ nonce: "00ff10a5c4" }), 1)).toBe(false);
  });
});

describe("no code made up from a good one is accepted", () => {
  test("with symbols changed and every check put right again", async () => {
    const edit = fc.tuple(fc.nat({ max: CONFIRMATION_BITS - 1 }), fc.boolean());
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 12 }), async (edits) => {
        const bytes = bytesOf(CODE);
        for (const [bit, value] of edits) {
          const mask = 0x80 >> (bit & 7);
          const old = bytes[bit >> 3] ?? 0;
          bytes[bit >> 3] = value ? old | mask : old & ~mask;
        }
        const same = bytes.equals(bytesOf(CODE));
        const code = encodeCode(bytes, CONFIRMATION_BITS);
        expect(await isGood(confirmed, code)).toBe(same);
      }),
      { numRuns: 3_000 },
    );
  });

  test("nor of nothing but random bytes", async () => {
    const any = fc.uint8Array({ minLength: 68, maxLength: 68 });
    await fc.assert(
      fc.asyncProperty(any, async (bytes) => {
        const code = encodeCode(new Uint8Array(bytes), CONFIRMATION_BITS);
        expect(await isGood(confirmed, code)).toBe(false);
      }),
      { numRuns: 1_000 },
    );
  });

  test("nor with the group's order added to the signature's second half", async () => {
    const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
    const bytes = bytesOf(CODE);
    const little = Buffer.from(bytes.subarray(32, 64).toReversed()).toString("hex");
    const more = (BigInt(`0x${little}`) + ORDER).toString(16).padStart(64, "0");
    bytes.set(Buffer.from(more, "hex").toReversed(), 32);
    expect(await isGood(confirmed, encodeCode(bytes, CONFIRMATION_BITS))).toBe(false);
  });
});
