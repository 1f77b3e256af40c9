import type { AuditGap } from "../domain/state.ts";
import type { Disk } from "../platform/disk.ts";
import { segmentsIn, type Numbered } from "./files.ts";
import { startOf, type LineStart } from "./journal.ts";
import { linesBefore } from "./lines.ts";
import { recordFiles, type RecordFile } from "./record.ts";
import { endOfWanted } from "./seek.ts";

/** A line of the record cannot be read, or is not there. */
export class RecordDamaged extends Error {
  override readonly name = "RecordDamaged";
  readonly line: number;

  constructor(line: number) {
    super(`line ${line} of the audit log is damaged or missing`);
    this.line = line;
  }
}

/** A data folder as one reads its record. */
export interface RecordPlace {
  readonly disk: Disk;
  readonly folder: string;
  /** Of the lines up to this one of the journal, those on record are in files of their own. */
  readonly covers: number;
  /** The newest line of the record. */
  readonly last: number;
  /** Lines that were declared as gone: nobody looks for them. */
  readonly gaps: readonly AuditGap[];
}

/** Where lines of the record stand right now: in files of the record, and in the journal. */
export class RecordFiles {
  readonly #disk: Disk;
  readonly #history: readonly RecordFile[];
  readonly #unreadable: readonly RecordFile[];
  readonly #journal: readonly Numbered[];
  readonly #covers: number;

  constructor({ disk, folder, covers }: RecordPlace) {
    this.#disk = disk;
    // By how they begin: whether that line is as it was written matters when it is read.
    const found = recordFiles(disk, folder, (line) => startOf(line)?.auditSeq);
    this.#history = found.filter(({ first }) => first !== Infinity);
    this.#unreadable = found.filter(({ first }) => first === Infinity);
    this.#journal = segmentsIn(disk, folder);
    // Checkpoints go on meanwhile: what the journal no longer has was folded.
    this.#covers = Math.max(covers, (this.#journal[0]?.number ?? 1) - 1);
  }

  /** In the order of their lines. */
  get history(): readonly RecordFile[] {
    return this.#history;
  }

  /**
   * The file of the record that holds this line, and where the line ends there; null: none does.
   * What a fold wrote does not count before its state does.
   */
  holding(line: number): { readonly file: RecordFile; readonly end: number } | null {
    const file = this.#history.findLast(({ first }) => first <= line);
    if (file === undefined) return null;
    const isWanted = ({ seq, auditSeq }: LineStart): boolean =>
      seq <= this.#covers && (auditSeq ?? Infinity) <= line;
    const end = endOfWanted(this.#disk, file.path, this.sizeOf(file), isWanted);
    const { value } = linesBefore(this.#disk, file.path, end).next();
    return value instanceof Uint8Array && startOf(value)?.auditSeq === line ? { file, end } : null;
  }

  /** Where the lines of a file of the record end that count. */
  endOf(file: RecordFile): number {
    return endOfWanted(this.#disk, file.path, this.sizeOf(file), ({ seq }) => seq <= this.#covers);
  }

  /** The journal's file with the last lines before `seen`. */
  segmentBefore(seen: number): Numbered | null {
    return this.#journal.findLast(({ number }) => number < seen) ?? null;
  }

  /** The journal's file with the first lines behind `seen`. */
  segmentAfter(seen: number): Numbered | null {
    const index = this.#journal.findLastIndex(({ number }) => number <= seen + 1);
    return this.#journal[Math.max(0, index)] ?? null;
  }

  /** Older than every line there is: whole months may have been let go of, oldest first. */
  isBeforeAll(line: number): boolean {
    const [oldest] = this.#history;
    if (oldest === undefined || oldest.first <= line) return false;
    return !this.#unreadable.some(({ name }) => name < oldest.name);
  }

  sizeOf({ path }: { readonly path: string }): number {
    return this.#disk.stat(path)?.size ?? 0;
  }
}
