import { createHash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { encodeQR } from "qr";
import { err, ok, type Result } from "../domain/result.ts";
import { decodeBase45, encodeBase45 } from "./base45.ts";
import { CODE_BITS, decodeCode, encodeCode, encodeCrockford } from "./code.ts";

/**
 * Texts as QR codes. A code goes as it is, so that any phone shows what to read out. Anything else
 * is deflated, in Base45, in frames:
 * `BERTH2 3/12 <16 symbols of SHA-256 of the text> <length of the part> <check> <part>/`.
 *
 * No character could mark the end for certain: Base45 uses all 45 that a QR code packs tightest.
 * So a frame says how long its part is, and its check covers the header and the part.
 */

/** Why one of those given could not be read. */
type UnreadFault =
  /** Not a frame at all. `at`, here and below, counts from 1 in the order given. */
  | { readonly wrong: "frame"; readonly at: number }
  | { readonly wrong: "form"; readonly at: number; readonly form: string }
  /** By how many characters. */
  | ({ readonly wrong: "short" | "long"; readonly by: number } & Named)
  /** Its header is incomplete, or its check does not fit. */
  | ({ readonly wrong: "misread" } & Named);

export type FrameFault =
  | UnreadFault
  /** Nothing was given. */
  | { readonly wrong: "none" }
  /** Frames of more than one text. */
  | { readonly wrong: "mixed" }
  | { readonly wrong: "missing"; readonly frames: readonly number[]; readonly of: number }
  | { readonly wrong: "damaged" }
  | { readonly wrong: "size" };

interface Named {
  readonly at: number;
  /** What the frame says of itself. */
  readonly number: number;
  readonly of: number;
}

/** In UTF-8: more than any document, and as far as anything is inflated. */
export const MAX_TEXT_BYTES = 64 * 1024;

export const FRAME_FORMAT = "BERTH2";

/** The longest code, of six rows, has 137. */
const MAX_PLAIN = 200;

/** With the longest header, a frame has no more than 1,000 characters. */
const MAX_PART = 950;

const NUMBER = "[1-9]\\d{0,2}";
const SYMBOL = "[0-9A-HJKMNP-TV-Z]";
const HEADER = new RegExp(
  `^${FRAME_FORMAT} (${NUMBER})/(${NUMBER}) (${SYMBOL}{16}) (${NUMBER}) (${SYMBOL}{8}) `,
);
/** As much of a header as names the frame. */
const NAMED = new RegExp(`^${FRAME_FORMAT} (${NUMBER})/(${NUMBER}) `);
/** It keeps a last space of Base45 from whoever trims. */
const END = "/";

/** Throws above `MAX_TEXT`. */
export function splitIntoFrames(text: string): string[] {
  if (isPlainCode(text)) return [text];
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MAX_TEXT_BYTES)
    throw new RangeError(`more than ${MAX_TEXT_BYTES} bytes for QR codes`);
  const packed = encodeBase45(deflateRawSync(bytes, { level: 9 }));
  const of = Math.ceil(packed.length / MAX_PART);
  const size = Math.ceil(packed.length / of);
  const id = idOf(bytes);
  return Array.from({ length: of }, (_, index) => {
    const part = packed.slice(index * size, (index + 1) * size);
    return frameOf({ number: index + 1, of, id, part });
  });
}

export interface JoinedFrames {
  readonly text: string;
  /** Which of those given are no frames; they count from 1. */
  readonly foreign: readonly number[];
}

/**
 * In any order, any of them more than once, with white space around them. What is wrong with one
 * does not matter when all are there well read.
 */
export function joinFrames(frames: readonly string[]): Result<JoinedFrames, FrameFault> {
  const read: Frame[] = [];
  const faults: UnreadFault[] = [];
  for (const [index, text] of frames.entries()) {
    const frame = readFrame(text.trim(), index + 1);
    if (frame.ok) read.push(frame.value);
    else faults.push(frame.fault);
  }
  const isReadAgain = (fault: UnreadFault): boolean =>
    "number" in fault && read.some(({ number, of }) => number === fault.number && of === fault.of);
  const unread = faults.filter((fault) => !isReadAgain(fault));
  const whole = joinRead(read);
  // Without all of them, a line that could not be read may be one that is missing. A code that goes
  // as it is has no number: what stands beside it may be the rest of a longer one.
  const isTolerated = whole.ok && !read.some(({ plain }) => plain);
  const refused = unread.find(({ wrong }) => wrong === "form" || !isTolerated);
  if (refused !== undefined) return err(refused);
  return whole.ok ? ok({ text: whole.value, foreign: unread.map(({ at }) => at) }) : whole;
}

