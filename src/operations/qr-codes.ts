import { err, ok, type Result } from "../domain/result.ts";
import {
  FRAME_FORMAT,
  splitIntoFrames,
  isPlainCode,
  joinFrames,
  MAX_TEXT_BYTES,
  renderQrSvg,
  type FrameFault,
} from "../license/qr.ts";
import { runBetweenRequests } from "../platform/yield-to-requests.ts";

export interface QrCode {
  readonly text: string;
  readonly svg: string;
}

export interface TextTooLongFault {
  readonly code: "too_long";
  readonly field: "text";
  readonly bytes: number;
}

export interface QrFramesFault {
  readonly code: "invalid_qr_frames";
  readonly reason: string;
}

export async function renderQrCodes(text: string): Promise<Result<QrCode[], TextTooLongFault>> {
  if (Buffer.byteLength(text) > MAX_TEXT_BYTES) {
    return err({ code: "too_long", field: "text", bytes: MAX_TEXT_BYTES });
  }
  const codes: QrCode[] = [];
  for (const frame of splitIntoFrames(text)) {
    codes.push({ text: frame, svg: await runBetweenRequests(() => renderQrSvg(frame)) });
  }
  return ok(codes);
}

export interface JoinedQrCodes {
  readonly text: string;
  /** Lines that hold something else, from 1; they were ignored. */
  readonly foreignLines: readonly number[];
}

/** What was read, a code a line, in any order; a short text may have lines of its own. */
export function joinQrCodes(read: string): Result<JoinedQrCodes, QrFramesFault> {
  const text = read.replaceAll("\r\n", "\n");
  const lines = [...text.split("\n").entries()].filter(([, line]) => line.trim() !== "");
  const joined = joinFrames(isPlainCode(text.trim()) ? [text] : lines.map(([, line]) => line));
  if (!joined.ok) return err({ code: "invalid_qr_frames", reason: inWords(joined.fault) });
  const foreignLines = joined.value.foreign.map((at) => (lines[at - 1]?.[0] ?? 0) + 1);
  return ok({ text: joined.value.text, foreignLines });
}

/** What to make codes of: a code that any phone shows is without the line end of its file. */
export const trimPlainCode = (text: string): string =>
  isPlainCode(text.trim()) ? text.trim() : text;

function inWords(fault: FrameFault): string {
  if (fault.wrong === "frame") {
    return `code ${fault.at} of the input is incomplete, misread or not a Berth code`;
  }
  if (fault.wrong === "form") {
    return (
      `code ${fault.at} of the input has the format ${fault.form} of another version of berth; ` +
      `this version reads ${FRAME_FORMAT}: create the codes again with this version`
    );
  }
  if (fault.wrong === "short") {
    const missing = fault.by === 1 ? "1 character is" : `${fault.by} characters are`;
    return `${nameOf(fault)} is incomplete: ${missing} missing`;
  }
  if (fault.wrong === "long") {
    const added = fault.by === 1 ? "1 character" : `${fault.by} characters`;
    return `${nameOf(fault)} has ${added} too many: put each code on its own line`;
  }
  if (fault.wrong === "misread") return `${nameOf(fault)} is incomplete or misread`;
  if (fault.wrong === "missing") {
    const [first, ...more] = fault.frames;
    return more.length === 0
      ? `code ${first} of ${fault.of} is missing`
      : `codes ${fault.frames.join(", ")} of ${fault.of} are missing`;
  }
  return WORDS[fault.wrong];
}

/** The number in a frame may be what was misread, so its place is named where it differs. */
const nameOf = ({ number, of, at }: { number: number; of: number; at: number }): string =>
  `code ${number} of ${of}${number === at ? "" : ` (code ${at} of the input)`}`;

const WORDS = {
  none: "there are no codes in the input",
  mixed: "they belong to more than one text",
  damaged: "one of them was misread; scan them all again",
  size: "the text in them is too long",
};
