import { parseTOML, ParseError, type AST } from "toml-eslint-parser";
import type { FindingList, RulesFinding } from "./rules-finding.ts";

/** A site without internet access has no other description of the syntax at hand. */
const SYNTAX_EXAMPLE =
  'for example [groups.sim] with users = ["ada"], and [[rule]] with product = "CAD"';

/** A TOML value with the line on which it begins. */
export type TomlNode = TomlTable | TomlList | TomlScalar;

export interface TomlTable {
  readonly kind: "table";
  readonly line: number;
  readonly entries: Map<string, TomlEntry>;
}

export interface TomlEntry {
  /** The line of the key. */
  readonly line: number;
  readonly node: TomlNode;
}

export interface TomlList {
  readonly kind: "list";
  readonly line: number;
  readonly items: TomlNode[];
}

export interface TomlScalar {
  readonly kind: "string" | "integer" | "boolean" | "other";
  readonly line: number;
  readonly value: string | number | boolean | null;
}

/**
 * Null: the text is not valid TOML; the findings say where. It pauses before each further parse of
 * the text, so that other work can be done.
 */
export function* readTomlTree(
  text: string,
  findings: FindingList,
): Generator<void, TomlTable | null> {
  const deepLine = findDeepLine(text);
  if (deepLine !== null) {
    findings.error(deepLine, "lists and tables are nested too deep", SYNTAX_EXAMPLE);
    return null;
  }
  let lines: string[] | null = null;
  const invalidLines = new Set<number>();
  while (invalidLines.size < MAX_SYNTAX_ERRORS) {
    const result = tryParse(lines === null ? text : lines.join("\n"));
    if ("body" in result) return lines === null ? buildTree(result) : null;
    const { line, message } = result;
    // The cause is in another line, such as a list that is not closed.
    if (invalidLines.has(line)) return null;
    invalidLines.add(line);
    findings.error(line, message, SYNTAX_EXAMPLE);
    if (text.length > MAX_RECOVERED_LENGTH) return null;
    // The next errors are found by parsing the text without this line.
    lines ??= text.split("\n");
    const invalid = lines[line - 1];
    if (invalid === undefined) return null;
    lines[line - 1] = invalid.trimStart().startsWith("[") ? "[[invalid]]" : "";
    yield;
  }
  return null;
}

/** Each error costs another parse of the text. */
const MAX_SYNTAX_ERRORS = 20;
const MAX_RECOVERED_LENGTH = 65_536;

type SyntaxFault = Pick<RulesFinding, "line" | "message">;

function tryParse(text: string): AST.TOMLProgram | SyntaxFault {
  try {
    return parseTOML(text);
  } catch (error) {
    if (error instanceof ParseError) {
      const { lineNumber, message, index } = error;
      // What is missing at the end of a line is reported in the line after it.
      const previous = text.split("\n", lineNumber - 1).at(-1) ?? "";
      const missing = OPEN_HEADER.test(previous) ? "]" : OPEN_VALUE.test(previous) ? "a value" : "";
      return missing === ""
        ? { line: lineNumber, message: `${INVALID}: ${describeError(message, text, index)}` }
        : { line: lineNumber - 1, message: `${INVALID}: ${missing} is missing` };
    }
    // The parser's stack overflows with values of a hundred thousand characters.
    if (error instanceof RangeError) {
      return { line: 0, message: `${INVALID}: a value is too long` };
    }
    throw error;
  }
}

