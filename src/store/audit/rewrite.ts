import { join } from "node:path";
import { runBetweenRequests } from "../../platform/yield-to-requests.ts";
import { errorCode, type Disk, type OpenFile } from "../../platform/disk.ts";
import { writeAll } from "../../platform/files.ts";
import type { RecoveredLine } from "./line-recovery.ts";
import type { AuditSurvey, LineRun, SurveyedFile } from "./survey.ts";
import { AUDIT_FOLDER } from "../files.ts";
import { monthOf } from "./audit-log.ts";

/** What one file of the audit log shall hold, in the order of the lines. */
interface AuditFileContent {
  readonly name: string;
  /** The file as it is; null: there is none. */
  readonly file: SurveyedFile | null;
  readonly parts: (LineRun | RecoveredPart)[];
}

interface RecoveredPart extends RecoveredLine {
  readonly firstSeq: number;
}

/** A name for lines that have no file; `isLast`: nothing of the audit log follows them. */
type ChooseFileName = (month: string, first: number, isLast: boolean) => string;

export interface RewriteResult {
  /** Files that hold what they should now. */
  readonly writtenFiles: readonly string[];
  /** What was there before, under other names. */
  readonly damagedCopies: readonly string[];
}

/**
 * Puts the lines that were found into their places, and what is no line of the chain aside. Each
 * file is replaced as a whole: a stop at any time leaves it as it was, or as it shall be.
 */
export async function rewriteAuditFiles(
  disk: Disk,
  folder: string,
  { files, unreadableFiles }: AuditSurvey,
  lines: ReadonlyMap<number, RecoveredLine>,
  newest: string | null,
): Promise<RewriteResult> {
  const place = join(folder, AUDIT_FOLDER);
  disk.makeFolder(place);
  const contents = planContents(
    files,
    lines,
    createFileNameChooser(disk, place, unreadableFiles, newest),
  );
  const kept = unreadableFiles.map((name) => keepDamagedCopy(disk, place, name));
  const written: string[] = [];
  const gone: string[] = unreadableFiles.filter(
    (name) => !contents.some((one) => one.name === name),
  );
  for (const { name, file, parts } of contents) {
    if (file !== null && !file.hasForeignBytes && parts.length === file.runs.length) continue;
    if (file?.hasForeignBytes === true) kept.push(keepDamagedCopy(disk, place, name));
    if (parts.length === 0) gone.push(name);
    else {
      await writeAuditFile(disk, place, name, file?.path ?? "", parts);
      written.push(name);
    }
  }
  await disk.syncFolder(place);
  // Not before their second names are there for good.
  for (const name of gone) disk.remove(join(place, name));
  if (gone.length > 0) await disk.syncFolder(place);
  return { writtenFiles: written, damagedCopies: kept };
}

function createFileNameChooser(
  disk: Disk,
  place: string,
  unreadable: readonly string[],
  newest: string | null,
): ChooseFileName {
  const given = new Set<string>();
  const isFree = (name: string): boolean =>
    !given.has(name) && (unreadable.includes(name) || disk.stat(join(place, name)) === null);
  return (month, first, isLast) => {
    const usual = `${month}.jsonl`;
    const other = isFree(usual) && usual !== newest ? usual : `${month}-${first}.jsonl`;
    // The file that the state takes for the newest is written again under its own name.
    const isNewest = isLast && newest?.startsWith(month) === true && isFree(newest);
    const name = isNewest ? newest : other;
    given.add(name);
    return name;
  };
}

/** Is anything in the files that does not belong there, or missing in them? */
export const needsRewrite = ({ files, missing }: AuditSurvey): boolean =>
  missing.length > 0 || files.some(({ hasForeignBytes }) => hasForeignBytes);

/** Lets go of files whose lines were declared as gone; says how many bytes that were. */
export async function removeAuditFiles(
  disk: Disk,
  folder: string,
  names: readonly string[],
): Promise<number> {
  let bytes = 0;
  for (const path of names.map((name) => join(folder, AUDIT_FOLDER, name))) {
    const stat = disk.stat(path);
    if (stat === null) continue;
    disk.remove(path);
    bytes += stat.size;
  }
  await disk.syncFolder(join(folder, AUDIT_FOLDER));
  return bytes;
}

/** A second name for what is there: the first one is about to be taken by something else. */
function keepDamagedCopy(disk: Disk, place: string, name: string): string {
  for (let number = 1; ; number += 1) {
    const aside = number === 1 ? `${name}.damaged` : `${name}.${number}.damaged`;
    try {
      disk.link(join(place, name), join(place, aside));
      return aside;
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    }
  }
}

const PART_BYTES = 1024 * 1024;

async function writeAuditFile(
  disk: Disk,
  place: string,
  name: string,
  old: string,
  parts: AuditFileContent["parts"],
): Promise<void> {
  const fresh = join(place, `${name}.new`);
  if (disk.stat(fresh) !== null) disk.remove(fresh);
  const file = disk.open(fresh);
  try {
    for (const part of parts) {
      if ("raw" in part) {
        writeAll(file, part.raw);
        continue;
      }
      for (let at = part.offset; at < part.end; at += PART_BYTES) {
        const size = Math.min(PART_BYTES, part.end - at);
        await runBetweenRequests(() => copyRange(disk, old, at, size, file));
      }
    }
    await file.sync();
  } finally {
    file.close();
  }
  disk.rename(fresh, join(place, name));
}

function copyRange(disk: Disk, from: string, offset: number, size: number, to: OpenFile): void {
  const bytes = disk.readPart(from, offset, size);
  if (bytes?.length !== size) throw new Error(`${from} ended early`);
  writeAll(to, bytes);
}

/** Every line that was found goes to the file of its month beside it, or to a new one. */
function planContents(
  files: readonly SurveyedFile[],
  lines: ReadonlyMap<number, RecoveredLine>,
  nameFor: ChooseFileName,
): AuditFileContent[] {
  const contents = files.map((file): AuditFileContent => ({ name: file.name, file, parts: [] }));
  const pieces = contents.flatMap((content) =>
    (content.file?.runs ?? []).map((piece) => ({ piece, content })),
  );
  const found = [...lines].toSorted(([a], [b]) => a - b);
  let before: AuditFileContent | null = null;
  let place = 0;
  for (const { piece, content: behind } of [...pieces, { piece: null, content: null }]) {
    for (let next = found[place]; next !== undefined; next = found[place]) {
      const [first, line] = next;
      if (piece !== null && first > piece.firstSeq) break;
      const month = monthOf(line.at);
      const beside: AuditFileContent | undefined = [before, behind].find(
        (one) => one?.name.startsWith(month) === true,
      ) as AuditFileContent | undefined;
      if (beside === undefined) {
        before = { name: nameFor(month, first, behind === null), file: null, parts: [] };
        contents.push(before);
      }
      (beside ?? before)?.parts.push({ firstSeq: first, ...line });
      place += 1;
    }
    if (piece === null) break;
    behind?.parts.push(piece);
    before = behind;
  }
  return contents;
}
