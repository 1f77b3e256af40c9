import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { decodeBase45, encodeBase45 } from "../../../src/license/qr/base45.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";
const anyBytes = fc.uint8Array({ maxLength: 300 });

describe("Base45 with the vectors of RFC 9285", () => {
  test.each([
    ["", ""],
    ["AB", "BB8"],
    ["Hello!!", "%69 VD92EX0"],
    ["base-45", "UJCLQE7W581"],
    ["ietf!", "QED8WEX0"],
  ])("encodes %p as %p and decodes it", (plain, coded) => {
    expect(encodeBase45(bytes(plain))).toBe(coded);
    expect(decodeBase45(coded)).toEqual(new Uint8Array(bytes(plain)));
  });
});

describe("Base45 at its limits", () => {
  test("uses the digits in the order of the QR standard", () => {
    for (let digit = 0; digit < 45; digit += 1) {
      expect(encodeBase45(new Uint8Array([digit]))).toBe(`${ALPHABET[digit]}0`);
    }
  });

  test.each([
    [[0], "00"],
    [[255], "U5"],
    [[0, 0], "000"],
    [[255, 255], "FGW"],
    [[255, 255, 255], "FGWU5"],
  ])("encodes %p as %p and decodes it", (plain, coded) => {
    expect(encodeBase45(new Uint8Array(plain))).toBe(coded);
    expect(decodeBase45(coded)).toEqual(new Uint8Array(plain));
  });
});

describe("decodeBase45 refuses", () => {
  test.each([
    ["a triple above two bytes", "GGW"],
    ["the highest triple", ":::"],
    ["a last pair above one byte", "V5"],
    ["the highest pair", "::"],
    ["one character", "0"],
    ["one character too many", "BB80"],
    ["a lower-case letter", "bb8"],
    ["a character outside the alphabet", "BB_"],
    ["a line break at the end", "BB8\n"],
    ["a wide character", "BB8😀"],
    ["a lone surrogate", "BB\ud83d"],
  ])("%s", (_, coded) => {
    expect(decodeBase45(coded)).toBeNull();
  });
});

test("decodeBase45 restores any encoded bytes", () => {
  fc.assert(
    fc.property(anyBytes, (plain) => {
      expect(decodeBase45(encodeBase45(plain))).toEqual(new Uint8Array(plain));
    }),
  );
});

test("encodeBase45 writes 3 characters for 2 bytes and 2 for a last one, all alphanumeric in QR", () => {
  fc.assert(
    fc.property(anyBytes, (plain) => {
      const coded = encodeBase45(plain);
      expect(coded).toHaveLength(Math.ceil(plain.length * 1.5));
      expect(coded).toMatch(/^[0-9A-Z $%*+\-./:]*$/);
    }),
  );
});

test("decodeBase45 accepts only one encoding of any bytes", () => {
  const unit = fc.constantFrom(...Array.from(ALPHABET));
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 30 }), (coded) => {
      const plain = decodeBase45(coded);
      if (plain !== null) expect(encodeBase45(plain)).toBe(coded);
    }),
  );
});
