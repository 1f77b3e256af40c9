import { join } from "node:path";
import { runBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";
import type { Disk, OpenFile } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { writeAll } from "../../platform/files/files.ts";
import type { RecoveredLine } from "./line-recovery.ts";
import type { AuditSurvey, LineRun, SurveyedFile } from "./survey.ts";
import { AUDIT_FOLDER } from "../folder/files.ts";
import { monthOf } from "./audit-log.ts";

/** The planned contents of one audit file, in the order of the lines. */
interface AuditFileContent {
  readonly name: string;
  /** The existing file; null: there is none. */
  readonly file: SurveyedFile | null;
  readonly parts: (LineRun | RecoveredPart)[];
}

interface RecoveredPart extends RecoveredLine {
  readonly firstSeq: number;
}

/** Chooses a name for lines that have no file; `isLast`: no line of the audit log follows them. */
type ChooseFileName = (month: string, first: number, isLast: boolean) => string;

export interface RewriteResult {
  /** Files that were written again. */
  readonly writtenFiles: readonly string[];
  /** Copies of the old files, under other names. */
  readonly damagedCopies: readonly string[];
}

/**
 * Writes recovered lines where they belong, and keeps copies of files with foreign bytes. Each file
 * is replaced as a whole: an interruption leaves it either old or new.
 */
export async function rewriteAuditFiles(
  disk: Disk,
  folder: string,
  { files, unreadableFiles }: AuditSurvey,
  lines: ReadonlyMap<number, RecoveredLine>,
  newest: string | null,
): Promise<RewriteResult> {
  const auditFolder = join(folder, AUDIT_FOLDER);
  disk.makeFolder(auditFolder);
  const contents = planContents(
    files,
    lines,
    createFileNameChooser(disk, auditFolder, unreadableFiles, newest),
  );
  const damagedCopies = unreadableFiles.map((name) => keepDamagedCopy(disk, auditFolder, name));
  const writtenFiles: string[] = [];
  const removable: string[] = unreadableFiles.filter(
    (name) => !contents.some((content) => content.name === name),
  );
  for (const { name, file, parts } of contents) {
    if (file !== null && !file.hasForeignBytes && parts.length === file.runs.length) continue;
    if (file?.hasForeignBytes === true)
      damagedCopies.push(keepDamagedCopy(disk, auditFolder, name));
    if (parts.length === 0) removable.push(name);
    else {
      await writeAuditFile(disk, auditFolder, name, file?.path ?? "", parts);
      writtenFiles.push(name);
    }
  }
  await disk.syncFolder(auditFolder);
  // Only after their second names are durable.
  for (const name of removable) disk.remove(join(auditFolder, name));
  if (removable.length > 0) await disk.syncFolder(auditFolder);
  return { writtenFiles, damagedCopies };
}

function createFileNameChooser(
  disk: Disk,
  auditFolder: string,
  unreadable: readonly string[],
  newest: string | null,
): ChooseFileName {
  const usedNames = new Set<string>();
  const isFree = (name: string): boolean =>
    !usedNames.has(name) &&
    (unreadable.includes(name) || disk.stat(join(auditFolder, name)) === null);
  return (month, first, isLast) => {
    const monthName = `${month}.jsonl`;
    const newName =
      isFree(monthName) && monthName !== newest ? monthName : `${month}-${first}.jsonl`;
    // The file that the state records as the newest is written again under its own name.
    const isNewest = isLast && newest?.startsWith(month) === true && isFree(newest);
    const name = isNewest ? newest : newName;
    usedNames.add(name);
    return name;
  };
}

/** Whether the files contain foreign bytes or lack lines. */
export const needsRewrite = ({ files, missing }: AuditSurvey): boolean =>
  missing.length > 0 || files.some(({ hasForeignBytes }) => hasForeignBytes);

/** Removes files whose lines were declared missing; returns how many bytes that were. */
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

/** Gives the file a second name, because its first one is about to be replaced. */
function keepDamagedCopy(disk: Disk, auditFolder: string, name: string): string {
  for (let number = 1; ; number += 1) {
    const copyName = number === 1 ? `${name}.damaged` : `${name}.${number}.damaged`;
    try {
      disk.link(join(auditFolder, name), join(auditFolder, copyName));
      return copyName;
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    }
  }
}

const PART_BYTES = 1024 * 1024;

async function writeAuditFile(
  disk: Disk,
  auditFolder: string,
  name: string,
  oldPath: string,
  parts: AuditFileContent["parts"],
): Promise<void> {
  const temporaryPath = join(auditFolder, `${name}.new`);
  if (disk.stat(temporaryPath) !== null) disk.remove(temporaryPath);
  const file = disk.open(temporaryPath);
  try {
    for (const part of parts) {
      if ("raw" in part) {
        writeAll(file, part.raw);
        continue;
      }
      for (let at = part.offset; at < part.end; at += PART_BYTES) {
        const size = Math.min(PART_BYTES, part.end - at);
        await runBetweenRequests(() => copyRange(disk, oldPath, at, size, file));
      }
    }
    await file.sync();
  } finally {
    file.close();
  }
  disk.rename(temporaryPath, join(auditFolder, name));
}

function copyRange(disk: Disk, from: string, offset: number, size: number, to: OpenFile): void {
  const bytes = disk.readPart(from, offset, size);
  if (bytes?.length !== size) throw new Error(`${from} is shorter than expected`);
  writeAll(to, bytes);
}

/** Assigns each recovered line to the adjacent file of its month, or to a new file. */
function planContents(
  files: readonly SurveyedFile[],
  lines: ReadonlyMap<number, RecoveredLine>,
  chooseName: ChooseFileName,
): AuditFileContent[] {
  const contents = files.map((file): AuditFileContent => ({ name: file.name, file, parts: [] }));
  const runs = contents.flatMap((content) =>
    (content.file?.runs ?? []).map((run) => ({ run, content })),
  );
  const recovered = [...lines].toSorted(([a], [b]) => a - b);
  let previous: AuditFileContent | null = null;
  let index = 0;
  for (const { run, content: current } of [...runs, { run: null, content: null }]) {
    for (let entry = recovered[index]; entry !== undefined; entry = recovered[index]) {
      const [first, line] = entry;
      if (run !== null && first > run.firstSeq) break;
      const month = monthOf(line.at);
      const adjacent: AuditFileContent | undefined = [previous, current].find(
        (content) => content?.name.startsWith(month) === true,
      ) as AuditFileContent | undefined;
      if (adjacent === undefined) {
        previous = { name: chooseName(month, first, current === null), file: null, parts: [] };
        contents.push(previous);
      }
      (adjacent ?? previous)?.parts.push({ firstSeq: first, ...line });
      index += 1;
    }
    if (run === null) break;
    current?.parts.push(run);
    previous = current;
  }
  return contents;
}
