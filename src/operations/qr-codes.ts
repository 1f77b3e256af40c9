import { err, ok, type Result } from "../domain/result.ts";
import type { QrFramesFault, TextTooLongFault } from "../faults/fault-types.ts";
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
  /** Numbers (from 1) of lines that are not Berth codes; they were ignored. */
  readonly foreignLines: readonly number[];
}

/** Joins scanned codes, one per line in any order. A short plain text may have several lines. */
export function joinQrCodes(input: string): Result<JoinedQrCodes, QrFramesFault> {
  const text = input.replaceAll("\r\n", "\n");
  const lines = [...text.split("\n").entries()].filter(([, line]) => line.trim() !== "");
  const joined = joinFrames(isPlainCode(text.trim()) ? [text] : lines.map(([, line]) => line));
  if (!joined.ok) return err({ code: "invalid_qr_frames", reason: describeFault(joined.fault) });
  const foreignLines = joined.value.foreign.map((at) => (lines[at - 1]?.[0] ?? 0) + 1);
  return ok({ text: joined.value.text, foreignLines });
}

/** Removes the line end of a file from a short code, which any phone can show as plain text. */
export const trimPlainCode = (text: string): string =>
  isPlainCode(text.trim()) ? text.trim() : text;

function describeFault(fault: FrameFault): string {
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
    return `${nameFrame(fault)} is incomplete: ${missing} missing`;
  }
  if (fault.wrong === "long") {
    const extra = fault.by === 1 ? "1 character" : `${fault.by} characters`;
    return `${nameFrame(fault)} has ${extra} too many: put each code on its own line`;
  }
  if (fault.wrong === "misread") return `${nameFrame(fault)} is incomplete or misread`;
  if (fault.wrong === "missing") {
    const [first, ...more] = fault.frames;
    return more.length === 0
      ? `code ${first} of ${fault.of} is missing`
      : `codes ${fault.frames.join(", ")} of ${fault.of} are missing`;
  }
  return FAULT_DESCRIPTIONS[fault.wrong];
}

/** The number in a frame may itself be misread, so a different input position is named too. */
const nameFrame = ({ number, of, at }: { number: number; of: number; at: number }): string =>
  `code ${number} of ${of}${number === at ? "" : ` (code ${at} of the input)`}`;

const FAULT_DESCRIPTIONS = {
  none: "there are no codes in the input",
  mixed: "the codes belong to more than one text",
  damaged: "one of the codes was misread; scan all codes again",
  size: "the text in the codes is too long",
};
