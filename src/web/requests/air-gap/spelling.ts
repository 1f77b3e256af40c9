import { canonicalizeCode } from "../../../license/codes/code.ts";

/** The NATO alphabet. */
const SYMBOL_WORDS: Readonly<Record<string, string>> = {
  0: "zero",
  1: "one",
  2: "two",
  3: "three",
  4: "four",
  5: "five",
  6: "six",
  7: "seven",
  8: "eight",
  9: "nine",
  A: "Alfa",
  B: "Bravo",
  C: "Charlie",
  D: "Delta",
  E: "Echo",
  F: "Foxtrot",
  G: "Golf",
  H: "Hotel",
  J: "Juliett",
  K: "Kilo",
  M: "Mike",
  N: "November",
  P: "Papa",
  Q: "Quebec",
  R: "Romeo",
  S: "Sierra",
  T: "Tango",
  V: "Victor",
  W: "Whiskey",
  X: "X-ray",
  Y: "Yankee",
  Z: "Zulu",
};

/** One word for each symbol of a group. */
export const spellSymbols = (group: string): string[] =>
  Array.from(canonicalizeCode(group), (symbol) => SYMBOL_WORDS[symbol] ?? symbol);
