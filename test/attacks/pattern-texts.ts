// Texts made to hurt a pattern: what leads up to a loop, then what the loop takes, over and over, then
// something that fits nothing.
import type { PatternNode } from "./pattern-steps.ts";

/** The shortest text a node takes; good enough to get past it. */
function exampleOf(node: PatternNode): string {
  switch (node.kind) {
    case "one":
      return node.sample;
    case "all":
      return node.parts.map(exampleOf).join("");
    case "any":
      return exampleOf(node.choices[0] as PatternNode);
    case "loop":
      return exampleOf(node.of).repeat(Math.min(node.least, 100));
    case "ahead":
    case "edge":
      return "";
  }
}

interface Pump {
  readonly before: string;
  readonly piece: string;
}

/** Every character that stands for itself or its class in the pattern. */
function lettersOf(node: PatternNode): string[] {
  switch (node.kind) {
    case "one":
      return [node.sample];
    case "all":
      return node.parts.flatMap(lettersOf);
    case "any":
      return node.choices.flatMap(lettersOf);
    case "loop":
    case "ahead":
      return lettersOf(node.of);
    case "edge":
      return [];
  }
}

/** What leads to each loop of a node, and what it takes. */
function loopsOf(node: PatternNode, before: string, letters: readonly string[]): Pump[] {
  switch (node.kind) {
    case "all": {
      let led = before;
      return node.parts.flatMap((part) => {
        const pumps = loopsOf(part, led, letters);
        led += exampleOf(part);
        return pumps;
      });
    }
    case "any":
      return node.choices.flatMap((choice) => loopsOf(choice, before, letters));
    case "ahead":
      return loopsOf(node.of, before, letters);
    case "loop": {
      const inner = loopsOf(node.of, before, letters);
      if (node.most <= 1) return inner;
      const pieces = [...ways(node.of), ...letters, ...pairsOf(letters)];
      return [
        ...inner,
        ...pieces.filter((piece) => piece !== "").map((piece) => ({ before, piece })),
      ];
    }
    case "one":
    case "edge":
      return [];
  }
}

/** Two letters together show what one alone does not: `(?:[a-z]b?)*` takes `ab` in two ways. */
const pairsOf = (letters: readonly string[]): string[] =>
  letters.slice(0, 6).flatMap((first) => letters.slice(0, 6).map((second) => first + second));

/** One text for each way through a loop's body. */
const ways = (node: PatternNode): string[] =>
  node.kind === "any" ? node.choices.map(exampleOf) : [exampleOf(node)];

const ENDS = ["", "\0", "\n\0"];

/** For one length, all the texts; each pattern has its own. */
export function makeSlowTexts(node: PatternNode, length: number): string[] {
  const letters = [...new Set(lettersOf(node))].filter((letter) => letter !== "");
  const pumps = [...loopsOf(node, "", letters), ...letters.map((piece) => ({ before: "", piece }))];
  const texts = pumps.flatMap(({ before, piece }) =>
    ENDS.map((end) => before + piece.repeat(Math.ceil(length / piece.length)) + end),
  );
  return [...new Set(texts)];
}
