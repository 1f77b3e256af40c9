import { join } from "node:path";
import type { Instant } from "../domain/time.ts";
import type { Disk, OpenFile } from "../platform/disk.ts";
import { writeAll } from "../platform/files.ts";
import { HISTORY } from "./files.ts";
import { decodeLine } from "./journal.ts";
import { monthOf } from "./record.ts";
import type { HistoryEnd } from "./snapshot.ts";

/**
 * The auditor's record: audited lines, byte for byte as they stood in the journal, by the month of
 * their journal time. It is durable before the state that says how far it goes, so whatever lies
 * beyond that is the leftover of a checkpoint that did not finish, and is written again.
 */
export class History {
  readonly #disk: Disk;
  readonly #folder: string;
  /** The newest audited line in the record as the state knows it. */
  readonly #recorded: number;
  #end: HistoryEnd;
  #open: OpenFile | null = null;
  /** Begun by this fold. */
  readonly #mine = new Set<string>();

  constructor(disk: Disk, folder: string, end: HistoryEnd, recorded: number) {
    this.#disk = disk;
    this.#folder = join(folder, HISTORY);
    this.#end = end;
    this.#recorded = recorded;
  }

  async add(at: Instant, auditSeq: number, raw: Uint8Array): Promise<void> {
    const month = monthOf(at);
    let file = this.#open;
    if (file === null || this.#end.file?.startsWith(month) !== true) {
      await this.#finish();
      file = this.#start(month, auditSeq);
      this.#open = file;
    }
    writeAll(file, raw);
    this.#end = { ...this.#end, length: this.#end.length + raw.length };
  }

  /** Makes everything added durable, and says where the record ends now. */
  async close(): Promise<HistoryEnd> {
    if (this.#open === null) return this.#end;
    await this.#finish();
    await this.#disk.syncFolder(this.#folder);
    return this.#end;
  }

  #start(month: string, auditSeq: number): OpenFile {
    this.#disk.makeFolder(this.#folder);
    if (this.#end.file?.startsWith(month) === true) return this.#carryOn(this.#end);
    const name = this.#freeName(month, auditSeq);
    this.#mine.add(name);
    this.#end = { ...this.#end, file: name, length: 0 };
    return this.#disk.open(join(this.#folder, name));
  }

  #carryOn({ file: name, length }: HistoryEnd): OpenFile {
    const path = join(this.#folder, name ?? "");
    const size = this.#disk.stat(path)?.size ?? 0;
    if (size < length) throw new Error(`${path} has ${size} bytes and should have ${length}`);
    const file = this.#disk.open(path);
    if (size > length) file.truncate(length);
    return file;
  }

  /**
   * A clock set back can lead into a month that already has a file; then the name is told apart.
   */
  #freeName(month: string, auditSeq: number): string {
    const name = `${month}.jsonl`;
    const path = join(this.#folder, name);
    const bytes = this.#disk.read(path);
    if (bytes === null) return name;
    const first = decodeLine(bytes.subarray(0, Math.max(0, bytes.indexOf(10))));
    const kept = first?.audit_seq !== undefined && first.audit_seq <= this.#recorded;
    const free = kept || this.#mine.has(name) ? `${month}-${auditSeq}.jsonl` : name;
    const leftover = join(this.#folder, free);
    if (this.#disk.stat(leftover) !== null) this.#disk.remove(leftover);
    return free;
  }

  async #finish(): Promise<void> {
    if (this.#open === null) return;
    const file = this.#open;
    this.#open = null;
    try {
      await file.sync();
    } finally {
      file.close();
    }
  }
}
