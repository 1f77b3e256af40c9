import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import * as fc from "fast-check";
import { decodeQR } from "qr/decode.js";
import { encodeBase45 } from "../../src/license/base45.ts";
import { encodeCode, encodeCrockford } from "../../src/license/code.ts";
import {
  splitIntoFrames,
  joinFrames,
  MAX_TEXT_BYTES,
  renderQrSvg,
  renderQrForTerminal,
} from "../../src/license/qr.ts";

const bytesFrom = (seed: string, length: number): Buffer =>
  createHash("shake256", { outputLength: length }).update(seed).digest();

const activation = encodeCode(bytesFrom("activation", 21), 165);
const confirmation = encodeCode(bytesFrom("confirmation", 68), 544);
const initialization = encodeCode(bytesFrom("initialization", 12), 95);
const time = encodeCode(bytesFrom("time", 16), 125);
const small = '{"product":"cad","sites":["Zürich","東京"]}';
/** What a signed document looks like: Base64url, which deflate can only take back to its bytes. */
const large = bytesFrom("document", 15_000).toString("base64url");

/** One frame, as somebody else might make it. */
const forged = (deflated: Uint8Array, plain: Uint8Array): string => {
  const id = encodeCrockford(createHash("sha256").update(plain).digest(), 80);
  return framed(id, encodeBase45(deflated));
};

/** The only frame of a text, with the length and the check its part needs. */
const framed = (id: string, part: string): string => {
  const covered = `BERTH2 1/1 ${id} ${part.length} ${part}`;
  const check = encodeCrockford(createHash("sha256").update(covered).digest(), 40);
  return `BERTH2 1/1 ${id} ${part.length} ${check} ${part}/`;
};

/** All frames of a text were there, and nothing else. */
const read = (text: string) => ({ ok: true, value: { text, foreign: [] } }) as const;

describe("what goes into QR codes", () => {
  test.each([activation, confirmation, initialization, time])("a code as it is: %p", (code) => {
    expect(splitIntoFrames(code)).toEqual([code]);
  });

  test("a text in one frame", () => {
    expect(splitIntoFrames(small)).toHaveLength(1);
    expect(splitIntoFrames(small)[0]).toMatch(
      /^BERTH2 1\/1 [0-9A-Z]{16} \d+ [0-9A-Z]{8} [0-9A-Z $%*+\-./:]+\/$/,
    );
  });

  test("20,000 characters in frames of one text, numbered, of one length, none above 1,000", () => {
    const frames = splitIntoFrames(large);
    expect(large).toHaveLength(20_000);
    expect(frames.length).toBeGreaterThan(20);
    expect(new Set(frames.map((frame) => frame.split(" ")[2])).size).toBe(1);
    expect(frames.map((frame) => frame.split(" ")[1])).toEqual(
      frames.map((_, index) => `${index + 1}/${frames.length}`),
    );
    const lengths = frames.map(({ length }) => length);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(1_000);
    expect(Math.min(...lengths)).toBeGreaterThan(900);
  });

  test.each([
    ["nothing", ""],
    ["a space in front", " ABC"],
    ["a line break behind", "ABC\n"],
    ["what could be taken for a frame", "BERTH2 1/1"],
    ["what looks like a frame", "BERTH2 1/1 0123456789ABCDEF 3 01234567 000/"],
    ["a code with a wrong row", activation.replace(/.$/, (last) => (last === "0" ? "1" : "0"))],
    ["a row of a code", activation.split("\n")[1] ?? ""],
    ["small letters", "abc"],
    ["more than a code has", "A".repeat(201)],
  ])("%s in a frame, and so unharmed", (_, text) => {
    expect(splitIntoFrames(text)[0]).toStartWith("BERTH2 1/1 ");
    expect(joinFrames(splitIntoFrames(text))).toEqual(read(text));
  });

  test("64 KiB and not a byte more, whatever the alphabet", () => {
    const most = bytesFrom("most", MAX_TEXT_BYTES / 2).toString("hex");
    const frames = splitIntoFrames(most);
    expect(Math.max(...frames.map(({ length }) => length))).toBeLessThanOrEqual(1_000);
    expect(joinFrames(frames)).toEqual(read(most));
    expect(() => splitIntoFrames(`${most}x`)).toThrow("more than 65536 bytes");
    expect(() => splitIntoFrames("é".repeat(MAX_TEXT_BYTES / 2 + 1))).toThrow(
      "more than 65536 bytes",
    );
  });
});

