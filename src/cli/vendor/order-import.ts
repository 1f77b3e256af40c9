import { readCsv } from "../../domain/text/csv-reader.ts";
import { csvRecords } from "../../domain/text/csv.ts";
import { findNearest } from "../../domain/text/nearest.ts";
import { USUAL_SIZE, type NewOrder } from "../../desk/orders/orders.ts";
import { combineTermsChanges, type TermsChanges } from "../../license/terms/terms-changes.ts";
import { Misuse } from "../frame/options.ts";
import { readTermTexts, TERM_COLUMNS } from "./read-terms-flags.ts";

/** The columns that are not terms of the licenses. */
const SIZE_COLUMNS = [
  "customer",
  "preset",
  "license_key",
  "appliances",
  "hosts",
  "moves",
  "allow_weak_binding",
  "policy_id",
] as const;

const ORDER_COLUMNS: readonly string[] = [...SIZE_COLUMNS, ...TERM_COLUMNS];

export interface ImportFault {
  readonly line: number;
  readonly problem: string;
}

export interface ImportedRow {
  readonly line: number;
  readonly order: NewOrder;
}

/** `readPreset`: the terms of a preset; `usual`: that of rows that name none. */
interface Presets {
  readonly usual: string | null;
  readonly read: (name: string) => TermsChanges;
}

/** Reads the rows of a CSV file as orders; a row is an order or a fault. */
export function readOrders(text: string, presets: Presets) {
  const parsed = readCsv(text);
  if (!parsed.ok) return { rows: [], faults: [parsed.fault] };
  const [header, ...rows] = parsed.value;
  if (header === undefined) throw new Misuse("the file is empty", SAMPLE_HINT);
  const columns = header.cells.map((cell) => cell.trim().toLowerCase().replaceAll("-", "_"));
  checkColumns(columns);
  const orders: ImportedRow[] = [];
  const faults: ImportFault[] = [];
  for (const { line, cells } of rows) {
    try {
      if (cells.length !== columns.length)
        throw new Misuse(`it has ${cells.length} cells, and the header ${columns.length}`, "");
      orders.push({ line, order: readOrder(columns, cells, presets) });
    } catch (error) {
      if (!(error instanceof Misuse)) throw error;
      faults.push({ line, problem: error.message });
    }
  }
  return { rows: orders, faults };
}

const SAMPLE_HINT = "berth vendor order import --sample prints a file to begin with";

function checkColumns(columns: readonly string[]): void {
  const unknown = columns.find((column) => !ORDER_COLUMNS.includes(column));
  if (unknown !== undefined) {
    const nearest = findNearest(unknown, ORDER_COLUMNS);
    const hint = nearest === null ? SAMPLE_HINT : `did you mean ${nearest}?`;
    throw new Misuse(`there is no column ${JSON.stringify(unknown)}`, hint);
  }
  const repeated = columns.find((column, index) => columns.indexOf(column) !== index);
  if (repeated !== undefined)
    throw new Misuse(`the column ${repeated} is there twice`, SAMPLE_HINT);
  if (!columns.includes("customer"))
    throw new Misuse("the column customer is missing", SAMPLE_HINT);
}

function readOrder(
  columns: readonly string[],
  cells: readonly string[],
  presets: Presets,
): NewOrder {
  const values = new Map(columns.map((column, index) => [column, cells[index]?.trim() ?? ""]));
  const read = (column: (typeof SIZE_COLUMNS)[number]): string | null => values.get(column) || null;
  const number = (column: "appliances" | "hosts" | "moves"): number => {
    const text = read(column);
    if (text === null) return USUAL_SIZE[column];
    if (!/^\d{1,9}$/.test(text)) throw new Misuse(`${column} must be a whole number: ${text}`, "");
    return Number(text);
  };
  const hosts = number("hosts");
  if (hosts !== 1 && hosts !== 2) throw new Misuse(`hosts must be 1 or 2: ${hosts}`, "");
  const customer = read("customer");
  if (customer === null) throw new Misuse("customer is empty", "");
  const preset = read("preset") ?? presets.usual;
  const terms = readTermTexts(new Map([...values].filter(([, text]) => text !== "")));
  return {
    customer,
    licenseKey: read("license_key"),
    terms: preset === null ? terms : combineTermsChanges(presets.read(preset), terms),
    appliances: number("appliances"),
    hosts,
    moves: number("moves"),
    allow_weak_binding: readYesNo(read("allow_weak_binding")),
    policy_id: read("policy_id"),
  };
}

function readYesNo(text: string | null): boolean {
  if (text === null || /^(?:no|false|0)$/i.test(text)) return false;
  if (/^(?:yes|true|1)$/i.test(text)) return true;
  throw new Misuse(`allow_weak_binding must be yes or no: ${text}`, "");
}

/** A file to begin with. */
export const sampleOrders = (): string[] =>
  csvRecords(
    ["customer", "product", "slots", "valid_until", "appliances", "moves", "borrow_hours"],
    [
      {
        customer: "Initech",
        product: "CAD",
        slots: 10,
        valid_until: "2027-12-31",
        appliances: 1,
        moves: 1,
        borrow_hours: 720,
      },
      {
        customer: "Initrode",
        product: "CAD",
        slots: 5,
        valid_until: "never",
        appliances: 2,
        moves: 1,
        borrow_hours: "",
      },
    ],
  );