const INVALID = "not valid TOML";
const OPEN_HEADER = /^\s*\[[^\]]*$/;
const OPEN_VALUE = /^[^"'#[{]*=\s*(?:#.*)?$/;

/** Neither printable ASCII nor the end of a line. */
const UNSEEN = /[^ -~\r\n]/u;

function describeError(message: string, text: string, index: number): string {
  if (message === "Defining a key multiple times is invalid")
    return "this key or table is defined twice";
  const plain = message.charAt(0).toLowerCase() + message.slice(1);
  const code = text.codePointAt(index) ?? 0;
  // A space that is none, or a character that cannot be seen, would be searched in vain.
  return message === "Unexpected character" && UNSEEN.test(String.fromCodePoint(code))
    ? `${plain} U+${code.toString(16).toUpperCase().padStart(4, "0")}`
    : plain;
}

function buildTree({ body: [top] }: AST.TOMLProgram): TomlTable {
  const root = newTable(1);
  for (const part of top.body) {
    if (part.type === "TOMLKeyValue") addValue(root, part);
    else {
      const table = openTable(root, part);
      for (const pair of part.body) addValue(table, pair);
    }
  }
  return root;
}

const newTable = (line: number): TomlTable => ({ kind: "table", line, entries: new Map() });

const lineOf = ({ loc }: AST.HasLocs): number => loc.start.line;

/** The table that a header `[a.b]` or `[[a.b]]` begins. The parser has checked that it may. */
function openTable(root: TomlTable, { key, kind }: AST.TOMLTable): TomlTable {
  const names = key.keys.map(readKey);
  const line = lineOf(key);
  const last = names.length - 1;
  let table = root;
  for (const [index, name] of names.entries()) {
    const found = table.entries.get(name)?.node;
    if (index === last && kind === "array") {
      const next = newTable(line);
      if (found?.kind === "list") found.items.push(next);
      else table.entries.set(name, { line, node: { kind: "list", line, items: [next] } });
      return next;
    }
    table = descend(table, name, line);
  }
  return table;
}

/** The table below a name; of a list of tables, its last one. */
function descend(table: TomlTable, name: string, line: number): TomlTable {
  const found = table.entries.get(name)?.node;
  if (found?.kind === "table") return found;
  const last = found?.kind === "list" ? found.items.at(-1) : undefined;
  if (last?.kind === "table") return last;
  const next = newTable(line);
  table.entries.set(name, { line, node: next });
  return next;
}

function addValue(table: TomlTable, { key, value }: AST.TOMLKeyValue): void {
  const names = key.keys.map(readKey);
  const line = lineOf(key);
  let target = table;
  for (const name of names.slice(0, -1)) target = descend(target, name, line);
  target.entries.set(names.at(-1) ?? "", { line, node: readValue(value) });
}

const readKey = (key: AST.TOMLBare | AST.TOMLQuoted): string =>
  key.type === "TOMLBare" ? key.name : key.value;

function readValue(node: AST.TOMLContentNode): TomlNode {
  const line = lineOf(node);
  if (node.type === "TOMLArray") {
    return { kind: "list", line, items: node.elements.map(readValue) };
  }
  if (node.type === "TOMLInlineTable") {
    const table = newTable(line);
    for (const pair of node.body) addValue(table, pair);
    return table;
  }
  switch (node.kind) {
    case "string":
    case "integer":
    case "boolean":
      return { kind: node.kind, line, value: node.value };
    default:
      return { kind: "other", line, value: null };
  }
}

/** Rules need four levels: each bracket that is open at the same time is one. */
const MAX_DEPTH = 32;

/**
 * The line in which lists and tables are nested too deep; null: in none. What reads the text later
 * is recursive, so a text of brackets must not reach it.
 */
function findDeepLine(text: string): number | null {
  let [line, depth] = [1, 0];
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index];
    if (char === "\n") line += 1;
    else if (char === "[" || char === "{") {
      depth += 1;
      if (depth > MAX_DEPTH) return line;
    } else if (char === "]" || char === "}") depth = Math.max(0, depth - 1);
    else if (char === "#" || char === '"' || char === "'") {
      const end = findEnd(text, index);
      for (; index < end; index += 1) if (text[index] === "\n") line += 1;
      // The loop steps over the last character.
      index -= 1;
    }
  }
  return null;
}

/** Where the comment or the string that begins here has ended. */
function findEnd(text: string, start: number): number {
  const quote = text[start] ?? "";
  const isComment = quote === "#";
  const isLong = !isComment && text.startsWith(quote.repeat(3), start);
  const close = isComment ? "\n" : isLong ? quote.repeat(3) : quote;
  for (let index = start + close.length; index < text.length; index += 1) {
    if (text.startsWith(close, index)) return isComment ? index : endOfQuotes(text, index, isLong);
    // A string that is not closed ends with its line.
    if (!isLong && text[index] === "\n") return index;
    if (quote === '"' && text[index] === "\\") index += 1;
  }
  return text.length;
}

/** A long string may end with one or two quotes of its own. */
function endOfQuotes(text: string, start: number, isLong: boolean): number {
  let end = start + (isLong ? 3 : 1);
  const last = isLong ? end + 2 : end;
  while (end < last && text[end] === text[start]) end += 1;
  return end;
}
