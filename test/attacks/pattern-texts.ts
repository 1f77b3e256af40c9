// Texts made to slow a pattern down: what leads to a loop, then what the loop takes, many times,
// then an end that does not match.
import type { PatternNode } from "./pattern-steps.ts";

/** A short text that the node takes. */
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

/** Input for one loop. */
interface LoopInput {
  readonly prefix: string;
  readonly repeated: string;
}

/** A sample of every character and class in the pattern. */
function samplesOf(node: PatternNode): string[] {
  switch (node.kind) {
    case "one":
      return [node.sample];
    case "all":
      return node.parts.flatMap(samplesOf);
    case "any":
      return node.choices.flatMap(samplesOf);
    case "loop":
    case "ahead":
      return samplesOf(node.of);
    case "edge":
      return [];
  }
}

/** For each loop of a node, the text that leads to it and the texts that it repeats. */
function loopInputsOf(node: PatternNode, prefix: string, samples: readonly string[]): LoopInput[] {
  switch (node.kind) {
    case "all": {
      let partPrefix = prefix;
      return node.parts.flatMap((part) => {
        const inputs = loopInputsOf(part, partPrefix, samples);
        partPrefix += exampleOf(part);
        return inputs;
      });
    }
    case "any":
      return node.choices.flatMap((choice) => loopInputsOf(choice, prefix, samples));
    case "ahead":
      return loopInputsOf(node.of, prefix, samples);
    case "loop": {
      const inner = loopInputsOf(node.of, prefix, samples);
      if (node.most <= 1) return inner;
      const texts = [...examplesOf(node.of), ...samples, ...pairsOf(samples)];
      return [
        ...inner,
        ...texts.filter((text) => text !== "").map((repeated) => ({ prefix, repeated })),
      ];
    }
    case "one":
    case "edge":
      return [];
  }
}

/** Pairs find more than single characters: `(?:[a-z]b?)*` takes `ab` in two ways. */
const pairsOf = (samples: readonly string[]): string[] =>
  samples.slice(0, 6).flatMap((first) => samples.slice(0, 6).map((second) => first + second));

/** One text for each choice in the body of a loop. */
const examplesOf = (node: PatternNode): string[] =>
  node.kind === "any" ? node.choices.map(exampleOf) : [exampleOf(node)];

const ENDS = ["", "\0", "\n\0"];

/** All slow texts of a pattern, each about `length` characters long. */
export function makeSlowTexts(node: PatternNode, length: number): string[] {
  const samples = [...new Set(samplesOf(node))].filter((sample) => sample !== "");
  const inputs = [
    ...loopInputsOf(node, "", samples),
    ...samples.map((repeated) => ({ prefix: "", repeated })),
  ];
  const texts = inputs.flatMap(({ prefix, repeated }) =>
    ENDS.map((end) => prefix + repeated.repeat(Math.ceil(length / repeated.length)) + end),
  );
  return [...new Set(texts)];
}
