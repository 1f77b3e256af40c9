import { join } from "node:path";
import { instant, type Instant } from "../../domain/time.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { replaceFile, writeAll } from "../../platform/files/files.ts";
import { monthOf } from "../../store/audit/audit-log.ts";
import { USAGE_FOLDER } from "../../store/folder/files.ts";
import { addEncodedHour, encodeHour } from "../../usage/usage-lines.ts";
import { FOLD_AFTER } from "../../usage/usage-series.ts";
import { foldHour, startOfHour, UsageTable } from "../../usage/usage-table.ts";
import { positionPath, type UsageFile, type UsagePosition } from "./usage-position.ts";

/** So many months are kept besides the current one, if the setting does not say otherwise. */
export const DEFAULT_USAGE_MONTHS = 18;

/** A file does not contain what the position says: everything has to be computed again. */
export class UsageDamaged extends Error {
  override readonly name = "UsageDamaged";
}

/** Creates the folder if it does not exist. */
export async function makeUsageFolder(disk: Disk, folder: string): Promise<void> {
  const path = join(folder, USAGE_FOLDER);
  if (disk.stat(path) !== null) return;
  disk.makeFolder(path);
  await disk.syncFolder(folder);
}

/** The files that contain steps between two instants. */
export const filterFiles = (
  { files }: UsagePosition,
  from: Instant,
  to: Instant,
): readonly UsageFile[] =>
  files.filter(({ name }) => name >= monthOf(from) && name.slice(0, MONTH_LENGTH) <= monthOf(to));

const MONTH_LENGTH = "2026-03".length;

/** Adds the steps of a file to a table. */
export function readUsageFile(
  disk: Disk,
  folder: string,
  { name, length }: UsageFile,
  table: UsageTable,
): void {
  const path = join(folder, USAGE_FOLDER, name);
  const bytes = disk.readPart(path, 0, length);
  if (bytes?.length !== length) throw new UsageDamaged(`${path} is shorter than ${length} bytes`);
  const [header, ...lines] = new TextDecoder().decode(bytes).split("\n");
  const isComplete = lines.pop() === "" && header !== undefined && header.startsWith(HEADER);
  if (!isComplete || !lines.every((line) => addEncodedHour(table, line)))
    throw new UsageDamaged(`${path} is damaged`);
}

const HEADER = '{"format":1,';

const encodeHeader = (month: string, auditSeq: number): string =>
  `${HEADER}"month":"${month}","after_audit_seq":${auditSeq}}\n`;

/** Writes the files of the folder; the position takes effect when everything else is on disk. */
export class UsageWriter {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #files: Map<string, UsageFile>;
  #newestFile: number;
  readonly #auditSeq: number;

  /** `before`: null to write everything anew. */
  constructor(disk: Disk, folder: string, before: UsagePosition | null, newestFile: number) {
    this.#disk = disk;
    this.#folder = join(folder, USAGE_FOLDER);
    this.#files = new Map(before?.files.map((file) => [file.name.slice(0, MONTH_LENGTH), file]));
    this.#newestFile = newestFile;
    this.#auditSeq = before?.audit_seq ?? 0;
  }

  /** Appends the steps of a table to the files of their months. */
  async append(table: UsageTable): Promise<void> {
    for (const [month, lines] of encodeMonths(table)) {
      const file = this.#files.get(month);
      if (file === undefined) await this.#create(month, lines, "steps");
      else {
        const length = await this.appendTo(file.name, file.length, lines.join(""));
        this.#files.set(month, { ...file, length });
      }
    }
  }

  /** Merges the months that are over, folds old ones to hours, and leaves out the oldest. */
  async compact(until: Instant, oldest: string): Promise<void> {
    for (const [month, file] of this.#files) {
      if (month < oldest) this.#files.delete(month);
      else if (month < monthOf(until)) {
        const isFoldable = monthOf(instant(until - FOLD_AFTER)) > month;
        const kind = isFoldable ? "hours" : "merged";
        if (file.kind === kind || file.kind === "hours") continue;
        const table = new UsageTable();
        readUsageFile(this.#disk, join(this.#folder, ".."), file, table);
        if (isFoldable) foldTable(table);
        const lines = [...encodeMonths(table).values()].flat();
        await this.#create(month, lines, kind);
      }
    }
  }

  /** Makes the written files valid, and removes all others. */
  async commit(position: Omit<UsagePosition, "format" | "files" | "newest_file">): Promise<void> {
    const files = [...this.#files.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const complete: UsagePosition = {
      format: 1,
      newest_file: this.#newestFile,
      files,
      ...position,
    };
    await this.#disk.syncFolder(this.#folder);
    const bytes = Buffer.from(`${JSON.stringify(complete)}\n`);
    await replaceFile(this.#disk, positionPath(join(this.#folder, "..")), bytes);
    const names = new Set([...files, ...position.lines].map(({ name }) => name));
    const unlisted = this.#disk
      .list(this.#folder)
      .filter((name) => USAGE_FILE_NAME.test(name) && !names.has(name));
    for (const name of unlisted) this.#disk.remove(join(this.#folder, name));
    if (unlisted.length > 0) await this.#disk.syncFolder(this.#folder);
  }

  /** For the name of a new file. */
  nextNumber(): number {
    return (this.#newestFile += 1);
  }

  async #create(month: string, lines: readonly string[], kind: UsageFile["kind"]): Promise<void> {
    const name = `${month}-${this.nextNumber()}.jsonl`;
    const text = encodeHeader(month, this.#auditSeq) + lines.join("");
    const length = await this.appendTo(name, 0, text);
    this.#files.set(month, { name, length, kind });
  }

  /** Returns the new length. What an interrupted update left behind the end is cut off. */
  async appendTo(name: string, length: number, text: string): Promise<number> {
    const path = join(this.#folder, name);
    const bytes = Buffer.from(text);
    const size = this.#disk.stat(path)?.size ?? 0;
    if (size < length) throw new UsageDamaged(`${path} is shorter than ${length} bytes`);
    const file = this.#disk.open(path);
    try {
      if (size > length) file.truncate(length);
      writeAll(file, bytes);
      await file.sync();
    } finally {
      file.close();
    }
    return length + bytes.length;
  }
}

const USAGE_FILE_NAME = /^(?:lines-)?\d{4}-\d{2}-\d+\.jsonl$/;

/** The lines of a table by month, oldest hour first. */
function encodeMonths(table: UsageTable): Map<string, string[]> {
  const months = new Map<string, string[]>();
  const hours = [...table.pools].flatMap((pool) =>
    [...pool.hours].map(([hour, figures]) => ({ pool, hour, figures })),
  );
  for (const { pool, hour, figures } of hours.toSorted((a, b) => a.hour - b.hour)) {
    const month = monthOf(startOfHour(hour));
    const lines = months.get(month) ?? [];
    lines.push(encodeHour(pool, hour, figures));
    months.set(month, lines);
  }
  return months;
}

function foldTable(table: UsageTable): void {
  for (const { hours } of table.pools) {
    for (const [hour, figures] of hours) hours.set(hour, foldHour(figures));
  }
}

export function findOldestMonth(until: Instant, keepMonths: number): string {
  const [year = 0, month = 0] = monthOf(until).split("-").map(Number);
  return monthOf(instant(Date.UTC(year, month - 1 - keepMonths)));
}
