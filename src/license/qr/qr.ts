import { createHash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { encodeQR } from "qr";
import { err, ok, type Result } from "../../domain/result.ts";
import { decodeBase45, encodeBase45 } from "./base45.ts";
import { FRAME_FORMAT, type FrameFault, type UnreadFault } from "./frame-fault.ts";
import { CODE_BITS, decodeCode, encodeCode, encodeCrockford } from "../codes/code.ts";

/**
 * Texts as QR codes. An activation code is encoded as it is, so that any phone shows what to read
 * out. Any other text is deflated, encoded in Base45 and split into frames:
 * `BERTH2 3/12 <16 symbols of SHA-256 of the text> <length of the part> <check> <part>/`.
 *
 * No character could mark the end reliably: Base45 uses all 45 that a QR code stores compactly. So
 * a frame contains the length of its part, and its check covers the header and the part.
 */

/** In UTF-8: more than any document has, and the limit for inflating. */
export const MAX_TEXT_BYTES = 64 * 1024;

/** The longest code, of six rows, has 137 characters. */
const MAX_PLAIN = 200;

/** With the longest header, a frame has no more than 1,000 characters. */
const MAX_PART = 950;

const NUMBER = "[1-9]\\d{0,2}";
const SYMBOL = "[0-9A-HJKMNP-TV-Z]";
const HEADER = new RegExp(
  `^${FRAME_FORMAT} (${NUMBER})/(${NUMBER}) (${SYMBOL}{16}) (${NUMBER}) (${SYMBOL}{8}) `,
);
/** The part of the header that numbers the frame. */
const NAMED = new RegExp(`^${FRAME_FORMAT} (${NUMBER})/(${NUMBER}) `);
/** Protects a trailing space of Base45 from being trimmed. */
const END = "/";

/** Throws above `MAX_TEXT_BYTES`. */
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
  /** Positions of inputs that are no frames, counted from 1. */
  readonly foreign: readonly number[];
}

/**
 * Joins frames in any order, also repeated or with white space around them. A damaged input does
 * not matter when all frames are present undamaged.
 */
export function joinFrames(texts: readonly string[]): Result<JoinedFrames, FrameFault> {
  const frames: Frame[] = [];
  const faults: UnreadFault[] = [];
  for (const [index, text] of texts.entries()) {
    const frame = readFrame(text.trim(), index + 1);
    if (frame.ok) frames.push(frame.value);
    else faults.push(frame.fault);
  }
  const hasReadableCopy = (fault: UnreadFault): boolean =>
    "number" in fault &&
    frames.some(({ number, of }) => number === fault.number && of === fault.of);
  const unread = faults.filter((fault) => !hasReadableCopy(fault));
  const joined = joinReadable(frames);
  // If frames are missing, an unreadable input can be one of them. A plain code has no number: an
  // input beside it can be the rest of a longer code.
  const canIgnoreUnread = joined.ok && !frames.some(({ plain }) => plain);
  const fault = unread.find(({ wrong }) => wrong === "form" || !canIgnoreUnread);
  if (fault !== undefined) return err(fault);
  return joined.ok ? ok({ text: joined.value, foreign: unread.map(({ at }) => at) }) : joined;
}

function joinReadable(frames: readonly Frame[]): Result<string, FrameFault> {
  const [first] = frames;
  if (first === undefined) return err({ wrong: "none" });
  if (frames.some(({ id, of }) => id !== first.id || of !== first.of))
    return err({ wrong: "mixed" });
  const parts = new Map<number, string>();
  for (const { number, part } of frames) {
    if ((parts.get(number) ?? part) !== part) return err({ wrong: "damaged" });
    parts.set(number, part);
  }
  const numbers = Array.from({ length: first.of }, (_, index) => index + 1);
  const missing = numbers.filter((number) => !parts.has(number));
  if (missing.length > 0) return err({ wrong: "missing", frames: missing, of: first.of });
  const text = numbers.map((number) => parts.get(number)).join("");
  return first.plain ? ok(text) : unpack(text, first.id);
}

/** Draws the light modules in colours of its own, so that it works in any terminal theme. */
export function renderQrForTerminal(frame: string): string {
  const modules = modulesOf(frame);
  const lines: string[] = [];
  for (let y = 0; y < modules.length; y += 2) {
    const upper = modules[y] ?? [];
    // Below the last row is only the quiet zone, which is light.
    const lower = modules[y + 1] ?? [];
    const line = upper.map((dark, x) => HALVES[(dark ? 0 : 2) + (lower[x] ? 0 : 1)]).join("");
    lines.push(`${WHITE_ON_BLACK}${line}${RESET}`);
  }
  return lines.join("\n");
}

/** A standalone SVG document, without script or style. */
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

/** Whether the text is exactly a code as shown: a cut-off part of a frame must not pass for one. */
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
  /** The hash of the whole text; for a plain code, the text itself. */
  readonly id: string;
  readonly part: string;
}

type Contents = Omit<Frame, "plain">;

const frameOf = (contents: Contents): string => {
  const { number, of, id, part } = contents;
  return `${FRAME_FORMAT} ${number}/${of} ${id} ${part.length} ${checkOf(contents)} ${part}${END}`;
};

/** Covers everything else in the frame, including the separators between fields. */
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
  const isIntact = text.endsWith(END) && check === checkOf({ number, of, id, part });
  if (!isIntact) return err({ wrong: "misread", ...named });
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
    const hasCode = error instanceof RangeError && "code" in error;
    return err({ wrong: hasCode && error.code === "ERR_BUFFER_TOO_LARGE" ? "size" : "damaged" });
  }
}

const idOf = (bytes: Uint8Array): string =>
  encodeCrockford(createHash("sha256").update(bytes).digest(), 80);

/** White on black, which all terminals support, and bold, which makes white brighter on most. */
const WHITE_ON_BLACK = "\u001b[40;37;1m";
const RESET = "\u001b[0m";

/** By the light halves: none, lower, upper, both. */
const HALVES = [" ", "▄", "▀", "█"];

/** Rows of modules, true for dark, with the quiet zone that the standard requires. */
const modulesOf = (frame: string): boolean[][] =>
  encodeQR(frame, "raw", { ecc: "medium", border: 4 });

/** The start and length of each run of dark modules. */
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
