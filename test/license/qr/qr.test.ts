import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import * as fc from "fast-check";
import { decodeQR } from "qr/decode.js";
import { encodeBase45 } from "../../../src/license/qr/base45.ts";
import { encodeCode, encodeCrockford } from "../../../src/license/codes/code.ts";
import {
  splitIntoFrames,
  joinFrames,
  MAX_TEXT_BYTES,
  renderQrSvg,
  renderQrForTerminal,
} from "../../../src/license/qr/qr.ts";

const bytesFrom = (seed: string, length: number): Buffer =>
  createHash("shake256", { outputLength: length }).update(seed).digest();

const activation = encodeCode(bytesFrom("activation", 21), 165);
const confirmation = encodeCode(bytesFrom("confirmation", 68), 544);
const initialization = encodeCode(bytesFrom("initialization", 12), 95);
const time = encodeCode(bytesFrom("time", 16), 125);
const small = '{"product":"cad","sites":["Zürich","東京"]}';
/** Like a signed document: Base64url of random bytes, which deflate cannot compress further. */
const large = bytesFrom("document", 15_000).toString("base64url");

/** One frame that another program made. */
const forgeFrame = (deflated: Uint8Array, plain: Uint8Array): string => {
  const id = encodeCrockford(createHash("sha256").update(plain).digest(), 80);
  return makeFrame(id, encodeBase45(deflated));
};

/** The only frame of a text, with the right length and check. */
const makeFrame = (id: string, part: string): string => {
  const covered = `BERTH2 1/1 ${id} ${part.length} ${part}`;
  const check = encodeCrockford(createHash("sha256").update(covered).digest(), 40);
  return `BERTH2 1/1 ${id} ${part.length} ${check} ${part}/`;
};

/** The result if all frames of a text were present, and nothing else. */
const complete = (text: string) => ({ ok: true, value: { text, foreign: [] } }) as const;

describe("splitIntoFrames", () => {
  test.each([activation, confirmation, initialization, time])(
    "returns a code unchanged: %p",
    (code) => {
      expect(splitIntoFrames(code)).toEqual([code]);
    },
  );

  test("puts a short text into one frame", () => {
    expect(splitIntoFrames(small)).toHaveLength(1);
    expect(splitIntoFrames(small)[0]).toMatch(
      /^BERTH2 1\/1 [0-9A-Z]{16} \d+ [0-9A-Z]{8} [0-9A-Z $%*+\-./:]+\/$/,
    );
  });

  test("splits 20,000 characters into numbered frames of equal length, at most 1,000 each", () => {
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
    ["an empty text", ""],
    ["a leading space", " ABC"],
    ["a trailing line break", "ABC\n"],
    ["the beginning of a frame", "BERTH2 1/1"],
    ["a text that looks like a frame", "BERTH2 1/1 0123456789ABCDEF 3 01234567 000/"],
    ["a code with a wrong row", activation.replace(/.$/, (last) => (last === "0" ? "1" : "0"))],
    ["a single row of a code", activation.split("\n")[1] ?? ""],
    ["lower-case letters", "abc"],
    ["a text longer than any code", "A".repeat(201)],
  ])("puts %s into a frame, from which joinFrames restores it", (_, text) => {
    expect(splitIntoFrames(text)[0]).toStartWith("BERTH2 1/1 ");
    expect(joinFrames(splitIntoFrames(text))).toEqual(complete(text));
  });

  test("accepts 64 KiB and refuses one byte more", () => {
    const largest = bytesFrom("most", MAX_TEXT_BYTES / 2).toString("hex");
    const frames = splitIntoFrames(largest);
    expect(Math.max(...frames.map(({ length }) => length))).toBeLessThanOrEqual(1_000);
    expect(joinFrames(frames)).toEqual(complete(largest));
    expect(() => splitIntoFrames(`${largest}x`)).toThrow("more than 65536 bytes");
    expect(() => splitIntoFrames("é".repeat(MAX_TEXT_BYTES / 2 + 1))).toThrow(
      "more than 65536 bytes",
    );
  });
});

