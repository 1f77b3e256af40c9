import { err, ok, type Result } from "../../domain/result.ts";
import type { QrFramesFault, TextTooLongFault } from "../../faults/fault-types.ts";
import {
  splitIntoFrames,
  isPlainCode,
  joinFrames,
  MAX_TEXT_BYTES,
  renderQrSvg,
} from "../../license/qr/qr.ts";
import { runBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";

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
  if (!joined.ok) return err({ code: "invalid_qr_frames", problem: joined.fault });
  const foreignLines = joined.value.foreign.map((at) => (lines[at - 1]?.[0] ?? 0) + 1);
  return ok({ text: joined.value.text, foreignLines });
}

/** Removes the line end of a file from a short code, which any phone can show as plain text. */
export const trimPlainCode = (text: string): string =>
  isPlainCode(text.trim()) ? text.trim() : text;
