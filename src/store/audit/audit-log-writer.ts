import { dirname, join } from "node:path";
import { findGap } from "../../domain/audit-gaps.ts";
import type { AuditGap } from "../../domain/state.ts";
import type { Instant } from "../../domain/time.ts";
import type { Disk, OpenFile } from "../../platform/disk.ts";
import { writeAll } from "../../platform/files.ts";
import { AUDIT_FOLDER } from "../files.ts";
import { decodeLine } from "../journal.ts";
import { monthOf, formatRepairHint } from "./audit-log.ts";
import { AuditDamaged } from "../refusal.ts";
import type { AuditLogEnd } from "../snapshot.ts";

export interface AuditLogWriterOptions {
  /** Declared before this fold or in what it folds. */
  readonly gaps?: readonly AuditGap[];
  /** Writes the end of the newest file again, which is too short; false: it cannot. */
  readonly repairTail?: () => Promise<boolean>;
}

/**
 * The auditor's record: audited lines, byte for byte as they stood in the journal, by the month of
 * their journal time. It is durable before the state that says how far it goes, so whatever lies
 * beyond that is the leftover of a checkpoint that did not finish, and is written again.
 */
export class AuditLogWriter {
  readonly #disk: Disk;
  readonly #folder: string;
  /** The newest audited line in the record as the state knows it. */
  readonly #lastRecordedSeq: number;
  #end: AuditLogEnd;
  #openFile: OpenFile | null = null;
  /** Begun by this fold. */
  readonly #createdFiles = new Set<string>();
  /** Begun by an earlier one. */
  #continuedFile: string | null = null;
  readonly #gaps: readonly AuditGap[];
  readonly #repairTail: () => Promise<boolean>;

  constructor(
    disk: Disk,
    folder: string,
    end: AuditLogEnd,
    recorded: number,
    { gaps = [], repairTail = async () => false }: AuditLogWriterOptions = {},
  ) {
    this.#disk = disk;
    this.#gaps = gaps;
    this.#repairTail = repairTail;
    this.#folder = join(folder, AUDIT_FOLDER);
    this.#end = end;
    this.#lastRecordedSeq = recorded;
  }

  async append(at: Instant, auditSeq: number, raw: Uint8Array): Promise<void> {
    // Declared as gone since: an older state was gone back to.
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

  /** Makes everything added durable, and says where the record ends now. */
  async close(): Promise<AuditLogEnd> {
    if (this.#openFile === null) return this.#end;
    await this.#closeFile();
    await this.#disk.syncFolder(this.#folder);
    return this.#end;
  }

  /** After a failure: lets go of what is open, and names the files that were written to. */
  abandon(): ReadonlySet<string> {
    const file = this.#openFile;
    this.#openFile = null;
    try {
      file?.close();
    } catch {
      // What went wrong before is what counts.
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

  /** Lines of it were declared as gone: it is not as long as the state says, or about to go. */
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
   * A clock set back can lead into a month that already has a file; then the name is told apart.
   */
  #chooseFileName(month: string, auditSeq: number): string {
    this.#removeLeftovers(month);
    const name = `${month}.jsonl`;
    if (this.#isClosedByGap(name)) return `${month}-${auditSeq}.jsonl`;
    const path = join(this.#folder, name);
    const bytes = this.#disk.read(path);
    if (bytes === null) return name;
    const first = findFirstSeq(bytes);
    const kept = first !== null && first <= this.#lastRecordedSeq;
    if (kept || this.#createdFiles.has(name)) return `${month}-${auditSeq}.jsonl`;
    // Lines nobody can read may be on the record all the same: they are moved, not removed.
    if (first === null && bytes.includes(LF)) {
      this.#disk.rename(path, `${path}.${auditSeq}.torn`);
    } else this.#disk.remove(path);
    return name;
  }

  /**
   * A fold that did not count may have had to tell its name apart from a file that is gone by now.
   */
  #removeLeftovers(month: string): void {
    for (const name of this.#disk.list(this.#folder)) {
      const first = NUMBERED_FILE_NAME.exec(name);
      const counted = Number(first?.[1]) <= this.#lastRecordedSeq || this.#createdFiles.has(name);
      if (first === null || counted || !name.startsWith(month)) continue;
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

/** A second file of one month, by the first line in it. */
const NUMBERED_FILE_NAME = /^\d{4}-\d{2}-([1-9]\d{0,15})\.jsonl$/;

const LF = 10;

/** Of the first line that can be read: damage to one line is no reason to give up on a file. */
function findFirstSeq(bytes: Uint8Array<ArrayBuffer>): number | null {
  let offset = 0;
  for (let feed = bytes.indexOf(LF); feed >= 0; feed = bytes.indexOf(LF, offset)) {
    const seq = decodeLine(bytes.subarray(offset, feed))?.audit_seq;
    if (seq !== undefined) return seq;
    offset = feed + 1;
  }
  return null;
}
