import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { prefixCodeKind } from "../../../src/license/codes/code-kinds.ts";
import { canonicalizeCode, encodeCode, groupSymbols } from "../../../src/license/codes/code.ts";
import {
  canonicalizeLicenseKey,
  generateOrderKey,
  isOrderKey,
} from "../../../src/license/codes/order-key.ts";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const BITS = 93;
const KIND = 23;
const ZEROS = "Q0000-00000-00000-00007";

const encodeKind = (kind: number, random: Uint8Array, bits = BITS): string =>
  encodeCode(prefixCodeKind(kind, random), bits);
const randomBytes = fc.uint8Array({ minLength: 11, maxLength: 11 });
const orderKey = randomBytes.map((random) => encodeKind(KIND, random));
const sampleKeys = fc.sample(orderKey, { numRuns: 5, seed: 45 });
const expectUnchanged = (text: string): void => {
  expect([canonicalizeLicenseKey(text), isOrderKey(text)]).toEqual([text, false]);
};

/** What a person may type for a symbol. */
const spellingsOf = (symbol: string): string[] => [
  symbol,
  symbol.toLowerCase(),
  ...({ "0": ["O", "o"], "1": ["I", "i", "L", "l"], K: ["\u212a"] }[symbol] ?? []),
];
const separator = fc.constantFrom(
  "",
  "",
  "-",
  " ",
  "\u2013",
  "\u2212",
  "\u00a0",
  "\t",
  "\r\n",
  "\u00ad",
);
const spelledKey = orderKey.chain((key) =>
  fc
    .tuple(
      ...Array.from(canonicalizeCode(key), (symbol) =>
        fc.tuple(fc.constantFrom(...spellingsOf(symbol)), separator),
      ),
    )
    .map((parts) => ({ key, spelling: parts.flat().join("") })),
);

describe("generateOrderKey", () => {
  test("makes four groups of five symbols that begin with Q, different each time", () => {
    const keys = Array.from({ length: 500 }, generateOrderKey);
    for (const key of keys) {
      expect(key).toMatch(/^Q[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{5}){3}$/);
      expect([canonicalizeLicenseKey(key), isOrderKey(key)]).toEqual([key, true]);
    }
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("draws each of the 88 bits after the kind", () => {
    const keys = Array.from({ length: 500 }, () => canonicalizeCode(generateOrderKey()));
    const valuesAt = (index: number): number => new Set(keys.map((key) => key.charAt(index))).size;
    expect(Array.from({ length: 17 }, (_, index) => valuesAt(index + 1))).toEqual(
      Array.from({ length: 17 }, () => 32),
    );
    expect(new Set(keys.map((key) => key.charAt(18)))).toEqual(new Set("048CGMRW"));
  });
});

describe("canonicalizeLicenseKey", () => {
  test("returns the key whose bits are in FORMATS.md", () => {
    const random = Buffer.from("0102b58a4e1f93c6700844", "hex");
    expect(encodeKind(KIND, random)).toBe("Q041B-B2JE3-Y9WCW-088GG");
    expect(canonicalizeLicenseKey("q041bb2je3y9wcw088gg")).toBe("Q041B-B2JE3-Y9WCW-088GG");
  });

  test("returns upper case with dashes for every spelling of a key that a desk made", () => {
    fc.assert(
      fc.property(spelledKey, ({ key, spelling }) => {
        expect([canonicalizeLicenseKey(spelling), isOrderKey(spelling)]).toEqual([key, true]);
      }),
    );
  });

  test.each([
    ["lower case", "q0000-00000-00000-00007"],
    ["no dashes", "Q0000000000000000007"],
    ["the letter O", "QOOOO-ooooo-OOOOO-oooo7"],
    ["spaces and dashes of a word processor", " q0000 00000 \u2013 00000\u00a000007\n"],
  ])("reads a key with %s", (_, text) => {
    expect(canonicalizeLicenseKey(text)).toBe(ZEROS);
  });

  test("leaves a key with any one wrong symbol unchanged", () => {
    for (const key of sampleKeys) {
      for (let at = 0; at < key.length; at += 1) {
        if (key.charAt(at) === "-") continue;
        for (const symbol of `${ALPHABET}U_É`.replace(key.charAt(at), "")) {
          const text = key.slice(0, at) + symbol + key.slice(at + 1);
          expectUnchanged(text);
          expectUnchanged(text.toLowerCase());
        }
      }
    }
  });

  test("leaves a key with any two swapped adjacent symbols unchanged", () => {
    for (const symbols of sampleKeys.map(canonicalizeCode)) {
      for (let at = 0; at + 1 < symbols.length; at += 1) {
        const [a, b] = [symbols.charAt(at), symbols.charAt(at + 1)];
        if (a === b) continue;
        expectUnchanged(groupSymbols(symbols.slice(0, at) + b + a + symbols.slice(at + 2)));
      }
    }
  });

  test("leaves a key with a missing or an extra symbol unchanged", () => {
    for (const symbols of sampleKeys.map(canonicalizeCode)) {
      for (let at = 0; at < symbols.length; at += 1) {
        expectUnchanged(symbols.slice(0, at) + symbols.slice(at + 1));
        expectUnchanged(symbols.slice(0, at) + symbols.charAt(at) + symbols.slice(at));
      }
    }
  });

  test("leaves codes of every other kind unchanged", () => {
    fc.assert(
      fc.property(fc.nat(31), randomBytes, (kind, random) => {
        const code = encodeKind(kind, random).toLowerCase();
        expect(isOrderKey(code)).toBe(kind === KIND);
        if (kind !== KIND) expect(canonicalizeLicenseKey(code)).toBe(code);
      }),
    );
  });

  test("leaves an initialization code unchanged unless its last two bits are zero", () => {
    for (const lastBits of [0b010, 0b100, 0b110]) {
      const bytes = prefixCodeKind(KIND, new Uint8Array(11)).with(11, lastBits);
      expectUnchanged(encodeCode(bytes, 95).toLowerCase());
    }
  });

  test("leaves other keys unchanged", () => {
    const keys = [
      "",
      "Q",
      "ABCD-1234",
      "abcde fghij",
      "4500123456",
      "ＱＯＯＯＯ-00000-00000-00007",
    ];
    keys.push("Q٠٠٠٠-00000-00000-00007", "Q0000_00000_00000_00007", "Q0000-00000-00000-00007.");
    keys.push("Q\ud800000-00000-00000-00007", "e\u0301t\u00e9");
    keys.forEach(expectUnchanged);
    const alphanumeric = fc.stringMatching(/^[0-9A-HJKMNP-TV-Zabcilo_ -]*$/);
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), alphanumeric), (text) => {
        expectUnchanged(text.replace(/^\s*q/iu, "P"));
      }),
    );
  });

  test("is idempotent", () => {
    const text = fc.oneof(
      spelledKey.map(({ spelling }) => spelling),
      fc.string({ unit: "binary" }),
    );
    fc.assert(
      fc.property(text, (key) => {
        const once = canonicalizeLicenseKey(key);
        expect(canonicalizeLicenseKey(once)).toBe(once);
      }),
    );
  });
});
