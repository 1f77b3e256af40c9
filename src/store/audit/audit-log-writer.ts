import { dirname, join } from "node:path";
import { findGap } from "../../domain/audit/audit-gaps.ts";
import type { AuditGap } from "../../domain/model/state.ts";
import type { Instant } from "../../domain/time.ts";
import type { Disk, OpenFile } from "../../platform/files/disk.ts";
import { writeAll } from "../../platform/files/files.ts";
import { AUDIT_FOLDER } from "../folder/files.ts";
import { decodeLine } from "../journal/journal.ts";
import { monthOf, formatRepairHint } from "./audit-log.ts";
import { AuditDamaged } from "../folder/refusal.ts";
import type { AuditLogEnd } from "../state/snapshot.ts";

export interface AuditLogWriterOptions {
  /** Gaps declared before this checkpoint or in the segments it covers. */
  readonly gaps?: readonly AuditGap[];
  /** Writes the missing end of the newest file again; false: it cannot. */
  readonly repairTail?: () => Promise<boolean>;
}

/**
 * Writes the audit log: audited lines, byte for byte as in the journal, in a file for each month of
 * their journal time. It is durable before the state that records its end. So everything after that
 * end is left from an unfinished checkpoint, and is written again.
 */
export class AuditLogWriter {
  readonly #disk: Disk;
  readonly #folder: string;
  /** The newest line of the audit log that the state covers. */
  readonly #lastRecordedSeq: number;
  #end: AuditLogEnd;
  #openFile: OpenFile | null = null;
  /** Files created by this checkpoint. */
  readonly #createdFiles = new Set<string>();
  /** The file of an earlier checkpoint that this one continues. */
  #continuedFile: string | null = null;
  readonly #gaps: readonly AuditGap[];
  readonly #repairTail: () => Promise<boolean>;

  constructor(
    disk: Disk,
    folder: string,
    end: AuditLogEnd,
    lastRecordedSeq: number,
    { gaps = [], repairTail = async () => false }: AuditLogWriterOptions = {},
  ) {
    this.#disk = disk;
    this.#gaps = gaps;
    this.#repairTail = repairTail;
    this.#folder = join(folder, AUDIT_FOLDER);
    this.#end = end;
    this.#lastRecordedSeq = lastRecordedSeq;
  }

  async append(at: Instant, auditSeq: number, raw: Uint8Array): Promise<void> {
    // Declared missing later: an older state was restored since.
    if (findGap(this.#gaps, auditSeq) !== null) return;
    const month = monthOf(at);
    let file = this.#openFile;
    if (file === null || this.#end.file?.startsWith(month) !== true) {
      await this.#closeFile();
      file = await this.#startFile(month, auditSeq);
      this.#openFile = file;
    }
    writeAll(file, raw);
    this.#end = { ...this.#end, length: this.#end.length + raw.length };
  }

  /** Makes all appended lines durable, and returns the new end of the audit log. */
  async close(): Promise<AuditLogEnd> {
    if (this.#openFile === null) return this.#end;
    await this.#closeFile();
    await this.#disk.syncFolder(this.#folder);
    return this.#end;
  }

  /** After a failure: closes the open file, and returns the files that were written to. */
  abandon(): ReadonlySet<string> {
    const file = this.#openFile;
    this.#openFile = null;
    try {
      file?.close();
    } catch {
      // The caller reports the error that came first.
    }
    return new Set([
      ...this.#createdFiles,
      ...(this.#continuedFile === null ? [] : [this.#continuedFile]),
    ]);
  }

  async #startFile(month: string, auditSeq: number): Promise<OpenFile> {
    this.#disk.makeFolder(this.#folder);
    const { file } = this.#end;
    if (file?.startsWith(month) === true && !this.#isClosedByGap(file))
      return this.#continueFile(this.#end);
    const name = this.#chooseFileName(month, auditSeq);
    this.#createdFiles.add(name);
    this.#end = { ...this.#end, file: name, length: 0 };
    return this.#disk.open(join(this.#folder, name));
  }

  /**
   * Lines of the file were declared missing: it is shorter than the state says, or about to be
   * removed.
   */
  #isClosedByGap(name: string): boolean {
    return this.#gaps.some(({ files }) => files.some((file) => file.name === name));
  }

  async #continueFile({ file: name, length }: AuditLogEnd): Promise<OpenFile> {
    const path = join(this.#folder, name ?? "");
    this.#continuedFile = name;
    const size = this.#disk.stat(path)?.size ?? 0;
    if (size < length && !(await this.#repairTail())) {
      throw new AuditDamaged(
        `${path} has ${size} bytes and should have ${length}: the audit log cannot be continued`,
        formatRepairHint(dirname(this.#folder), name ?? ""),
      );
    }
    const file = this.#disk.open(path);
    if (size > length) file.truncate(length);
    return file;
  }

  /**
   * A clock set back can lead into a month that already has a file; then the name gets a number.
   */
  #chooseFileName(month: string, auditSeq: number): string {
    this.#removeLeftovers(month);
    const name = `${month}.jsonl`;
    if (this.#isClosedByGap(name)) return `${month}-${auditSeq}.jsonl`;
    const path = join(this.#folder, name);
    const bytes = this.#disk.read(path);
    if (bytes === null) return name;
    const first = findFirstSeq(bytes);
    const isRecorded = first !== null && first <= this.#lastRecordedSeq;
    if (isRecorded || this.#createdFiles.has(name)) return `${month}-${auditSeq}.jsonl`;
    // Unreadable lines may be part of the audit log: the file is renamed, not removed.
    if (first === null && bytes.includes(LF)) {
      this.#disk.rename(path, `${path}.${auditSeq}.torn`);
    } else this.#disk.remove(path);
    return name;
  }

  /**
   * Removes numbered files of unfinished checkpoints, whose names avoided a file that no longer
   * exists.
   */
  #removeLeftovers(month: string): void {
    for (const name of this.#disk.list(this.#folder)) {
      const match = NUMBERED_FILE_NAME.exec(name);
      const isRecorded =
        Number(match?.[1]) <= this.#lastRecordedSeq || this.#createdFiles.has(name);
      if (match === null || isRecorded || !name.startsWith(month)) continue;
      this.#disk.remove(join(this.#folder, name));
    }
  }

  async #closeFile(): Promise<void> {
    if (this.#openFile === null) return;
    const file = this.#openFile;
    this.#openFile = null;
    try {
      await file.sync();
    } finally {
      file.close();
    }
  }
}

/** A second file of one month, named by its first line. */
const NUMBERED_FILE_NAME = /^\d{4}-\d{2}-([1-9]\d{0,15})\.jsonl$/;

const LF = 10;

/** The number of the first readable line: a single damaged line must not make the file unusable. */
function findFirstSeq(bytes: Uint8Array<ArrayBuffer>): number | null {
  let offset = 0;
  for (let lineEnd = bytes.indexOf(LF); lineEnd >= 0; lineEnd = bytes.indexOf(LF, offset)) {
    const seq = decodeLine(bytes.subarray(offset, lineEnd))?.audit_seq;
    if (seq !== undefined) return seq;
    offset = lineEnd + 1;
  }
  return null;
}
