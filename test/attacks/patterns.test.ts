import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { makeSlowTexts } from "./pattern-texts.ts";
import { MAX_STEPS, parsePattern, countSteps } from "./pattern-steps.ts";

const root = join(import.meta.dir, "..", "..");

interface FoundPattern {
  readonly where: string;
  readonly source: string;
  readonly flags: string;
}

/** Finds literals, arguments of `RegExp`, and `pattern` properties of schemas. */
function findPatterns(path: string, text: string): FoundPattern[] {
  const patterns: FoundPattern[] = [];
  const addPattern = (offset: number, source: string, flags: string): void => {
    const line = text.slice(0, offset).split("\n").length;
    patterns.push({ where: `${path}:${line}`, source, flags });
  };
  const addFromCall = ({ callee, arguments: args, start }: CallNode): void => {
    if (!("name" in callee) || callee.name !== "RegExp") return;
    const source = textOf(args[0]);
    if (source === null) throw new Error(`${path}: the argument of RegExp is not a text`);
    addPattern(start, source, textOf(args[1]) ?? "");
  };
  const visitor = new Visitor({
    Literal(node) {
      if ("regex" in node) addPattern(node.start, node.regex.pattern, node.regex.flags);
    },
    NewExpression: addFromCall,
    CallExpression: addFromCall,
    Property({ key, value, start }) {
      const isPattern = key.type === "Identifier" && key.name === "pattern";
      const source = isPattern ? textOf(value) : null;
      if (source !== null) addPattern(start, source, "");
    },
  });
  visitor.visit(parseSync(path, text).program);
  return patterns;
}

/** The members of a call that are used here. */
interface CallNode {
  readonly callee: object;
  readonly arguments: readonly object[];
  readonly start: number;
}

interface TextNode {
  readonly value?: unknown;
  readonly quasis?: readonly { readonly value: { readonly cooked: string | null } }[];
}

/** A text in the source; `5` replaces the expressions of a template. */
function textOf(node: object | undefined): string | null {
  const { value, quasis }: TextNode = node ?? {};
  if (typeof value === "string") return value;
  return quasis?.map((part) => part.value.cooked).join("5") ?? null;
}

const SHORT = 200;
const LONG = 2 * SHORT;

/** For twice the text, linear growth takes twice the steps and quadratic growth four times. */
const MAX_GROWTH = 3;
/**
 * The shorter text may match and the longer one not: that takes more steps, but is not quadratic.
 */
const SLACK = 10 * LONG;

/** Describes a text for which the steps grow faster than its length; null: there is none. */
function findSlowText({ source, flags }: Pick<FoundPattern, "source" | "flags">): string | null {
  const node = parsePattern(source, flags);
  const [short, long] = [makeSlowTexts(node, SHORT), makeSlowTexts(node, LONG)];
  for (const [index, text] of long.entries()) {
    const before = countSteps(node, short[index] ?? "");
    const steps = before > MAX_STEPS ? before : countSteps(node, text);
    if (steps > MAX_STEPS || steps > MAX_GROWTH * before + SLACK) {
      return `${steps} steps, but ${before} for half of the text ${JSON.stringify(text.slice(0, 20))}…`;
    }
  }
  return null;
}

const sourcePatterns = [...new Bun.Glob("src/**/*.ts").scanSync(root)]
  .toSorted()
  .flatMap((path) => findPatterns(path, readFileSync(join(root, path), "utf8")));
const uniquePatterns = [
  ...new Map(sourcePatterns.map((found) => [`/${found.source}/${found.flags}`, found])),
];

describe("regular expressions of src", () => {
  test("are found as literals, as arguments of RegExp and as patterns of schemas", () => {
    const text = 'const a = /x+/i; new RegExp(`a{${1}}`, "g"); RegExp("b"); f({ pattern: "^c$" });';
    const found = findPatterns("here.ts", text).map(({ source, flags }) => `/${source}/${flags}`);
    expect(found).toEqual(["/x+/i", "/a{5}/g", "/b/", "/^c$/"]);
    expect(uniquePatterns.length).toBeGreaterThan(40);
  });

  test.each([
    "(a+)+$",
    "^(?:a|a)*$",
    "^(\\w+\\s?)*$",
    "^\\d+\\d+$",
    "\\s+$",
    "^[a-z]*[a-z0-9]*:$",
    "a.*b",
    "^(?:x|[a-z]b?)*!$",
  ])("a search for slow patterns reports /%s/, which is slow", (source) => {
    expect(findSlowText({ source, flags: "" })).not.toBeNull();
  });

  test.each(["^a+$", "^(?:ab)*$", "\\s$", "^[a-z]+:\\d+$", "[\\p{Cc}]"])(
    "a search for slow patterns does not report /%s/, which is linear",
    (source) => {
      expect(findSlowText({ source, flags: "u" })).toBeNull();
    },
  );

  test.each(uniquePatterns)("%s takes steps in proportion to its text", (_name, pattern) => {
    expect([pattern.where, findSlowText(pattern)]).toEqual([pattern.where, null]);
  });
});
