import { join } from "node:path";
import type { AuditGap, AuditGapFile } from "../../domain/model/state.ts";
import type { Disk } from "../../platform/files/disk.ts";
import type { MissingLines } from "./survey.ts";
import { AUDIT_FOLDER } from "../folder/files.ts";

/** A gap that is not declared yet. */
export type NewGap = Omit<AuditGap, "at">;

const PART_BYTES = 1024 * 1024;

/** The size and checksum of an audit file, before it is changed. */
export function* describeAuditFile(
  disk: Disk,
  folder: string,
  name: string,
): Generator<void, AuditGapFile> {
  const path = join(folder, AUDIT_FOLDER, name);
  const hash = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  for (;;) {
    const part = disk.readPart(path, bytes, PART_BYTES);
    if (part === null || part.length === 0) break;
    hash.update(part);
    bytes += part.length;
    yield;
  }
  return { name, bytes, sha256: hash.digest("hex") };
}

/**
 * The maximum number of gaps that one repair declares: a disk can be damaged at very many offsets.
 */
const MAX_GAPS_PER_REPAIR = 64;

/**
 * The missing lines as gaps. If there are too many, the closest ones are merged; the good lines
 * between them stay in their files and are skipped by readers. `closed`: a file that must not be
 * written to any more.
 */
export function buildGaps(
  missing: readonly MissingLines[],
  described: ReadonlyMap<string, AuditGapFile>,
  remaining: number,
  closed: string | null,
): NewGap[] {
  const maxGaps = Math.max(1, Math.min(MAX_GAPS_PER_REPAIR, remaining));
  return mergeClosestGaps(missing, maxGaps).map(({ files, ...lines }, index, all): NewGap => {
    const isLast = index === all.length - 1;
    const names = new Set([...files, ...(isLast && closed !== null ? [closed] : [])]);
    const gapFiles = [...names].flatMap((name) => described.get(name) ?? []);
    return { reason: "damaged", ...lines, files: gapFiles };
  });
}

function mergeClosestGaps(missing: readonly MissingLines[], maxGaps: number): MissingLines[] {
  const distances = missing.slice(1).map(({ from }, index) => from - (missing[index]?.to ?? 0));
  // The widest distances separate the gaps.
  const separators = new Set(
    distances
      .map((lines, index) => ({ lines, index: index + 1 }))
      .toSorted((a, b) => b.lines - a.lines)
      .slice(0, maxGaps - 1)
      .map(({ index }) => index),
  );
  const merged: MissingLines[] = [];
  for (const [index, range] of missing.entries()) {
    const last = merged.at(-1);
    if (last === undefined || separators.has(index)) merged.push(range);
    else {
      const { to, after, latest } = range;
      merged[merged.length - 1] = {
        ...last,
        to,
        after,
        latest,
        files: [...last.files, ...range.files],
      };
    }
  }
  return merged;
}

/**
 * Gaps whose declarations may be among lines that are about to be declared missing themselves. They
 * are declared again, so that a reader of the rest still finds them in the chain.
 */
export const findGapsDeclaredWithin = (
  gaps: readonly AuditGap[],
  newGaps: readonly NewGap[],
): readonly NewGap[] =>
  gaps
    .filter(({ at }) =>
      newGaps.some(
        ({ earliest, latest }) =>
          (earliest === null || at >= earliest) && (latest === null || at <= latest),
      ),
    )
    .filter(({ from, to }) => !newGaps.some((newGap) => newGap.from <= from && to <= newGap.to))
    .map(({ at: _at, ...gap }) => gap);
