import { NO_ROW, RowTable } from "./row-table.ts";
import { hashString } from "./string-hash.ts";

/** The highest bits of a hash select one of 64 tables; the lowest select the place in it. */
const TABLE_SHIFT = 32 - 6;

/** A row number is the number of a chunk, followed by this many bits for the index in it. */
const CHUNK_BITS = 8;
const INDEX_MASK = (1 << CHUNK_BITS) - 1;

/**
 * A map that may grow to a million values, each of which contains its key.
 *
 * The garbage collector scans a changed Map as a whole, and requests wait meanwhile. Here it scans
 * only the chunks that got a new value: tables of numbers, which it does not scan, say in which row
 * a value is. A growing table is copied in one step, so there are several tables.
 *
 * `bun run bench --part tables` compares it with maps.
 */
export class LargeMap<V> {
  readonly #keyOf: (value: V) => string;
  readonly #tables: (RowTable | undefined)[] = [];
  readonly #chunks: (V | undefined)[][] = [];
  #rowCount = 0;
  /** Rows without a value. The last one is used first, so that few chunks change. */
  readonly #freeRows: number[] = [];
  /** The last key and its hash: a command looks up the same key several times. */
  #lastKey = "";
  #lastHash = hashString("");

  constructor(keyOf: (value: V) => string) {
    this.#keyOf = keyOf;
  }

  get size(): number {
    return this.#rowCount - this.#freeRows.length;
  }

  get(key: string): V | undefined {
    const hash = this.#hashOf(key);
    const table = this.#tableOf(hash);
    const row = table.rowAt(this.#findPlace(table, hash, key));
    return row === NO_ROW ? undefined : this.#valueAt(row);
  }

  /** Replaces the value with the same key, if there is one. */
  set(value: V): void {
    const key = this.#keyOf(value);
    const hash = this.#hashOf(key);
    const table = this.#tableOf(hash);
    const row = table.rowAt(this.#findPlace(table, hash, key));
    if (row === NO_ROW) table.add(hash, this.#addRow(value));
    else this.#setValue(row, value);
  }

  /** Adds the value, unless there is one with the same key already; returns that one. */
  addIfAbsent(value: V): V | undefined {
    const key = this.#keyOf(value);
    const hash = this.#hashOf(key);
    const table = this.#tableOf(hash);
    const row = table.rowAt(this.#findPlace(table, hash, key));
    if (row !== NO_ROW) return this.#valueAt(row);
    table.add(hash, this.#addRow(value));
    return undefined;
  }

  delete(key: string): void {
    const hash = this.#hashOf(key);
    const table = this.#tableOf(hash);
    const place = this.#findPlace(table, hash, key);
    const row = table.rowAt(place);
    if (row === NO_ROW) return;
    table.removeAt(place);
    this.#setValue(row, undefined);
    this.#freeRows.push(row);
  }

  #hashOf(key: string): number {
    if (key !== this.#lastKey) {
      this.#lastKey = key;
      this.#lastHash = hashString(key);
    }
    return this.#lastHash;
  }

  #tableOf(hash: number): RowTable {
    return (this.#tables[hash >>> TABLE_SHIFT] ??= new RowTable());
  }

  /** The place of the value with this key; a free place if there is none. */
  #findPlace(table: RowTable, hash: number, key: string): number {
    let place = table.firstPlace(hash);
    for (; table.rowAt(place) !== NO_ROW; place = table.nextPlace(place)) {
      if (table.hashAt(place) !== hash) continue;
      const value = this.#valueAt(table.rowAt(place));
      if (value !== undefined && this.#keyOf(value) === key) break;
    }
    return place;
  }

  #addRow(value: V): number {
    const row = this.#freeRows.pop() ?? this.#rowCount++;
    this.#setValue(row, value);
    return row;
  }

  #valueAt(row: number): V | undefined {
    return this.#chunks[row >>> CHUNK_BITS]?.[row & INDEX_MASK];
  }

  #setValue(row: number, value: V | undefined): void {
    (this.#chunks[row >>> CHUNK_BITS] ??= [])[row & INDEX_MASK] = value;
  }
}