describe("frames read back", () => {
  const [first = "", second = "", third = "", ...others] = splitIntoFrames(large);
  const all = [first, second, third, ...others];
  const of = all.length;

  test("in any order, any of them again, with white space around them: any text", () => {
    const unit = fc.constantFrom("grapheme" as const, "binary" as const);
    const text = unit.chain((one) => fc.string({ unit: one, maxLength: 3_000, size: "max" }));
    const shuffled = text.chain((whole) => {
      const frames = splitIntoFrames(whole);
      return fc
        .shuffledSubarray([...frames, ...frames], { minLength: frames.length * 2 })
        .map((mixed) => ({ whole, mixed: mixed.map((frame) => `\n ${frame} \r\n`) }));
    });
    fc.assert(
      fc.property(shuffled, ({ whole, mixed }) => {
        expect(joinFrames(mixed)).toEqual(read(whole));
      }),
      { numRuns: 40 },
    );
  });

  test.each([activation, confirmation])("a code, once or twice: %p", (code) => {
    expect(joinFrames([code])).toEqual(read(code));
    expect(joinFrames([code, `${code}\n`])).toEqual(read(code));
  });

  test("with a byte order mark, which is part of the text", () => {
    expect(joinFrames(splitIntoFrames("\ufeffabc"))).toEqual(read("\ufeffabc"));
  });

  test.each([
    ["empty", ""],
    ["prose", "hello"],
    ["numbered zero", second.replace(" 2/", " 0/")],
    ["numbered beyond the last", second.replace(" 2/", ` ${of + 1}/`)],
    ["numbered in two ways", second.replace(" 2/", " 02/")],
    ["one of a thousand", second.replace(/\/\d+ /, "/1000 ")],
    ["in small letters", second.toLowerCase()],
    ["a long text that is not a code", "A".repeat(201)],
  ])("not a frame, and which: %s", (_, text) => {
    expect(joinFrames([first, text])).toEqual({ ok: false, fault: { wrong: "frame", at: 2 } });
  });

  test.each([
    ["with a short identifier", second.replace(/ [0-9A-Z]{16} /, " 0123 "), { wrong: "misread" }],
    ["without its end mark", second.slice(0, -1), { wrong: "short", by: 1 }],
    ["with more than its part", second.replace(/\/$/, "000/"), { wrong: "long", by: 3 }],
    ["without a length", second.replace(/ \d{3} /, " "), { wrong: "misread" }],
    ["with another number", second.replace(" 2/", " 3/"), { wrong: "misread", number: 3 }],
    [
      "with another count",
      second.replace(`/${of} `, `/${of + 1} `),
      { wrong: "misread", of: of + 1 },
    ],
    ["with another end mark", second.replace(/\/$/, "."), { wrong: "misread" }],
  ])("a frame %s, and which", (_, text, fault) => {
    const joined = joinFrames([first, text]);
    expect(joined.ok ? null : joined.fault).toMatchObject({ at: 2, number: 2, of, ...fault });
  });

  test("a frame of another version, and which", () => {
    const old = second.replace("BERTH2", "BERTH1");
    expect(joinFrames([first, old])).toEqual({
      ok: false,
      fault: { wrong: "form", at: 2, form: "BERTH1" },
    });
  });

  test.each([
    ["frames of two texts", [first, ...splitIntoFrames(small)]],
    ["a frame and a code", [first, activation]],
    ["two codes", [activation, confirmation]],
  ])("mixed: %s", (_, frames) => {
    expect(joinFrames(frames)).toEqual({ ok: false, fault: { wrong: "mixed" } });
  });

  test("a misread frame that is there again well read does not matter", () => {
    const misread = second.replace(" 2/", " 3/");
    expect(joinFrames([misread, ...all])).toEqual(read(large));
    expect(joinFrames([second.slice(0, -1), ...all])).toEqual(read(large));
  });

  test("a misread frame that is there again does not hide which one is missing", () => {
    const [, ...rest] = all;
    const fault = { wrong: "missing", frames: [1], of } as const;
    expect(joinFrames([second.slice(0, -1), ...rest])).toEqual({ ok: false, fault });
  });

  test("foreign lines beside all frames are counted, and refused beside a plain code", () => {
    const value = { text: large, foreign: [1, all.length + 2] };
    expect(joinFrames(["hello", ...all, "bye"])).toEqual({ ok: true, value });
    expect(joinFrames([activation, "hello"])).toEqual({
      ok: false,
      fault: { wrong: "frame", at: 2 },
    });
  });

  test("missing, and which", () => {
    const missing = (frames: readonly number[], of: number) =>
      ({ ok: false, fault: { wrong: "missing", frames, of } }) as const;
    expect(joinFrames([second, ...others])).toEqual(missing([1, 3], of));
    expect(joinFrames(all.slice(0, -1))).toEqual(missing([of], of));
    expect(joinFrames([])).toEqual({ ok: false, fault: { wrong: "none" } });
  });

  test("misread, wherever one character after the numbers is another", () => {
    const [frame = ""] = splitIntoFrames(small);
    for (let at = "BERTH2 1/1 ".length; at < frame.length - 1; at += 1) {
      const other = frame[at] === "7" ? "8" : "7";
      const broken = frame.slice(0, at) + other + frame.slice(at + 1);
      const joined = joinFrames([broken]);
      // A digit of the length makes it too short or too long.
      const isLength = /^BERTH2 1\/1 .{16} \d*$/.test(frame.slice(0, at)) && frame[at] !== " ";
      const wrong = isLength ? /^(?:short|long)$/ : /^misread$/;
      expect(joined.ok ? "read" : joined.fault.wrong).toMatch(wrong);
      if (!joined.ok) expect(joined.fault).toMatchObject({ at: 1, number: 1, of: 1 });
    }
  });

  test.each([
    ["a character that is not Base45", [framed("0123456789ABCDEF", "00_")]],
    ["cut before it was framed", [framed("0123456789ABCDEF", "0")]],
    [
      "one number with other contents",
      [framed("0123456789ABCDEF", "0"), framed("0123456789ABCDEF", "1")],
    ],
    ["not UTF-8", [forged(deflateRawSync(Buffer.of(0xff)), Buffer.of(0xff))]],
    ["of another text", [forged(deflateRawSync(Buffer.from("a")), Buffer.from("b"))]],
  ])("damaged: %s", (_, frames) => {
    expect(joinFrames(frames)).toEqual({ ok: false, fault: { wrong: "damaged" } });
  });

  test("never inflated past 64 KiB", () => {
    const zeros = (length: number): string => {
      const plain = Buffer.alloc(length, "0");
      return forged(deflateRawSync(plain, { level: 9 }), plain);
    };
    expect(joinFrames([zeros(MAX_TEXT_BYTES)])).toEqual(read("0".repeat(MAX_TEXT_BYTES)));
    const tooLarge = { ok: false, fault: { wrong: "size" } } as const;
    expect(joinFrames([zeros(MAX_TEXT_BYTES + 1)])).toEqual(tooLarge);
    expect(joinFrames([zeros(600_000)])).toEqual(tooLarge);
  });
});

