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

/** Literals, what is handed to `RegExp`, and what schemas call `pattern`. */
function patternsIn(path: string, text: string): FoundPattern[] {
  const found: FoundPattern[] = [];
  const note = (offset: number, source: string, flags: string): void => {
    const line = text.slice(0, offset).split("\n").length;
    found.push({ where: `${path}:${line}`, source, flags });
  };
  const made = ({ callee, arguments: given, start }: CallNode): void => {
    if (!("name" in callee) || callee.name !== "RegExp") return;
    const source = textOf(given[0]);
    if (source === null) throw new Error(`${path}: a pattern that nobody can read here`);
    note(start, source, textOf(given[1]) ?? "");
  };
  const visitor = new Visitor({
    Literal(node) {
      if ("regex" in node) note(node.start, node.regex.pattern, node.regex.flags);
    },
    NewExpression: made,
    CallExpression: made,
    Property({ key, value, start }) {
      const isPattern = key.type === "Identifier" && key.name === "pattern";
      const source = isPattern ? textOf(value) : null;
      if (source !== null) note(start, source, "");
    },
  });
  visitor.visit(parseSync(path, text).program);
  return found;
}

/** As much of a call as is looked at. */
interface CallNode {
  readonly callee: object;
  readonly arguments: readonly object[];
  readonly start: number;
}

interface TextNode {
  readonly value?: unknown;
  readonly quasis?: readonly { readonly value: { readonly cooked: string | null } }[];
}

/** A text written in the source; a number stands for what a template puts in. */
function textOf(node: object | undefined): string | null {
  const { value, quasis }: TextNode = node ?? {};
  if (typeof value === "string") return value;
  return quasis?.map((part) => part.value.cooked).join("5") ?? null;
}

const SHORT = 500;
const LONG = 2 * SHORT;

/** Twice the text, twice the steps; four times would be the square of it. */
const MOST_GROWTH = 3;
/** The shorter text may be taken, and the longer one fail: that is more, but no square. */
const SLACK = 10 * LONG;

/** The text that hurts most, where it hurts more than in proportion. */
function weakness({ source, flags }: Pick<FoundPattern, "source" | "flags">): string | null {
  const node = parsePattern(source, flags);
  const [short, long] = [makeSlowTexts(node, SHORT), makeSlowTexts(node, LONG)];
  for (const [index, text] of long.entries()) {
    const before = countSteps(node, short[index] ?? "");
    const steps = before > MAX_STEPS ? before : countSteps(node, text);
    if (steps > MAX_STEPS || steps > MOST_GROWTH * before + SLACK) {
      return `${steps} steps, ${before} for half of ${JSON.stringify(text.slice(0, 20))}…`;
    }
  }
  return null;
}

const found = [...new Bun.Glob("src/**/*.ts").scanSync(root)]
  .toSorted()
  .flatMap((path) => patternsIn(path, readFileSync(join(root, path), "utf8")));
const different = [...new Map(found.map((one) => [`/${one.source}/${one.flags}`, one]))];

describe("no pattern can be made to take longer than its text is long", () => {
  test("they are found in every form", () => {
    const text = 'const a = /x+/i; new RegExp(`a{${1}}`, "g"); RegExp("b"); f({ pattern: "^c$" });';
    const shown = patternsIn("here.ts", text).map(({ source, flags }) => `/${source}/${flags}`);
    expect(shown).toEqual(["/x+/i", "/a{5}/g", "/b/", "/^c$/"]);
    expect(different.length).toBeGreaterThan(40);
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
  ])("a planted %s is caught", (source) => {
    expect(weakness({ source, flags: "" })).not.toBeNull();
  });

  test.each(["^a+$", "^(?:ab)*$", "\\s$", "^[a-z]+:\\d+$", "[\\p{Cc}]"])(
    "%s is let be",
    (source) => {
      expect(weakness({ source, flags: "u" })).toBeNull();
    },
  );

  test.each(different)("%s", (_shown, one) => {
    expect([one.where, weakness(one)]).toEqual([one.where, null]);
  });
});
