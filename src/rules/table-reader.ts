import { findNearest } from "../domain/text/nearest.ts";
import type { FindingList } from "./rules-finding.ts";
import type { TomlEntry, TomlTable } from "./toml-tree.ts";

export interface Located<T> {
  readonly value: T;
  readonly line: number;
}

export interface NumberRange {
  readonly min: number;
  readonly max: number;
}

/** Reads the members of a table, and reports what has a wrong name, type or size. */
export class TableReader {
  readonly #table: TomlTable;
  readonly #findings: FindingList;

  /** `where` names the table in messages, such as `limit`; empty: a rule or the file itself. */
  constructor(table: TomlTable, where: string, known: readonly string[], findings: FindingList) {
    this.#table = table;
    this.#findings = findings;
    for (const [key, { line }] of table.entries) {
      if (!known.includes(key))
        findings.error(line, describeKey(key, where), () => hintFor(key, known));
    }
  }

  has(key: string): boolean {
    return this.#table.entries.has(key);
  }

  entry(key: string): TomlEntry | null {
    return this.#table.entries.get(key) ?? null;
  }

  string(key: string, example: string): Located<string> | null {
    const entry = this.entry(key);
    if (entry === null) return null;
    const { node, line } = entry;
    if (node.kind === "string" && typeof node.value === "string") {
      return { value: node.value, line };
    }
    this.#wrongType(key, line, "a string", `${key} = "${example}"`);
    return null;
  }

  boolean(key: string): boolean | null {
    const entry = this.entry(key);
    if (entry === null) return null;
    const { node } = entry;
    if (node.kind === "boolean" && typeof node.value === "boolean") return node.value;
    this.#wrongType(key, entry.line, "true or false", `${key} = true`);
    return null;
  }

  count(key: string, range: NumberRange): Located<number> | null {
    const entry = this.entry(key);
    return entry === null ? null : readCount(key, entry, range, this.#findings);
  }

  strings(key: string, example: string): readonly Located<string>[] | null {
    const entry = this.entry(key);
    if (entry === null) return null;
    if (entry.node.kind !== "list") {
      this.#wrongType(key, entry.line, "a list of strings", `${key} = ["${example}"]`);
      return null;
    }
    return entry.node.items.flatMap((item) => {
      if (item.kind === "string" && typeof item.value === "string") {
        return [{ value: item.value, line: item.line }];
      }
      this.#wrongType(key, item.line, "a list of strings", `${key} = ["${example}"]`);
      return [];
    });
  }

  table(key: string, example: string): TomlTable | null {
    const entry = this.entry(key);
    if (entry === null) return null;
    if (entry.node.kind === "table") return entry.node;
    this.#wrongType(key, entry.line, "a table", example);
    return null;
  }

  tables(key: string, example: string): readonly TomlTable[] {
    const entry = this.entry(key);
    if (entry === null) return [];
    if (entry.node.kind !== "list") {
      this.#wrongType(key, entry.line, "a list of tables", example);
      return [];
    }
    return entry.node.items.flatMap((item) => {
      if (item.kind === "table") return [item];
      this.#wrongType(key, item.line, "a list of tables", example);
      return [];
    });
  }

  #wrongType(key: string, line: number, expected: string, example: string): void {
    this.#findings.error(line, `${key} must be ${expected}`, `for example ${example}`);
  }
}

export function readCount(
  key: string,
  { node, line }: TomlEntry,
  { min, max }: NumberRange,
  findings: FindingList,
): Located<number> | null {
  const { value } = node.kind === "integer" ? node : { value: null };
  if (typeof value === "number" && value >= min && value <= max) return { value, line };
  const range = `${min.toLocaleString("en-US")} to ${max.toLocaleString("en-US")}`;
  findings.error(
    line,
    `${key} must be a whole number from ${range}`,
    `for example ${key} = ${Math.max(min, 2)}`,
  );
  return null;
}

const describeKey = (key: string, where: string): string =>
  `unknown key ${quoteName(key)}${where === "" ? "" : ` in ${where}`}`;

const hintFor = (key: string, known: readonly string[]): string => {
  const nearest = findNearest(key, known);
  return nearest === null ? `known keys: ${known.join(", ")}` : `did you mean ${nearest}?`;
};

/** A name of the file in a message: shortened, and without characters that hide something. */
export function quoteName(name: string): string {
  const text = name.length > 64 ? `${name.slice(0, 64)}…` : name;
  return JSON.stringify(text).replaceAll(
    /[\p{Cc}\p{Cf}\p{DI}\u2028\u2029]/gu,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