/** Whatever was drawn, as a camera gets it: pixels, several to a module. */
function scan(dark: readonly (readonly boolean[])[]): string {
  const scale = 4;
  const width = (dark[0]?.length ?? 0) * scale;
  const height = dark.length * scale;
  const data = new Uint8Array(width * height * 4).fill(255);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const shade = dark[Math.floor(y / scale)]?.[Math.floor(x / scale)] ? 0 : 255;
      data.fill(shade, (y * width + x) * 4, (y * width + x) * 4 + 3);
    }
  }
  return decodeQR({ width, height, data });
}

/** White on black: what a glyph covers is light. */
function fromTerminal(text: string): boolean[][] {
  return text.split("\n").flatMap((line) => {
    // oxlint-disable-next-line no-control-regex
    const [, glyphs = ""] = /^\u001b\[40;37;1m([ ▀▄█]+)\u001b\[0m$/.exec(line) ?? [];
    return ["▀█", "▄█"].map((light) => Array.from(glyphs).map((glyph) => !light.includes(glyph)));
  });
}

function fromSvg(svg: string): boolean[][] {
  const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? [];
  const dark = Array.from({ length: Number(height) }, () =>
    Array.from({ length: Number(width) }, () => false),
  );
  for (const [, x, y, run] of svg.matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g)) {
    dark[Number(y)]?.fill(true, Number(x), Number(x) + Number(run));
  }
  return dark;
}

describe.each([
  ["in a terminal", (frame: string) => fromTerminal(renderQrForTerminal(frame))],
  ["as SVG", (frame: string) => fromSvg(renderQrSvg(frame))],
])("%s", (_, drawn) => {
  test.each([activation, confirmation, ...splitIntoFrames(small)])("a camera reads %p", (frame) => {
    expect(scan(drawn(frame))).toBe(frame);
  });

  test("a camera reads 20,000 characters, whichever code it sees first", () => {
    const frames = splitIntoFrames(large);
    const orders = fc.shuffledSubarray(frames, { minLength: frames.length });
    const seen = fc.sample(orders, { numRuns: 1, seed: 20 }).flat();
    expect(seen).not.toEqual(frames);
    const texts = seen.map((frame) => scan(drawn(frame)));
    expect(texts).toEqual(seen);
    expect(joinFrames(texts)).toEqual(read(large));
  });

  test("four light modules lie around it", () => {
    const dark = drawn(activation);
    const columns = dark.flatMap((row) => row.flatMap((one, x) => (one ? [x] : [])));
    const rows = dark.flatMap((row, y) => (row.includes(true) ? [y] : []));
    const width = dark[0]?.length ?? 0;
    expect([Math.min(...columns), Math.min(...rows), width - Math.max(...columns)]).toEqual([
      4, 4, 5,
    ]);
    expect(dark.length - Math.max(...rows)).toBeGreaterThanOrEqual(5);
  });
});

test("an SVG says what it is, and carries nothing a strict policy refuses", () => {
  expect(renderQrSvg(activation)).toContain("<title>QR code</title>");
  expect(renderQrSvg(splitIntoFrames(large)[2] ?? "")).toMatch(/<title>QR code 3 of \d+<\/title>/);
  expect(renderQrSvg(activation)).toMatch(
    /^<svg xmlns="[^"]+" viewBox="[\d ]+" role="img" shape-rendering="crispEdges"><title>[^<]+<\/title><rect width="\d+" height="\d+" fill="#fff"\/><path fill="#000" d="[Mhvz\d -]+"\/><\/svg>$/,
  );
});
