import type { AuditGap } from "../../domain/state.ts";
import type { Disk } from "../../platform/disk.ts";
import { listSegments, type NumberedFile } from "../files.ts";
import { parseLinePrefix, type LinePrefix } from "../journal.ts";
import { readLinesBackward } from "../line-reader.ts";
import { listAuditFiles, type AuditFile } from "./audit-log.ts";
import { findEndOfMatches } from "./line-search.ts";

/** A line of the record cannot be read, or is not there. */
export class AuditLineDamaged extends Error {
  override readonly name = "RecordDamaged";
  readonly auditSeq: number;

  constructor(line: number) {
    super(`line ${line} of the audit log is damaged or missing`);
    this.auditSeq = line;
  }
}

/** A data folder as one reads its record. */
export interface AuditLogSource {
  readonly disk: Disk;
  readonly folder: string;
  /** Of the lines up to this one of the journal, those on record are in files of their own. */
  readonly coveredSeq: number;
  /** The newest line of the record. */
  readonly lastSeq: number;
  /** Lines that were declared as gone: nobody looks for them. */
  readonly gaps: readonly AuditGap[];
}

/** Where lines of the record stand right now: in files of the record, and in the journal. */
export class AuditLineLocator {
  readonly #disk: Disk;
  readonly #auditFiles: readonly AuditFile[];
  readonly #unreadable: readonly AuditFile[];
  readonly #segments: readonly NumberedFile[];
  readonly #coveredSeq: number;

  constructor({ disk, folder, coveredSeq }: AuditLogSource) {
    this.#disk = disk;
    // By how they begin: whether that line is as it was written matters when it is read.
    const found = listAuditFiles(disk, folder, (line) => parseLinePrefix(line)?.auditSeq);
    this.#auditFiles = found.filter(({ firstSeq }) => firstSeq !== Infinity);
    this.#unreadable = found.filter(({ firstSeq }) => firstSeq === Infinity);
    this.#segments = listSegments(disk, folder);
    // Checkpoints go on meanwhile: what the journal no longer has was folded.
    this.#coveredSeq = Math.max(coveredSeq, (this.#segments[0]?.number ?? 1) - 1);
  }

  /** In the order of their lines. */
  get auditFiles(): readonly AuditFile[] {
    return this.#auditFiles;
  }

  /**
   * The file of the record that holds this line, and where the line ends there; null: none does.
   * What a fold wrote does not count before its state does.
   */
  findInAuditFiles(line: number): { readonly file: AuditFile; readonly end: number } | null {
    const file = this.#auditFiles.findLast(({ firstSeq }) => firstSeq <= line);
    if (file === undefined) return null;
    const isWanted = ({ seq, auditSeq }: LinePrefix): boolean =>
      seq <= this.#coveredSeq && (auditSeq ?? Infinity) <= line;
    const end = findEndOfMatches(this.#disk, file.path, this.getSize(file), isWanted);
    const { value } = readLinesBackward(this.#disk, file.path, end).next();
    return value instanceof Uint8Array && parseLinePrefix(value)?.auditSeq === line
      ? { file, end }
      : null;
  }

  /** Where the lines of a file of the record end that count. */
  findEndOfFile(file: AuditFile): number {
    return findEndOfMatches(
      this.#disk,
      file.path,
      this.getSize(file),
      ({ seq }) => seq <= this.#coveredSeq,
    );
  }

  /** The journal's file with the last lines before `seen`. */
  findSegmentBefore(seen: number): NumberedFile | null {
    return this.#segments.findLast(({ number }) => number < seen) ?? null;
  }

  /** The journal's file with the first lines behind `seen`. */
  findSegmentAfter(seen: number): NumberedFile | null {
    const index = this.#segments.findLastIndex(({ number }) => number <= seen + 1);
    return this.#segments[Math.max(0, index)] ?? null;
  }

  /** Older than every line there is: whole months may have been let go of, oldest first. */
  isOlderThanAllLines(line: number): boolean {
    const [oldest] = this.#auditFiles;
    if (oldest === undefined || oldest.firstSeq <= line) return false;
    return !this.#unreadable.some(({ name }) => name < oldest.name);
  }

  getSize({ path }: { readonly path: string }): number {
    return this.#disk.stat(path)?.size ?? 0;
  }
}
