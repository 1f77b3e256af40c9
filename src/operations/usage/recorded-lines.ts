import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { AuditLineLocator, type AuditLogSource } from "../../store/audit/line-locator.ts";
import { monthOf } from "../../store/audit/audit-log.ts";
import { decodeForward, findFirstLine, type OnDamage } from "../../store/audit/read-forward.ts";
import { USAGE_FOLDER } from "../../store/folder/files.ts";
import type { Instant } from "../../domain/time.ts";
import type { RecordedLine } from "../../usage/recorded-line.ts";
import { makeRow, readRows, type Row, type RowBlock } from "../../usage/recorded-rows.ts";
import { decodeAfter } from "./lines-after-position.ts";
import { UsageDamaged, type UsageWriter } from "./usage-files.ts";
import { readPosition, type LinesFile, type UsagePosition } from "./usage-position.ts";

/** So many lines share one checksum. */
const LINES_PER_BLOCK = 1_000;
/** A file is read at once: a new one begins after so many bytes. */
const BYTES_PER_FILE = 8 * 1024 * 1024;

/** Writes lines of the audit log as rows, which reports read instead of the audit log. */
export class RecordedLinesWriter {
  readonly #writer: UsageWriter;
  #files: LinesFile[];
  #last: RecordedLine | null = null;
  #rows: Row[] = [];
  #firstOfBlock = 0;
  #blocks: string[] = [];
  #firstOfFile = 0;
  /** A file is removed with the month of the audit log that it repeats. */
  #month = "";

  /** `before`: the files to continue. */
  constructor(writer: UsageWriter, before: readonly LinesFile[]) {
    this.#writer = writer;
    this.#files = [...before];
  }

  /** Lines before this point are not wanted: they do not lead to the next one. */
  restart(): void {
    this.#files = [];
    this.#blocks = [];
    this.#rows = [];
    this.#last = null;
  }

  async add(line: RecordedLine): Promise<void> {
    const { audit_seq: auditSeq = 0 } = line;
    const month = monthOf(line.at);
    if (month !== this.#month) {
      this.#endBlock();
      await this.#write();
      this.#month = month;
    }
    const follows = this.#last?.audit_seq === auditSeq - 1;
    if (this.#rows.length === LINES_PER_BLOCK || (this.#rows.length > 0 && !follows)) {
      this.#endBlock();
    }
    const isFirst = this.#rows.length === 0;
    if (isFirst) this.#firstOfBlock = auditSeq;
    this.#rows.push(makeRow(line, isFirst ? null : this.#last));
    this.#last = line;
    if (this.#blocks.length >= BLOCKS_PER_WRITE) await this.#write();
  }

  /** Returns all files, without those that contain only lines before the audit log. */
  async finish({ auditFiles }: AuditLineLocator): Promise<readonly LinesFile[]> {
    this.#endBlock();
    await this.#write();
    const oldest = auditFiles[0]?.firstSeq ?? 1;
    return this.#files.filter(
      (_file, index) => (this.#files[index + 1]?.from ?? Infinity) > oldest,
    );
  }

  #endBlock(): void {
    if (this.#rows.length === 0) return;
    if (this.#blocks.length === 0) this.#firstOfFile = this.#firstOfBlock;
    this.#blocks.push(encodeBlock({ auditSeq: this.#firstOfBlock, rows: this.#rows }));
    this.#rows = [];
  }

  async #write(): Promise<void> {
    if (this.#blocks.length === 0) return;
    const text = this.#blocks.join("");
    this.#blocks = [];
    const last = this.#files.at(-1);
    const prefix = `lines-${this.#month}-`;
    const isNew =
      last === undefined || last.length >= BYTES_PER_FILE || !last.name.startsWith(prefix);
    const { name, from, length } = isNew
      ? { name: `${prefix}${this.#writer.nextNumber()}.jsonl`, from: this.#firstOfFile, length: 0 }
      : last;
    const file = { name, from, length: await this.#writer.appendTo(name, length, text) };
    if (isNew) this.#files.push(file);
    else this.#files[this.#files.length - 1] = file;
  }
}

const BLOCKS_PER_WRITE = 50;

const checksum = (text: string): string =>
  Bun.hash.xxHash64(text).toString(16).padStart(CHECKSUM_LENGTH, "0");

const CHECKSUM_LENGTH = 16;

function encodeBlock(block: RowBlock): string {
  const text = JSON.stringify(block);
  return `${checksum(text)}${text}\n`;
}

/** The lines from `since` on, as `decodeForward` reads them: from rows as far as there are any. */
export function* decodeRecorded(
  source: AuditLogSource,
  since: Instant | null,
  onDamage: OnDamage,
): Generator<RecordedLine | null> {
  const { disk, folder, lastSeq } = source;
  const position = readPosition(disk, folder);
  const first = findFirstLine(source, since, onDamage);
  const firstRow = position?.lines[0]?.from ?? Infinity;
  if (position === null || Math.max(first, firstRow) > Math.min(position.audit_seq, lastSeq))
    yield* decodeForward(source, { since }, onDamage);
  else yield* decodeWithRows(source, { since, first, position }, onDamage);
}

interface RowsStart {
  readonly since: Instant | null;
  /** The first line at `since`. */
  readonly first: number;
  readonly position: UsagePosition;
}

function* decodeWithRows(
  source: AuditLogSource,
  { since, first, position }: RowsStart,
  onDamage: OnDamage,
): Generator<RecordedLine | null> {
  const firstRow = position.lines[0]?.from ?? Infinity;
  if (first < firstRow) {
    for (const line of decodeForward(source, { since }, onDamage)) {
      if ((line?.audit_seq ?? 0) >= firstRow) break;
      yield line;
    }
  }
  yield* readRecordedLines(source, position, first);
  yield* decodeAfter(source, position, onDamage);
}

/** Throws UsageDamaged if a file does not contain what was written. */
export function checkRecordedLines(disk: Disk, folder: string, { lines }: UsagePosition): void {
  for (const { name, length } of lines) {
    for (const block of readBlocks(disk, join(folder, USAGE_FOLDER, name), length)) void block;
  }
}

/** Null comes after each block, so that a server can serve requests. */
function* readRecordedLines(
  { disk, folder }: AuditLogSource,
  { lines: files }: UsagePosition,
  first: number,
): Generator<RecordedLine | null> {
  for (const [index, file] of files.entries()) {
    if ((files[index + 1]?.from ?? Infinity) <= first) continue;
    for (const block of readBlocks(disk, join(folder, USAGE_FOLDER, file.name), file.length)) {
      for (const line of readRows(block)) if ((line.audit_seq ?? 0) >= first) yield line;
      yield null;
    }
  }
}

function* readBlocks(disk: Disk, path: string, length: number): Generator<RowBlock> {
  const bytes = disk.readPart(path, 0, length);
  if (bytes?.length !== length) throw new UsageDamaged(`${path} is shorter than ${length} bytes`);
  const texts = new TextDecoder().decode(bytes).split("\n");
  if (texts.pop() !== "") throw new UsageDamaged(`${path} is damaged`);
  for (const text of texts) {
    const block = text.slice(CHECKSUM_LENGTH);
    if (checksum(block) !== text.slice(0, CHECKSUM_LENGTH))
      throw new UsageDamaged(`${path} is damaged`);
    yield JSON.parse(block) as RowBlock;
  }
}
