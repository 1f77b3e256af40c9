import { createHash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { encodeQR } from "qr";
import { no, ok, type Result } from "../domain/result.ts";
import { decodeBase45, encodeBase45 } from "./base45.ts";
import { toCrockford } from "./code.ts";

/**
 * Texts as QR codes. A code goes as it is, so that any phone shows what to read out. Anything else
 * is deflated, in Base45, in frames: `BERTH1 3/12 <16 symbols of SHA-256 of the text> <part>/`.
 */

export type FrameFault =
  /** Counted from 1, in the order given. */
  | { readonly wrong: "frame"; readonly at: number }
  /** Frames of more than one text. */
  | { readonly wrong: "mixed" }
  | { readonly wrong: "missing"; readonly frames: readonly number[]; readonly of: number }
  | { readonly wrong: "damaged" }
  | { readonly wrong: "size" };

/** In UTF-8: more than any document, and as far as anything is inflated. */
export const MAX_TEXT = 64 * 1024;

/** The longest code, of six rows, has 137. */
const MAX_PLAIN = 200;
const MAX_FRAME = 1_000;
/** With the longest header, still within a frame. */
const MAX_PART = 960;

/** What a QR code packs tightest, and the line breaks of codes; nothing that trimming takes. */
const PLAIN = /^(?!BERTH|\s)[0-9A-Z $%*+\-./:\n]+(?<!\s)$/;

/** The slash at the end keeps a last space of Base45 from whoever trims. */
const FRAME = /^BERTH1 ([1-9]\d{0,2})\/([1-9]\d{0,2}) ([0-9A-HJKMNP-TV-Z]{16}) (.+)\/$/;

/** Throws above `MAX_TEXT`. */
export function framesOf(text: string): string[] {
  if (isPlain(text)) return [text];
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MAX_TEXT) throw new RangeError(`more than ${MAX_TEXT} bytes for QR codes`);
  const packed = encodeBase45(deflateRawSync(bytes, { level: 9 }));
  const of = Math.ceil(packed.length / MAX_PART);
  const size = Math.ceil(packed.length / of);
  const id = idOf(bytes);
  return Array.from({ length: of }, (_, index) => {
    const part = packed.slice(index * size, (index + 1) * size);
    return `BERTH1 ${index + 1}/${of} ${id} ${part}/`;
  });
}

/** In any order, any of them more than once, with white space around them. */
export function joinFrames(frames: readonly string[]): Result<string, FrameFault> {
  const read: Frame[] = [];
  for (const [index, text] of frames.entries()) {
    const frame = readFrame(text.trim());
    if (frame === null) return no({ wrong: "frame", at: index + 1 });
    read.push(frame);
  }
  const [first] = read;
  if (first === undefined) return no({ wrong: "missing", frames: [1], of: 1 });
  if (read.some(({ id, of }) => id !== first.id || of !== first.of)) return no({ wrong: "mixed" });
  const parts = new Map<number, string>();
  for (const { number, part } of read) {
    if ((parts.get(number) ?? part) !== part) return no({ wrong: "damaged" });
    parts.set(number, part);
  }
  const numbers = Array.from({ length: first.of }, (_, index) => index + 1);
  const missing = numbers.filter((number) => !parts.has(number));
  if (missing.length > 0) return no({ wrong: "missing", frames: missing, of: first.of });
  const whole = numbers.map((number) => parts.get(number)).join("");
  return first.plain ? ok(whole) : unpack(whole, first.id);
}

/** For a terminal of any colours: it brings its own, and the light modules are what is drawn. */
export function qrTerminal(frame: string): string {
  const modules = modulesOf(frame);
  const lines: string[] = [];
  for (let y = 0; y < modules.length; y += 2) {
    const upper = modules[y] ?? [];
    // Below the last row there is only more of the quiet zone.
    const lower = modules[y + 1] ?? [];
    const line = upper.map((dark, x) => HALVES[(dark ? 0 : 2) + (lower[x] ? 0 : 1)]).join("");
    lines.push(`${WHITE_ON_BLACK}${line}${RESET}`);
  }
  return lines.join("\n");
}

/** A document of its own, without script or style. */
export function qrSvg(frame: string): string {
  const modules = modulesOf(frame);
  const size = modules.length;
  const bars = modules.flatMap((row, y) => runsOf(row).map(([x, n]) => `M${x} ${y}h${n}v1h-${n}z`));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" role="img"`,
    ` shape-rendering="crispEdges"><title>${titleOf(frame)}</title>`,
    `<rect width="${size}" height="${size}" fill="#fff"/>`,
    `<path fill="#000" d="${bars.join("")}"/></svg>`,
  ].join("");
}

const isPlain = (text: string): boolean => text.length <= MAX_PLAIN && PLAIN.test(text);

interface Frame {
  readonly plain: boolean;
  readonly number: number;
  readonly of: number;
  /** Of the whole text; of a plain one, the text itself. */
  readonly id: string;
  readonly part: string;
}

function readFrame(text: string): Frame | null {
  if (text.length > MAX_FRAME) return null;
  if (isPlain(text)) return { plain: true, number: 1, of: 1, id: text, part: text };
  const [, number, of, id, part] = FRAME.exec(text) ?? [];
  if (id === undefined || part === undefined || Number(number) > Number(of)) return null;
  return { plain: false, number: Number(number), of: Number(of), id, part };
}

function unpack(packed: string, id: string): Result<string, FrameFault> {
  const deflated = decodeBase45(packed);
  if (deflated === null) return no({ wrong: "damaged" });
  try {
    const bytes = inflateRawSync(deflated, { maxOutputLength: MAX_TEXT });
    if (idOf(bytes) !== id) return no({ wrong: "damaged" });
    return ok(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (error) {
    const large = error instanceof RangeError && "code" in error;
    return no({ wrong: large && error.code === "ERR_BUFFER_TOO_LARGE" ? "size" : "damaged" });
  }
}

const idOf = (bytes: Uint8Array): string =>
  toCrockford(createHash("sha256").update(bytes).digest(), 80);

/** White on black, as all terminals can, and bold, which makes the white whiter on most. */
const WHITE_ON_BLACK = "\u001b[40;37;1m";
const RESET = "\u001b[0m";

/** By what is light: nothing, the lower half, the upper, both. */
const HALVES = [" ", "▄", "▀", "█"];

/** Rows of dark or not, with the quiet zone the standard asks for. */
const modulesOf = (frame: string): boolean[][] =>
  encodeQR(frame, "raw", { ecc: "medium", border: 4 });

/** Start and length of each dark run. */
function runsOf(row: readonly boolean[]): [start: number, length: number][] {
  const runs: [number, number][] = [];
  for (let x = 0; x < row.length; x += 1) {
    if (!row[x]) continue;
    const start = x;
    while (row[x + 1]) x += 1;
    runs.push([start, x + 1 - start]);
  }
  return runs;
}

function titleOf(frame: string): string {
  const [, number, of] = FRAME.exec(frame) ?? [];
  return number === undefined ? "QR code" : `QR code ${number} of ${of}`;
}