function joinRead(read: readonly Frame[]): Result<string, FrameFault> {
  const [first] = read;
  if (first === undefined) return err({ wrong: "none" });
  if (read.some(({ id, of }) => id !== first.id || of !== first.of)) return err({ wrong: "mixed" });
  const parts = new Map<number, string>();
  for (const { number, part } of read) {
    if ((parts.get(number) ?? part) !== part) return err({ wrong: "damaged" });
    parts.set(number, part);
  }
  const numbers = Array.from({ length: first.of }, (_, index) => index + 1);
  const missing = numbers.filter((number) => !parts.has(number));
  if (missing.length > 0) return err({ wrong: "missing", frames: missing, of: first.of });
  const whole = numbers.map((number) => parts.get(number)).join("");
  return first.plain ? ok(whole) : unpack(whole, first.id);
}

/** For a terminal of any colours: it brings its own, and the light modules are what is drawn. */
export function renderQrForTerminal(frame: string): string {
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
export function renderQrSvg(frame: string): string {
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

/** Exactly as a code is shown: a part of a frame that was cut must not be taken for one. */
export const isPlainCode = (text: string): boolean =>
  text.length <= MAX_PLAIN &&
  Object.values(CODE_BITS).some((bits) => {
    const decoded = decodeCode(text, bits);
    return decoded.ok && encodeCode(decoded.bytes, bits) === text;
  });

interface Frame {
  readonly plain: boolean;
  readonly number: number;
  readonly of: number;
  /** Of the whole text; of a plain one, the text itself. */
  readonly id: string;
  readonly part: string;
}

type Contents = Omit<Frame, "plain">;

const frameOf = (contents: Contents): string => {
  const { number, of, id, part } = contents;
  return `${FRAME_FORMAT} ${number}/${of} ${id} ${part.length} ${checkOf(contents)} ${part}${END}`;
};

/** Of everything else in the frame: nothing may be lost between two fields either. */
const checkOf = ({ number, of, id, part }: Contents): string => {
  const covered = `${FRAME_FORMAT} ${number}/${of} ${id} ${part.length} ${part}`;
  return encodeCrockford(createHash("sha256").update(covered).digest(), 40);
};

function readFrame(text: string, at: number): Result<Frame, UnreadFault> {
  if (isPlainCode(text)) return ok({ plain: true, number: 1, of: 1, id: text, part: text });
  const form = /^BERTH\d+(?= )/.exec(text)?.[0] ?? FRAME_FORMAT;
  if (form !== FRAME_FORMAT) return err({ wrong: "form", at, form });
  const [header = "", ...fields] = HEADER.exec(text) ?? [];
  const [number = 0, of = 0] = (NAMED.exec(text) ?? []).slice(1).map(Number);
  if (number === 0 || number > of) return err({ wrong: "frame", at });
  const [, , id, length, check] = fields;
  const named = { at, number, of };
  if (id === undefined) return err({ wrong: "misread", ...named });
  const tooMany = text.length - (header.length + Number(length) + END.length);
  if (tooMany < 0) return err({ wrong: "short", by: -tooMany, ...named });
  if (tooMany > 0) return err({ wrong: "long", by: tooMany, ...named });
  const part = text.slice(header.length, -END.length);
  const isWhole = text.endsWith(END) && check === checkOf({ number, of, id, part });
  if (!isWhole) return err({ wrong: "misread", ...named });
  return ok({ plain: false, number, of, id, part });
}

function unpack(packed: string, id: string): Result<string, FrameFault> {
  const deflated = decodeBase45(packed);
  if (deflated === null) return err({ wrong: "damaged" });
  try {
    const bytes = inflateRawSync(deflated, { maxOutputLength: MAX_TEXT_BYTES });
    if (idOf(bytes) !== id) return err({ wrong: "damaged" });
    return ok(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (error) {
    const large = error instanceof RangeError && "code" in error;
    return err({ wrong: large && error.code === "ERR_BUFFER_TOO_LARGE" ? "size" : "damaged" });
  }
}

const idOf = (bytes: Uint8Array): string =>
  encodeCrockford(createHash("sha256").update(bytes).digest(), 80);

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
  const [, number, of] = NAMED.exec(frame) ?? [];
  return number === undefined ? "QR code" : `QR code ${number} of ${of}`;
}