describe("joinFrames", () => {
  const [first = "", second = "", third = "", ...others] = splitIntoFrames(large);
  const all = [first, second, third, ...others];
  const of = all.length;

  test("restores any text from frames in any order, repeated and with white space around them", () => {
    const unit = fc.constantFrom("grapheme" as const, "binary" as const);
    const text = unit.chain((chosen) => fc.string({ unit: chosen, maxLength: 3_000, size: "max" }));
    const shuffled = text.chain((whole) => {
      const frames = splitIntoFrames(whole);
      return fc
        .shuffledSubarray([...frames, ...frames], { minLength: frames.length * 2 })
        .map((mixed) => ({ whole, mixed: mixed.map((frame) => `\n ${frame} \r\n`) }));
    });
    fc.assert(
      fc.property(shuffled, ({ whole, mixed }) => {
        expect(joinFrames(mixed)).toEqual(complete(whole));
      }),
      { numRuns: 40 },
    );
  });

  test.each([activation, confirmation])(
    "returns a code that is given once or twice: %p",
    (code) => {
      expect(joinFrames([code])).toEqual(complete(code));
      expect(joinFrames([code, `${code}\n`])).toEqual(complete(code));
    },
  );

  test("keeps a byte order mark as part of the text", () => {
    expect(joinFrames(splitIntoFrames("\ufeffabc"))).toEqual(complete("\ufeffabc"));
  });

  test.each([
    ["an empty text", ""],
    ["prose", "hello"],
    ["a frame numbered zero", second.replace(" 2/", " 0/")],
    ["a frame numbered beyond the last", second.replace(" 2/", ` ${of + 1}/`)],
    ["a frame with a leading zero in its number", second.replace(" 2/", " 02/")],
    ["a frame of a thousand", second.replace(/\/\d+ /, "/1000 ")],
    ["a frame in lower case", second.toLowerCase()],
    ["a long text that is not a code", "A".repeat(201)],
  ])("names the position of a text that is not a frame: %s", (_, text) => {
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
  ])("names the position and number of a frame %s", (_, text, fault) => {
    const joined = joinFrames([first, text]);
    expect(joined.ok ? null : joined.fault).toMatchObject({ at: 2, number: 2, of, ...fault });
  });

  test("names the position and version of a frame of another version", () => {
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
  ])("refuses a mix: %s", (_, frames) => {
    expect(joinFrames(frames)).toEqual({ ok: false, fault: { wrong: "mixed" } });
  });

  test("ignores a misread frame if a correct copy exists", () => {
    const misread = second.replace(" 2/", " 3/");
    expect(joinFrames([misread, ...all])).toEqual(complete(large));
    expect(joinFrames([second.slice(0, -1), ...all])).toEqual(complete(large));
  });

  test("names the missing frame even if another one was misread and has a correct copy", () => {
    const [, ...rest] = all;
    const fault = { wrong: "missing", frames: [1], of } as const;
    expect(joinFrames([second.slice(0, -1), ...rest])).toEqual({ ok: false, fault });
  });

  test("lists foreign lines beside all frames, and refuses them beside a code", () => {
    const value = { text: large, foreign: [1, all.length + 2] };
    expect(joinFrames(["hello", ...all, "bye"])).toEqual({ ok: true, value });
    expect(joinFrames([activation, "hello"])).toEqual({
      ok: false,
      fault: { wrong: "frame", at: 2 },
    });
  });

  test("names the missing frames", () => {
    const missing = (frames: readonly number[], of: number) =>
      ({ ok: false, fault: { wrong: "missing", frames, of } }) as const;
    expect(joinFrames([second, ...others])).toEqual(missing([1, 3], of));
    expect(joinFrames(all.slice(0, -1))).toEqual(missing([of], of));
    expect(joinFrames([])).toEqual({ ok: false, fault: { wrong: "none" } });
  });

  test("reports a misread frame if any one character after the numbers is wrong", () => {
    const [frame = ""] = splitIntoFrames(small);
    for (let at = "BERTH2 1/1 ".length; at < frame.length - 1; at += 1) {
      const other = frame[at] === "7" ? "8" : "7";
      const broken = frame.slice(0, at) + other + frame.slice(at + 1);
      const joined = joinFrames([broken]);
      // With a wrong digit in the length, the frame is too short or too long.
      const isLength = /^BERTH2 1\/1 .{16} \d*$/.test(frame.slice(0, at)) && frame[at] !== " ";
      const wrong = isLength ? /^(?:short|long)$/ : /^misread$/;
      expect(joined.ok ? "read" : joined.fault.wrong).toMatch(wrong);
      if (!joined.ok) expect(joined.fault).toMatchObject({ at: 1, number: 1, of: 1 });
    }
  });

  test.each([
    ["a character that is not Base45", [makeFrame("0123456789ABCDEF", "00_")]],
    ["a part that was cut before it was framed", [makeFrame("0123456789ABCDEF", "0")]],
    [
      "two frames with the same number and other contents",
      [makeFrame("0123456789ABCDEF", "0"), makeFrame("0123456789ABCDEF", "1")],
    ],
    ["a text that is not UTF-8", [forgeFrame(deflateRawSync(Buffer.of(0xff)), Buffer.of(0xff))]],
    [
      "the contents of another text",
      [forgeFrame(deflateRawSync(Buffer.from("a")), Buffer.from("b"))],
    ],
  ])("reports damage: %s", (_, frames) => {
    expect(joinFrames(frames)).toEqual({ ok: false, fault: { wrong: "damaged" } });
  });

  test("inflates 64 KiB and refuses one byte more", () => {
    const zeros = (length: number): string => {
      const plain = Buffer.alloc(length, "0");
      return forgeFrame(deflateRawSync(plain, { level: 9 }), plain);
    };
    expect(joinFrames([zeros(MAX_TEXT_BYTES)])).toEqual(complete("0".repeat(MAX_TEXT_BYTES)));
    const tooLarge = { ok: false, fault: { wrong: "size" } } as const;
    expect(joinFrames([zeros(MAX_TEXT_BYTES + 1)])).toEqual(tooLarge);
    expect(joinFrames([zeros(600_000)])).toEqual(tooLarge);
  });
});

