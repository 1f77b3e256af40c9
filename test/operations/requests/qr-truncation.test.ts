import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { splitIntoFrames } from "../../../src/license/qr/qr.ts";
import { describeFrameFault } from "../../../src/license/qr/frame-fault.ts";
import { joinQrCodes } from "../../../src/operations/requests/qr-codes.ts";

/** A text that deflate hardly compresses, so that it needs one or more frames. */
const text = fc
  .uint8Array({ minLength: 1, maxLength: 3_000, size: "max" })
  .map((bytes) => bytes.toBase64());

/** A frame of a text, by its index, and two different positions in it. */
const framePosition = text.chain((whole) => {
  const frames = splitIntoFrames(whole);
  return fc.nat(frames.length - 1).chain((index) => {
    const { length } = frames[index] ?? "";
    const positions = fc.uniqueArray(fc.integer({ min: 1, max: length - 1 }), {
      minLength: 2,
      maxLength: 2,
    });
    return positions.map((pair) => {
      const [from = 0, to = 0] = pair.toSorted((a, b) => a - b);
      return { frames, index, from, to };
    });
  });
});

const CUTS: readonly [string, (frame: string, from: number, to: number) => string][] = [
  ["at its end", (frame, from) => frame.slice(0, from)],
  ["at its start", (frame, from) => frame.slice(from)],
  ["in its middle", (frame, from, to) => frame.slice(0, from) + frame.slice(to)],
  ["at both ends", (frame, from, to) => frame.slice(from, to)],
  ["by one character at its end", (frame) => frame.slice(0, -1)],
  ["by one character at its start", (frame) => frame.slice(1)],
  ["by one character in its middle", (frame, from) => frame.slice(0, from) + frame.slice(from + 1)],
  ["in two by a line break", (frame, from) => `${frame.slice(0, from)}\n${frame.slice(from)}`],
];

function expectRefusalOf(read: string, number: number): void {
  const joined = joinQrCodes(read);
  expect(joined.ok).toBe(false);
  if (!joined.ok && read.trim() !== "") {
    expect(describeFrameFault(joined.fault.problem)).toMatch(
      new RegExp(`\\b(?:code|given as number) ${number}\\b`),
    );
  }
}

describe("joining QR codes", () => {
  test.each(CUTS)("refuses a code that was cut %s, and names its number", (_, cut) => {
    fc.assert(
      fc.property(framePosition, ({ frames, index, from, to }) => {
        const read = frames.with(index, cut(frames[index] ?? "", from, to)).join("\n");
        expectRefusalOf(read, index + 1);
      }),
      { numRuns: 120, seed: 45 },
    );
  });

  test.each(["", " ", "\t"])("refuses two codes on one line with %p between them", (between) => {
    fc.assert(
      fc.property(framePosition, ({ frames, index }) => {
        const [first = "", second = first] = frames.slice(index);
        const line = first + between + second;
        expectRefusalOf(frames.toSpliced(index, 2, line).join("\n"), index + 1);
      }),
      { numRuns: 60, seed: 46 },
    );
  });

  test("refuses every cut at the start or end of a short text's only code", () => {
    const [frame = ""] = splitIntoFrames('{"product":"cad","sites":["Zürich","東京"]}');
    for (let length = 1; length < frame.length; length += 1) {
      expectRefusalOf(frame.slice(0, length), 1);
      expectRefusalOf(frame.slice(length), 1);
    }
  });

  test.each([
    ["BERTH1 2/4 0123456789ABCDEF 000/", "has the format BERTH1 of another version of berth"],
    ["BERTH9 2/4 0123456789ABCDEF 3 01234567 000/", "has the format BERTH9"],
  ])("says that a code has the format of another version: %p", (code, reason) => {
    const frames = splitIntoFrames("x".repeat(300));
    const joined = joinQrCodes([...frames, code].join("\n"));
    expect(joined.ok).toBe(false);
    if (joined.ok) return;
    expect(describeFrameFault(joined.fault.problem)).toContain("code 2 of the input");
    expect(describeFrameFault(joined.fault.problem)).toContain(reason);
    expect(describeFrameFault(joined.fault.problem)).toContain("this version reads BERTH2");
  });

  test.each(["", " \n\r\n"])("says of %p that there are no codes in it", (read) => {
    const fault = { code: "invalid_qr_frames", problem: { wrong: "none" } } as const;
    expect(joinQrCodes(read)).toEqual({ ok: false, fault });
  });

  test("says that 1 character is missing, or too many, in the singular", () => {
    const [frame = ""] = splitIntoFrames("x".repeat(300));
    const reasonOf = (read: string) => {
      const joined = joinQrCodes(read);
      return joined.ok ? "" : describeFrameFault(joined.fault.problem);
    };
    expect(reasonOf(frame.slice(0, -1))).toBe("code 1 of 1 is incomplete: 1 character is missing");
    expect(reasonOf(frame.slice(0, -2))).toBe(
      "code 1 of 1 is incomplete: 2 characters are missing",
    );
    expect(reasonOf(frame.replace(/\/$/, "0/"))).toStartWith(
      "code 1 of 1 has 1 character too many:",
    );
  });

  test("lists foreign lines by their line number in the input, counting empty lines", () => {
    const text = "x".repeat(300);
    const read = ["", "hello", "", ...splitIntoFrames(text), "", "bye", ""].join("\n");
    expect(joinQrCodes(read)).toEqual({ ok: true, value: { text, foreignLines: [2, 6] } });
  });
});
