import type { Instant } from "../../domain/time.ts";
import type { Disk } from "../../platform/files/disk.ts";
import type { AuditSurvey, MissingLines } from "./survey.ts";
import { listSegments } from "../folder/files.ts";
import { decodeLine } from "../journal/journal.ts";
import { readLinesForward } from "../journal/line-reader.ts";

/** A recovered line, byte for byte, with its line feed. */
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
 * Searches for missing lines of the audit log in other places: out of order in its own files, and
 * in the journal, which keeps its lines for two checkpoints. A line counts only if it continues the
 * chain.
 */
export function* recoverLines(
  disk: Disk,
  folder: string,
  { files, missing }: AuditSurvey,
): Generator<void, LineRecovery> {
  const candidates: Candidates = new Map();
  if (missing.length > 0) {
    const filesWithForeignBytes = files.filter(({ hasForeignBytes }) => hasForeignBytes);
    for (const { path } of [...filesWithForeignBytes, ...listSegments(disk, folder)]) {
      yield* gatherCandidates(disk, path, missing, candidates);
    }
  }
  const lines = new Map<number, RecoveredLine>();
  const remaining = missing.flatMap((range) => fillFromCandidates(range, candidates, lines) ?? []);
  return { lines, missing: remaining };
}

function* gatherCandidates(
  disk: Disk,
  path: string,
  missing: readonly MissingLines[],
  candidates: Candidates,
): Generator<void> {
  let bytesSinceYield = 0;
  for (const { bytes, isComplete } of readLinesForward(disk, path, 0, Infinity)) {
    bytesSinceYield += bytes.length + 1;
    if (bytesSinceYield >= SLICE_BYTES) {
      bytesSinceYield = 0;
      yield;
    }
    const line = isComplete ? decodeLine(bytes) : null;
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

/** Fills a range from both ends; null: nothing is missing any more. */
function fillFromCandidates(
  missing: MissingLines,
  candidates: Candidates,
  lines: Map<number, RecoveredLine>,
): MissingLines | null {
  let { from, to, before, after, earliest, latest } = missing;
  // From the end first: there the chain contains the expected sum of each line.
  while (from <= to) {
    const candidate = candidates
      .get(to)
      ?.find(({ prev, sum }) => sum === after && (from < to || prev === before));
    if (candidate === undefined) break;
    lines.set(to, candidate);
    [to, after, latest] = [to - 1, candidate.prev, candidate.at];
  }
  while (from <= to) {
    const candidate = candidates
      .get(from)
      ?.find(({ prev, sum }) => prev === before && (from < to || sum === after));
    if (candidate === undefined) break;
    lines.set(from, candidate);
    [from, before, earliest] = [from + 1, candidate.sum, candidate.at];
  }
  return from > to ? null : { ...missing, from, to, before, after, earliest, latest };
}
