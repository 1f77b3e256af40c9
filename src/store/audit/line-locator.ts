import type { AuditGap } from "../../domain/model/state.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { listSegments, type NumberedFile } from "../folder/files.ts";
import { parseLinePrefix, type LinePrefix } from "../journal/journal.ts";
import { readLinesBackward, readLinesForward } from "../journal/line-reader.ts";
import { listAuditFiles, type AuditFile } from "./audit-log.ts";
import { findEndOfMatches } from "./line-search.ts";

/** A line of the audit log cannot be read, or is missing. */
export class AuditLineDamaged extends Error {
  override readonly name = "AuditLineDamaged";
  readonly auditSeq: number;

  constructor(line: number) {
    super(`line ${line} of the audit log is damaged or missing`);
    this.auditSeq = line;
  }
}

/** A data folder as a source of the audit log. */
export interface AuditLogSource {
  readonly disk: Disk;
  readonly folder: string;
  /** Audited lines up to this journal line are in the files of the audit log. */
  readonly coveredSeq: number;
  /** The newest line of the audit log. */
  readonly lastSeq: number;
  /** Lines that were declared missing: readers skip them. */
  readonly gaps: readonly AuditGap[];
}

/** Finds lines of the audit log, in its own files and in the journal. */
export class AuditLineLocator {
  readonly #disk: Disk;
  readonly #auditFiles: readonly AuditFile[];
  readonly #unreadable: readonly AuditFile[];
  readonly #segments: readonly NumberedFile[];
  readonly #coveredSeq: number;

  /** `searches`: a file whose first line is unreadable begins with the first one that is not. */
  constructor({ disk, folder, coveredSeq }: AuditLogSource, searches = false) {
    this.#disk = disk;
    // Sorted by line beginnings: whether the line is undamaged is checked when it is read.
    const files = listAuditFiles(disk, folder, (line) => parseLinePrefix(line)?.auditSeq);
    this.#unreadable = files.filter(({ firstSeq }) => firstSeq === Infinity);
    const recovered = searches ? this.#unreadable.map((file) => this.#searchFirstLine(file)) : [];
    this.#auditFiles = [...files.filter((file) => !this.#unreadable.includes(file)), ...recovered]
      .filter(({ firstSeq }) => firstSeq !== Infinity)
      .toSorted((a, b) => a.firstSeq - b.firstSeq);
    this.#segments = listSegments(disk, folder);
    // A checkpoint may have run meanwhile: lines that the journal no longer has are in the audit
    // log.
    this.#coveredSeq = Math.max(coveredSeq, (this.#segments[0]?.number ?? 1) - 1);
  }

  /** The readable files, in the order of their lines. */
  get auditFiles(): readonly AuditFile[] {
    return this.#auditFiles;
  }

  get segments(): readonly NumberedFile[] {
    return this.#segments;
  }

  /**
   * The audit file that contains this line, and where the line ends in it; null: none does. Lines
   * written by an unfinished checkpoint do not count.
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

  /** Where the valid lines of an audit file end. */
  findEndOfFile(file: AuditFile): number {
    return findEndOfMatches(
      this.#disk,
      file.path,
      this.getSize(file),
      ({ seq }) => seq <= this.#coveredSeq,
    );
  }

  /** The journal segment with the last lines before `seen`. */
  findSegmentBefore(journalSeq: number): NumberedFile | null {
    return this.#segments.findLast(({ number }) => number < journalSeq) ?? null;
  }

  /** The journal segment with the first lines after `seen`. */
  findSegmentAfter(journalSeq: number): NumberedFile | null {
    const index = this.#segments.findLastIndex(({ number }) => number <= journalSeq + 1);
    return this.#segments[Math.max(0, index)] ?? null;
  }

  /**
   * Whether the line is older than all existing lines: whole months may have been removed, oldest
   * first.
   */
  isOlderThanAllLines(line: number): boolean {
    const [oldest] = this.#auditFiles;
    if (oldest === undefined || oldest.firstSeq <= line) return false;
    return !this.#unreadable.some(({ name }) => name < oldest.name);
  }

  #searchFirstLine(file: AuditFile): AuditFile {
    for (const { bytes, isComplete } of readLinesForward(this.#disk, file.path, 0, Infinity)) {
      const auditSeq = isComplete ? parseLinePrefix(bytes)?.auditSeq : undefined;
      if (auditSeq != null) return { ...file, firstSeq: auditSeq };
    }
    return file;
  }

  getSize({ path }: { readonly path: string }): number {
    return this.#disk.stat(path)?.size ?? 0;
  }
}
