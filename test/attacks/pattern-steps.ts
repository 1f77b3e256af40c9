// Counts the steps that a backtracking engine takes for a regular expression on a text. Steps are
// the same on every machine; times are not. It supports only the syntax that the sources use, and
// throws on any other.

export type PatternNode =
  | {
      readonly kind: "one";
      readonly takes: (character: string) => boolean;
      readonly sample: string;
    }
  | { readonly kind: "all"; readonly parts: readonly PatternNode[] }
  | { readonly kind: "any"; readonly choices: readonly PatternNode[] }
  | {
      readonly kind: "loop";
      readonly of: PatternNode;
      readonly least: number;
      readonly most: number;
    }
  | { readonly kind: "ahead"; readonly of: PatternNode; readonly isWanted: boolean }
  | { readonly kind: "edge"; readonly holds: (text: string, at: number) => boolean };

/** Counting stops here: a pattern that needs more is too slow in any case. */
export const MAX_STEPS = 2_000_000;

class StepLimitError extends Error {}

/** Counts the steps of a search from every position of the text, as `exec` searches. */
export function countSteps(node: PatternNode, text: string): number {
  let steps = 0;
  const match = (current: PatternNode, at: number, then: (end: number) => boolean): boolean => {
    steps += 1;
    if (steps > MAX_STEPS) throw new StepLimitError();
    switch (current.kind) {
      case "one":
        return at < text.length && current.takes(text[at] ?? "") && then(at + 1);
      case "edge":
        return current.holds(text, at) && then(at);
      case "ahead":
        return match(current.of, at, () => true) === current.isWanted && then(at);
      case "any":
        return current.choices.some((choice) => match(choice, at, then));
      case "all":
        return matchSequence(current.parts, 0, at, then);
      case "loop":
        return matchLoop(current, 0, at, then);
    }
  };
  const matchSequence = (
    parts: readonly PatternNode[],
    index: number,
    at: number,
    then: (end: number) => boolean,
  ): boolean => {
    const part = parts[index];
    return part === undefined
      ? then(at)
      : match(part, at, (end) => matchSequence(parts, index + 1, end, then));
  };
  const matchLoop = (
    loop: PatternNode & { kind: "loop" },
    count: number,
    at: number,
    then: (end: number) => boolean,
  ): boolean =>
    (count < loop.most &&
      match(loop.of, at, (end) => end > at && matchLoop(loop, count + 1, end, then))) ||
    (count >= loop.least && then(at));
  try {
    for (let from = 0; from <= text.length; from += 1) {
      if (match(node, from, () => true)) break;
    }
  } catch (error) {
    if (!(error instanceof StepLimitError)) throw error;
  }
  return steps;
}

/** All printable ASCII, letters first, and some other characters. */
const ASCII = Array.from({ length: 95 }, (_, index) =>
  String.fromCharCode(32 + ((index + 65) % 95)),
);
const SAMPLES = [...ASCII, "\t", "\n", "\r", "\0", "é", "\u2028", "\u200b", "\u0301", "漢"];

export function parsePattern(source: string, flags: string): PatternNode {
  let at = 0;
  const engineFlags = flags.replaceAll(/[^iusv]/g, "");
  const peek = (): string => source[at] ?? "";
  const eat = (text: string): boolean => {
    if (!source.startsWith(text, at)) return false;
    at += text.length;
    return true;
  };
  const failUnsupported = (): never => {
    throw new Error(`the syntax of /${source}/ at ${at} is not supported here`);
  };

  const parseChoices = (): PatternNode => {
    const choices = [parseSequence()];
    while (eat("|")) choices.push(parseSequence());
    return choices.length === 1 ? (choices[0] as PatternNode) : { kind: "any", choices };
  };
  const parseSequence = (): PatternNode => {
    const parts: PatternNode[] = [];
    while (at < source.length && peek() !== "|" && peek() !== ")")
      parts.push(parseQuantifier(parseTerm()));
    return { kind: "all", parts };
  };
  const parseQuantifier = (of: PatternNode): PatternNode => {
    const [range, least = "0", comma, most = ""] =
      /^\{(\d+)(,?)(\d*)\}/.exec(source.slice(at)) ?? [];
    let loop: PatternNode | null = null;
    if (eat("*")) loop = { kind: "loop", of, least: 0, most: Infinity };
    else if (eat("+")) loop = { kind: "loop", of, least: 1, most: Infinity };
    else if (eat("?")) loop = { kind: "loop", of, least: 0, most: 1 };
    else if (range !== undefined) {
      at += range.length;
      const upper = comma === "" ? Number(least) : most === "" ? Infinity : Number(most);
      loop = { kind: "loop", of, least: Number(least), most: upper };
    }
    // A lazy quantifier tries the same in another order: if all fail, it takes as many steps.
    if (loop !== null) eat("?");
    return loop ?? of;
  };
  const parseTerm = (): PatternNode => {
    if (eat("^")) return { kind: "edge", holds: (_text, position) => position === 0 };
    if (eat("$")) return { kind: "edge", holds: (text, position) => position === text.length };
    if (eat("\\b")) return { kind: "edge", holds: isWordEdge };
    for (const [sign, isWanted] of [
      ["(?=", true],
      ["(?!", false],
    ] as const) {
      if (eat(sign)) return { kind: "ahead", of: parseGroup(), isWanted };
    }
    if (eat("(?<!")) return makeLookbehind(parseGroup());
    if (eat("(?:")) return parseGroup();
    if (source.startsWith("(?", at)) return failUnsupported();
    if (eat("(")) return parseGroup();
    return parseCharacter();
  };
  const parseGroup = (): PatternNode => {
    const inner = parseChoices();
    return eat(")") ? inner : failUnsupported();
  };
  /** Only a lookbehind of one character is supported. */
  const makeLookbehind = (inner: PatternNode): PatternNode => {
    const [character] = inner.kind === "all" && inner.parts.length === 1 ? inner.parts : [];
    if (character?.kind !== "one") return failUnsupported();
    return {
      kind: "edge",
      holds: (text, position) => position === 0 || !character.takes(text[position - 1] ?? ""),
    };
  };
  /** One character or class; the real engine decides which characters it takes. */
  const parseCharacter = (): PatternNode => {
    const [atom = ""] =
      /^(?:\[(?:\\.|[^\]\\])*\]|\\p\{[^}]*\}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[^1-9k]|[^\\()[\]{}|*+?])/su.exec(
        source.slice(at),
      ) ?? [];
    if (atom === "") return failUnsupported();
    at += atom.length;
    const engine = new RegExp(`^(?:${atom})$`, engineFlags);
    const cache = new Map<string, boolean>();
    const takes = (character: string): boolean => {
      const cached = cache.get(character);
      if (cached !== undefined) return cached;
      cache.set(character, engine.test(character));
      return engine.test(character);
    };
    return { kind: "one", takes, sample: sampleOf(atom, takes) };
  };
  const node = parseChoices();
  return at === source.length ? node : failUnsupported();
}

/** The character itself; of a class, the first sample that it takes. */
function sampleOf(atom: string, takes: (character: string) => boolean): string {
  const sample = [atom.slice(-1), ...SAMPLES].find(takes);
  if (sample === undefined) throw new Error(`no sample character matches ${atom}`);
  return sample;
}

const isWordEdge = (text: string, at: number): boolean =>
  /\w/.test(text[at - 1] ?? "") !== /\w/.test(text[at] ?? "");
