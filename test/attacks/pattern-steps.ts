// How many steps a backtracking engine takes for a pattern on a text. Counted, not timed: the same on
// every machine, however busy. It knows as much of the language as the sources use, and stops at what
// it does not know.

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

/** Past this it is hopeless, and the same verdict. */
export const MAX_STEPS = 2_000_000;

class StepLimitError extends Error {}

/** The steps of a search from every place of the text, the way `exec` does it. */
export function countSteps(node: PatternNode, text: string): number {
  let steps = 0;
  const match = (one: PatternNode, at: number, then: (end: number) => boolean): boolean => {
    steps += 1;
    if (steps > MAX_STEPS) throw new StepLimitError();
    switch (one.kind) {
      case "one":
        return at < text.length && one.takes(text[at] ?? "") && then(at + 1);
      case "edge":
        return one.holds(text, at) && then(at);
      case "ahead":
        return match(one.of, at, () => true) === one.isWanted && then(at);
      case "any":
        return one.choices.some((choice) => match(choice, at, then));
      case "all":
        return inTurn(one.parts, 0, at, then);
      case "loop":
        return again(one, 0, at, then);
    }
  };
  const inTurn = (
    parts: readonly PatternNode[],
    index: number,
    at: number,
    then: (end: number) => boolean,
  ): boolean => {
    const part = parts[index];
    return part === undefined
      ? then(at)
      : match(part, at, (end) => inTurn(parts, index + 1, end, then));
  };
  const again = (
    loop: PatternNode & { kind: "loop" },
    turns: number,
    at: number,
    then: (end: number) => boolean,
  ): boolean =>
    (turns < loop.most &&
      match(loop.of, at, (end) => end > at && again(loop, turns + 1, end, then))) ||
    (turns >= loop.least && then(at));
  try {
    for (let from = 0; from <= text.length; from += 1) {
      if (match(node, from, () => true)) break;
    }
  } catch (error) {
    if (!(error instanceof StepLimitError)) throw error;
  }
  return steps;
}

/** All of ASCII that is seen, letters first, and one each of what is not. */
const ASCII = Array.from({ length: 95 }, (_, index) =>
  String.fromCharCode(32 + ((index + 65) % 95)),
);
const SAMPLES = [...ASCII, "\t", "\n", "\r", "\0", "é", "\u2028", "\u200b", "\u0301", "漢"];

export function parsePattern(source: string, flags: string): PatternNode {
  let at = 0;
  const kept = flags.replaceAll(/[^iusv]/g, "");
  const peek = (): string => source[at] ?? "";
  const eat = (text: string): boolean => {
    if (!source.startsWith(text, at)) return false;
    at += text.length;
    return true;
  };
  const unknown = (): never => {
    throw new Error(`nobody knows what /${source}/ means at ${at}`);
  };

  const choices = (): PatternNode => {
    const all = [sequence()];
    while (eat("|")) all.push(sequence());
    return all.length === 1 ? (all[0] as PatternNode) : { kind: "any", choices: all };
  };
  const sequence = (): PatternNode => {
    const parts: PatternNode[] = [];
    while (at < source.length && peek() !== "|" && peek() !== ")") parts.push(counted(term()));
    return { kind: "all", parts };
  };
  const counted = (of: PatternNode): PatternNode => {
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
    // A lazy one tries the same in another order; where all fails, it is as many.
    if (loop !== null) eat("?");
    return loop ?? of;
  };
  const term = (): PatternNode => {
    if (eat("^")) return { kind: "edge", holds: (_text, place) => place === 0 };
    if (eat("$")) return { kind: "edge", holds: (text, place) => place === text.length };
    if (eat("\\b")) return { kind: "edge", holds: isWordEdge };
    for (const [sign, isWanted] of [
      ["(?=", true],
      ["(?!", false],
    ] as const) {
      if (eat(sign)) return { kind: "ahead", of: closed(), isWanted };
    }
    if (eat("(?<!")) return behind(closed());
    if (eat("(?:")) return closed();
    if (source.startsWith("(?", at)) return unknown();
    if (eat("(")) return closed();
    return one();
  };
  const closed = (): PatternNode => {
    const inner = choices();
    return eat(")") ? inner : unknown();
  };
  /** Only what one character decides. */
  const behind = (inner: PatternNode): PatternNode => {
    const [one] = inner.kind === "all" && inner.parts.length === 1 ? inner.parts : [];
    if (one?.kind !== "one") return unknown();
    return {
      kind: "edge",
      holds: (text, place) => place === 0 || !one.takes(text[place - 1] ?? ""),
    };
  };
  /** One character; the real engine says which. */
  const one = (): PatternNode => {
    const [atom = ""] =
      /^(?:\[(?:\\.|[^\]\\])*\]|\\p\{[^}]*\}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[^1-9k]|[^\\()[\]{}|*+?])/su.exec(
        source.slice(at),
      ) ?? [];
    if (atom === "") return unknown();
    at += atom.length;
    const engine = new RegExp(`^(?:${atom})$`, kept);
    const known = new Map<string, boolean>();
    const takes = (character: string): boolean => {
      const before = known.get(character);
      if (before !== undefined) return before;
      known.set(character, engine.test(character));
      return engine.test(character);
    };
    return { kind: "one", takes, sample: sampleOf(atom, takes) };
  };
  const parsed = choices();
  return at === source.length ? parsed : unknown();
}

/** A letter stands for itself; of a class, any that it takes. */
function sampleOf(atom: string, takes: (character: string) => boolean): string {
  const sample = [atom.slice(-1), ...SAMPLES].find(takes);
  if (sample === undefined) throw new Error(`nobody knows a character for ${atom}`);
  return sample;
}

const isWordEdge = (text: string, at: number): boolean =>
  /\w/.test(text[at - 1] ?? "") !== /\w/.test(text[at] ?? "");