/** Decodes a drawn code as a camera sees it: several pixels for each module. */
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

/** White on black: the part that a glyph covers is light. */
function modulesFromTerminal(text: string): boolean[][] {
  return text.split("\n").flatMap((line) => {
    // oxlint-disable-next-line no-control-regex
    const [, glyphs = ""] = /^\u001b\[40;37;1m([ ▀▄█]+)\u001b\[0m$/.exec(line) ?? [];
    return ["▀█", "▄█"].map((light) => Array.from(glyphs).map((glyph) => !light.includes(glyph)));
  });
}

function modulesFromSvg(svg: string): boolean[][] {
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
  ["a QR code in a terminal", (frame: string) => modulesFromTerminal(renderQrForTerminal(frame))],
  ["a QR code as SVG", (frame: string) => modulesFromSvg(renderQrSvg(frame))],
])("%s", (_, draw) => {
  test.each([activation, confirmation, ...splitIntoFrames(small)])(
    "can be scanned as %p",
    (frame) => {
      expect(scan(draw(frame))).toBe(frame);
    },
  );

  test("can be scanned in any order for a text of 20,000 characters", () => {
    const frames = splitIntoFrames(large);
    const orders = fc.shuffledSubarray(frames, { minLength: frames.length });
    const shuffled = fc.sample(orders, { numRuns: 1, seed: 20 }).flat();
    expect(shuffled).not.toEqual(frames);
    const texts = shuffled.map((frame) => scan(draw(frame)));
    expect(texts).toEqual(shuffled);
    expect(joinFrames(texts)).toEqual(complete(large));
  });

  test("has a margin of four light modules", () => {
    const dark = draw(activation);
    const columns = dark.flatMap((row) => row.flatMap((isDark, x) => (isDark ? [x] : [])));
    const rows = dark.flatMap((row, y) => (row.includes(true) ? [y] : []));
    const width = dark[0]?.length ?? 0;
    expect([Math.min(...columns), Math.min(...rows), width - Math.max(...columns)]).toEqual([
      4, 4, 5,
    ]);
    expect(dark.length - Math.max(...rows)).toBeGreaterThanOrEqual(5);
  });
});

test("an SVG has a title and nothing that a strict content security policy refuses", () => {
  expect(renderQrSvg(activation)).toContain("<title>QR code</title>");
  expect(renderQrSvg(splitIntoFrames(large)[2] ?? "")).toMatch(/<title>QR code 3 of \d+<\/title>/);
  expect(renderQrSvg(activation)).toMatch(
    /^<svg xmlns="[^"]+" viewBox="[\d ]+" role="img" shape-rendering="crispEdges"><title>[^<]+<\/title><rect width="\d+" height="\d+" fill="#fff"\/><path fill="#000" d="[Mhvz\d -]+"\/><\/svg>$/,
  );
});
