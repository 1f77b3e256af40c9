import { join } from "node:path";
import type { AuditGap, AuditGapFile } from "../../domain/state.ts";
import type { Disk } from "../../platform/disk.ts";
import type { MissingLines } from "./survey.ts";
import { AUDIT_FOLDER } from "../files.ts";

/** A gap that is still to be declared. */
export type NewGap = Omit<AuditGap, "at">;

const PART_BYTES = 1024 * 1024;

/** How long a file of the audit log is, and what is in it, before anything is done to it. */
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

/** Gaps that one repair declares at most: a disk can be damaged in very many places. */
const MAX_GAPS_PER_REPAIR = 64;

/**
 * What is missing, as gaps. Where there would be too many, those that lie closest together become
 * one; the good lines between them stay in their files and are passed over. `closed`: a file that
 * is not to be written to any more.
 */
export function buildGaps(
  missing: readonly MissingLines[],
  described: ReadonlyMap<string, AuditGapFile>,
  room: number,
  closed: string | null,
): NewGap[] {
  const most = Math.max(1, Math.min(MAX_GAPS_PER_REPAIR, room));
  return mergeClosestGaps(missing, most).map(({ files, ...lines }, place, all): NewGap => {
    const isLast = place === all.length - 1;
    const names = new Set([...files, ...(isLast && closed !== null ? [closed] : [])]);
    const stood = [...names].flatMap((name) => described.get(name) ?? []);
    return { reason: "damaged", ...lines, files: stood };
  });
}

function mergeClosestGaps(missing: readonly MissingLines[], most: number): MissingLines[] {
  const distances = missing.slice(1).map(({ from }, place) => from - (missing[place]?.to ?? 0));
  // The widest distances stay between gaps.
  const apart = new Set(
    distances
      .map((lines, place) => ({ lines, place: place + 1 }))
      .toSorted((a, b) => b.lines - a.lines)
      .slice(0, most - 1)
      .map(({ place }) => place),
  );
  const all: MissingLines[] = [];
  for (const [place, one] of missing.entries()) {
    const last = all.at(-1);
    if (last === undefined || apart.has(place)) all.push(one);
    else {
      const { to, after, latest } = one;
      all[all.length - 1] = { ...last, to, after, latest, files: [...last.files, ...one.files] };
    }
  }
  return all;
}

/**
 * Gaps whose declarations may be among lines that are about to be declared gone themselves. They
 * are declared again, so that a reader of what is left still finds them in the chain.
 */
export const findGapsDeclaredWithin = (
  gaps: readonly AuditGap[],
  fresh: readonly NewGap[],
): readonly NewGap[] =>
  gaps
    .filter(({ at }) =>
      fresh.some(
        ({ earliest, latest }) =>
          (earliest === null || at >= earliest) && (latest === null || at <= latest),
      ),
    )
    .filter(({ from, to }) => !fresh.some((one) => one.from <= from && to <= one.to))
    .map(({ at: _at, ...gap }) => gap);
