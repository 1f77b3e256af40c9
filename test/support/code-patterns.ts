// Finds code by its structure, so that format, comments and local names do not matter. A pattern is
// TypeScript with holes: `$file.sync()` is a call of `sync` on anything, and `remove($$args)` a call
// with any arguments. A pattern that ends with `;` is a statement, any other an expression.
import { parseSync } from "oxc-parser";

export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** What the holes of a pattern stand for, by their names. */
export type Captures = ReadonlyMap<string, readonly SyntaxNode[]>;

export interface PatternMatch {
  readonly node: SyntaxNode;
  readonly captures: Captures;
}

/** Throws if the text cannot be parsed. */
export function parseSource(name: string, text: string): SyntaxNode {
  // Parentheses are format; whatever they group is in the structure.
  const { program, errors } = parseSync(name, text, { preserveParens: false });
  if (errors.length > 0) throw new Error(`${name}: ${errors[0]?.message}: ${text.slice(0, 200)}`);
  if (!isNode(program)) throw new Error(`${name} has no program`);
  return program;
}

export function parsePattern(pattern: string): SyntaxNode {
  const isStatement = pattern.endsWith(";");
  // In a method, a pattern may contain `await`, `return` and private names.
  const source = `class _ { async _() { ${isStatement ? pattern : `(${pattern});`} } }`;
  const method = parseSource("pattern.ts", source);
  const body = [...walk(method)].find(({ type }) => type === "BlockStatement");
  const [statement, ...others] = childrenOf(body?.["body"]);
  if (statement === undefined || others.length > 0) {
    throw new Error(`a pattern is one statement or one expression: ${pattern}`);
  }
  const { expression } = statement;
  return isStatement || !isNode(expression) ? statement : expression;
}

/** Every node below `root`, and `root` itself, that the pattern matches. */
export function findMatches(root: SyntaxNode, pattern: SyntaxNode): PatternMatch[] {
  const matches: PatternMatch[] = [];
  for (const node of walk(root)) {
    const captures = new Map<string, readonly SyntaxNode[]>();
    if (isMatch(pattern, node, captures)) matches.push({ node, captures });
  }
  return matches;
}

export function* walk(node: SyntaxNode): Generator<SyntaxNode> {
  yield node;
  for (const value of Object.values(node)) {
    for (const child of childrenOf(value)) yield* walk(child);
  }
}

const childrenOf = (value: unknown): SyntaxNode[] =>
  Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [];

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && "type" in value && "start" in value;

type NewCaptures = Map<string, readonly SyntaxNode[]>;

/** Positions and spellings; types are compared only where the pattern has them. */
const IGNORED_FIELDS = new Set(["start", "end", "range", "raw"]);
const OPTIONAL_FIELDS = new Set(["typeArguments", "typeAnnotation", "returnType"]);

function isMatch(pattern: unknown, value: unknown, captures: NewCaptures): boolean {
  if (Array.isArray(pattern)) return Array.isArray(value) && isListMatch(pattern, value, captures);
  if (!isRecord(pattern)) return Object.is(pattern, value);
  if (!isRecord(value)) return false;
  if (isNode(pattern) && isNode(value)) {
    const hole = findHole(pattern);
    if (hole?.startsWith("$$") === false) return capture(hole, [value], captures);
  }
  return Object.keys(pattern).every(
    (field) =>
      IGNORED_FIELDS.has(field) ||
      (OPTIONAL_FIELDS.has(field) && !isRecord(pattern[field])) ||
      isMatch(pattern[field], value[field], captures),
  );
}

/** A hole with `$$` stands for the rest of a list, so it can only be the last element. */
function isListMatch(
  patterns: readonly unknown[],
  values: readonly unknown[],
  captures: NewCaptures,
): boolean {
  const last = patterns.at(-1);
  const rest = isNode(last) ? findHole(last) : null;
  if (rest?.startsWith("$$") !== true) {
    return (
      patterns.length === values.length &&
      patterns.every((pattern, index) => isMatch(pattern, values[index], captures))
    );
  }
  const first = patterns.slice(0, -1);
  return (
    first.length <= values.length &&
    first.every((pattern, index) => isMatch(pattern, values[index], captures)) &&
    capture(rest, values.slice(first.length).filter(isNode), captures)
  );
}

/** The same hole twice stands for the same code twice. */
function capture(hole: string, nodes: readonly SyntaxNode[], captures: NewCaptures): boolean {
  const earlier = captures.get(hole);
  if (earlier !== undefined) return isMatch(earlier, nodes, new Map());
  captures.set(hole, nodes);
  return true;
}

/** The name of the hole, also where it stands for a statement or for a property of an object. */
function findHole(node: SyntaxNode): string | null {
  if (node.type === "Identifier" && typeof node["name"] === "string") {
    return node["name"].startsWith("$") ? node["name"] : null;
  }
  const inner =
    node.type === "ExpressionStatement"
      ? node["expression"]
      : node.type === "Property" && node["shorthand"] === true
        ? node["key"]
        : null;
  return isNode(inner) ? findHole(inner) : null;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;
