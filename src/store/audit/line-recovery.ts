import type { Instant } from "../../domain/time.ts";
import type { Disk } from "../../platform/disk.ts";
import type { AuditSurvey, MissingLines } from "./survey.ts";
import { listSegments } from "../files.ts";
import { decodeLine } from "../journal.ts";
import { readLinesForward } from "../line-reader.ts";

/** A line that was found again, byte for byte, with its line feed. */
export interface RecoveredLine {
  readonly at: Instant;
  readonly raw: Uint8Array;
}

export interface LineRecovery {
  /** By their numbers in the audit log. */
  readonly lines: ReadonlyMap<number, RecoveredLine>;
  /** What is still missing. */
  readonly missing: readonly MissingLines[];
}

interface Candidate extends RecoveredLine {
  readonly prev: string;
  readonly sum: string;
}

type Candidates = Map<number, Candidate[]>;

const SLICE_BYTES = 128 * 1024;

/**
 * Looks for missing lines of the audit log where they may stand besides: out of order in its own
 * files, and in the journal, which keeps its lines for two checkpoints. A line counts only where it
 * continues the chain.
 */
export function* recoverLines(
  disk: Disk,
  folder: string,
  { files, missing }: AuditSurvey,
): Generator<void, LineRecovery> {
  const candidates: Candidates = new Map();
  if (missing.length > 0) {
    const unclean = files.filter(({ hasForeignBytes }) => hasForeignBytes);
    for (const { path } of [...unclean, ...listSegments(disk, folder)]) {
      yield* gatherCandidates(disk, path, missing, candidates);
    }
  }
  const lines = new Map<number, RecoveredLine>();
  const left = missing.flatMap((one) => fillFromCandidates(one, candidates, lines) ?? []);
  return { lines, missing: left };
}

function* gatherCandidates(
  disk: Disk,
  path: string,
  missing: readonly MissingLines[],
  candidates: Candidates,
): Generator<void> {
  let spent = 0;
  for (const { bytes, whole } of readLinesForward(disk, path, 0, Infinity)) {
    spent += bytes.length + 1;
    if (spent >= SLICE_BYTES) {
      spent = 0;
      yield;
    }
    const line = whole ? decodeLine(bytes) : null;
    const seq = line?.audit_seq;
    if (line === null || seq === undefined) continue;
    if (!missing.some(({ from, to }) => from <= seq && seq <= to)) continue;
    const raw = new Uint8Array(bytes.length + 1);
    raw.set(bytes);
    raw[bytes.length] = LF;
    const { at, sum, audit_prev: prev = "" } = line;
    candidates.set(seq, [...(candidates.get(seq) ?? []), { at, raw, prev, sum }]);
  }
}

const LF = 10;

/** From both ends; null when nothing is missing any more. */
function fillFromCandidates(
  missing: MissingLines,
  candidates: Candidates,
  lines: Map<number, RecoveredLine>,
): MissingLines | null {
  let { from, to, before, after, earliest, latest } = missing;
  // From behind first: there the chain says what a line's sum was.
  while (from <= to) {
    const found = candidates
      .get(to)
      ?.find(({ prev, sum }) => sum === after && (from < to || prev === before));
    if (found === undefined) break;
    lines.set(to, found);
    [to, after, latest] = [to - 1, found.prev, found.at];
  }
  while (from <= to) {
    const found = candidates
      .get(from)
      ?.find(({ prev, sum }) => prev === before && (from < to || sum === after));
    if (found === undefined) break;
    lines.set(from, found);
    [from, before, earliest] = [from + 1, found.sum, found.at];
  }
  return from > to ? null : { ...missing, from, to, before, after, earliest, latest };
}
