// Edits of the sources that name a declaration and a pattern in it instead of a file and a text, so
// that an edit stays valid when code is moved, renamed around it, or formatted differently.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Captures,
  findMatches,
  parsePattern,
  parseSource,
  type PatternMatch,
  type SyntaxNode,
  walk,
} from "./code-patterns.ts";

export interface SourceEdit {
  /** A function, a constant or a member of a class: `checkpoint`, `LiveState.write`, `Store.#tick`. */
  readonly in: string;
  /** A pattern of code-patterns.ts, which must match exactly one place in that declaration. */
  readonly find: string;
  /** What to put there. The holes of the pattern stand for what they matched. */
  readonly replace: string;
}

export interface EditedFile {
  /** Relative to the root of the sources. */
  readonly path: string;
  readonly text: string;
}

/** The texts of all files below src, by their paths. */
type SourceTexts = ReadonlyMap<string, string>;

export const readSources = (root: string): Map<string, string> =>
  new Map(
    [...new Bun.Glob("src/**/*.{ts,tsx}").scanSync(root)].map((path) => [
      path,
      readFileSync(join(root, path), "utf8"),
    ]),
  );

/** The only file that the edit changes, with its new text. */
export function applyEdit(sources: SourceTexts, edit: SourceEdit): EditedFile {
  const pattern = parsePattern(edit.find);
  const places = findDeclarations(sources, edit.in).flatMap(({ path, text, node }) =>
    findMatches(node, pattern).map((match) => ({ path, text, match })),
  );
  const [place, ...others] = places;
  if (place === undefined || others.length > 0) {
    throw new Error(`${edit.in} contains ${edit.find} ${places.length} times, not once`);
  }
  const { path, text, match } = place;
  const { start, end } = match.node;
  const edited = text.slice(0, start) + fillIn(edit.replace, match, text) + text.slice(end);
  parseSource(path, edited);
  if (edited === text) throw new Error(`${edit.in} stays the same: ${edit.find}`);
  return { path, text: edited };
}

const HOLES = /\$\$?\w+/g;

function fillIn(replacement: string, { captures }: PatternMatch, text: string): string {
  return replacement.replace(HOLES, (hole) => readCapture(captures, hole, replacement, text));
}

/** Operators in them would otherwise mix with those around the hole. */
const NEEDS_PARENTHESES = /^(?:Arrow|Assignment|Await|Binary|Conditional|Logical|Unary)/;

function readCapture(captures: Captures, hole: string, replacement: string, text: string): string {
  const nodes = captures.get(hole);
  if (nodes === undefined) throw new Error(`the pattern has no ${hole}: ${replacement}`);
  const [first, last] = [nodes.at(0), nodes.at(-1)];
  if (first === undefined || last === undefined) return "";
  const code = text.slice(first.start, last.end);
  const isWhole = hole === replacement || nodes.length > 1;
  return !isWhole && NEEDS_PARENTHESES.test(first.type) ? `(${code})` : code;
}

interface Declaration {
  readonly name: string;
  readonly path: string;
  readonly text: string;
  readonly node: SyntaxNode;
}

/** Parsed once: a list of edits looks into the same files again and again. */
const parsedFiles = new Map<string, readonly Declaration[]>();

function findDeclarations(sources: SourceTexts, name: string): readonly Declaration[] {
  const lastName = name.split(".").at(-1) ?? name;
  const found: Declaration[] = [];
  for (const [path, text] of sources) {
    if (!text.includes(lastName)) continue;
    const key = `${path}\n${text}`;
    const declarations = parsedFiles.get(key) ?? listDeclarations(path, text);
    parsedFiles.set(key, declarations);
    found.push(...declarations.filter((declaration) => declaration.name === name));
  }
  if (found.length === 0) throw new Error(`nothing in src is named ${name}`);
  return found;
}

function listDeclarations(path: string, text: string): Declaration[] {
  const declarations: Declaration[] = [];
  const add = (name: string, node: SyntaxNode): void => {
    declarations.push({ name, path, text, node });
  };
  for (const node of walk(parseSource(path, text))) {
    if (node.type === "FunctionDeclaration") add(nameOf(node["id"]), node);
    if (node.type === "VariableDeclarator") add(nameOf(node["id"]), node);
    if (node.type === "ClassDeclaration") {
      for (const member of walk(node)) {
        if (member.type !== "MethodDefinition" && member.type !== "PropertyDefinition") continue;
        add(`${nameOf(node["id"])}.${nameOf(member["key"])}`, member);
      }
    }
  }
  return declarations;
}

/** With `#`, if it is private. */
function nameOf(id: unknown): string {
  if (typeof id !== "object" || id === null || !("name" in id) || !("type" in id)) return "";
  return id.type === "PrivateIdentifier" ? `#${String(id.name)}` : String(id.name);
}
