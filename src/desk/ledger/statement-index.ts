import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { DeskRefused } from "../desk-refused.ts";
import type { StatementEntry } from "./ledger-entries.ts";
import { LEDGER_FILE, parseEntry } from "./ledger-lines.ts";

/** A statement's line of the ledger, which is parsed only when it is needed. */
export interface StatementPosition {
  readonly type: "position";
  readonly appliance: string;
  readonly from: number;
  readonly length: number;
}

type IndexedStatement = StatementEntry | StatementPosition;

const START = Buffer.from('{"type":"statement","at":"');
const AFTER_TIME = Buffer.from('","appliance":"');
const TIME_END = START.length + "2026-03-02T09:00:00.000Z".length;
const APPLIANCE = TIME_END + AFTER_TIME.length;
const QUOTE = 34;

/** A line as the ledger writes it begins with its type, time and appliance; null: another line. */
export function findStatement(bytes: Buffer, from: number): StatementPosition | null {
  if (bytes.length < APPLIANCE) return null;
  // `Buffer.compare` is called only where the first letters of the type fit.
  if (bytes[9] !== START[9] || bytes[10] !== START[10]) return null;
  if (bytes.compare(START, 0, START.length, 0, START.length) !== 0) return null;
  if (bytes.compare(AFTER_TIME, 0, AFTER_TIME.length, TIME_END, APPLIANCE) !== 0) return null;
  const appliance = bytes.toString("latin1", APPLIANCE, bytes.indexOf(QUOTE, APPLIANCE));
  if (!/^[0-9A-Z]+$/.test(appliance)) return null;
  return { type: "position", appliance, from, length: bytes.length };
}

/** The statements of each appliance, oldest first. */
export class StatementIndex {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #of = new Map<string, IndexedStatement[]>();
  #last: IndexedStatement | null = null;

  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#path = join(folder, LEDGER_FILE);
  }

  add(statement: IndexedStatement): void {
    this.#last = statement;
    const known = this.#of.get(statement.appliance);
    if (known === undefined) this.#of.set(statement.appliance, [statement]);
    else known.push(statement);
  }

  senders(): string[] {
    return [...this.#of.keys()];
  }

  of(appliance: string): readonly StatementEntry[] {
    const entries = (this.#of.get(appliance) ?? []).map((statement) => this.#read(statement));
    if (entries.length > 0) this.#of.set(appliance, entries);
    return entries;
  }

  last(): StatementEntry | null {
    return this.#last && this.#read(this.#last);
  }

  #read(statement: IndexedStatement): StatementEntry {
    if (statement.type === "statement") return statement;
    const { appliance, from, length } = statement;
    const bytes = this.#disk.readPart(this.#path, from, length) ?? new Uint8Array();
    const entry = parseEntry(Buffer.from(bytes));
    if (entry?.type === "statement" && entry.appliance === appliance) return entry;
    throw new DeskRefused(
      `${this.#path} is damaged at byte ${from}, in a statement of appliance ${appliance}`,
      "restore it from a backup; berth vendor verify names the line",
    );
  }
}
