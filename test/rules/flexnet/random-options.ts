import type { SeededRandom } from "../../support/seeded-random.ts";

/** A line of a random options file, and what it means. */
export interface RandomLine {
  readonly keyword: string;
  readonly feature: string | null;
  readonly count: number | null;
  readonly type: string | null;
  readonly name: string | null;
  /** Of GROUP and HOST_GROUP. */
  readonly members: readonly string[];
  /** Whether Berth has an equivalent, as far as the line alone decides it. */
  readonly hasEquivalent: boolean;
  readonly first: number;
  readonly last: number;
}

export interface RandomFile {
  readonly text: string;
  readonly lines: readonly RandomLine[];
  readonly isCaseIgnored: boolean;
}

export const USERS = ["ada", "Ada", "grace", "linus", "eve"];
export const HOSTS = ["ws1", "ws2", "NODE3"];
export const ADDRESSES = ["10.1.2.3", "10.1.9.9", "10.2.0.1", "fec0:1::7"];
const NETWORKS = ["10.1.*.*", "10.1.2.*", "10.2.0.1", "10.*.*.*", "fec0:1:*:*:*:*:*:*"];
const BAD_NETWORKS = ["10.*.2.3", "300.1.1.1", "fec0::*"];
export const FEATURES = ["f1", "f2", "f3"];
const WORTHLESS = ["NOLOG DENIED", "TIMEOUT f1 60", "LINGER f1 5", "XYZZY", "REPORTLOG +r.log"];

type Draft = Omit<RandomLine, "first" | "last"> & { readonly text: string };

/** A file of random lines of all kinds, in any order, with comments and continued lines. */
export function makeRandomFile(random: SeededRandom): RandomFile {
  const isCaseIgnored = random.chance(0.3);
  const drafts: (Draft | null)[] = [
    ...(isCaseIgnored ? [makeCase()] : []),
    ...Array.from({ length: random.intBetween(1, 3) }, () => makeGroup(random)),
    ...Array.from({ length: random.intBetween(0, 12) }, () => makeDraft(random)),
  ];
  const output: string[] = [];
  const lines: RandomLine[] = [];
  for (const draft of shuffle(drafts, random)) {
    if (draft === null) output.push(random.pick(["", "# a comment", "   # indented", "   "]));
    else {
      const { text, ...line } = draft;
      const physical = breakLine(text, random);
      lines.push({ ...line, first: output.length + 1, last: output.length + physical.length });
      output.push(...physical);
    }
  }
  return { text: output.join("\n"), lines, isCaseIgnored };
}

const shuffle = <T>(items: readonly T[], random: SeededRandom): T[] =>
  items
    .map((item) => ({ item, key: random.intBelow(1_000_000) }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);

/** Continues the line after some of its words. */
function breakLine(text: string, random: SeededRandom): string[] {
  const words = text.split(" ");
  const lines = [words[0] ?? ""];
  for (const word of words.slice(1)) {
    if (random.chance(0.1)) {
      lines[lines.length - 1] += " \\";
      lines.push(`   ${word}`);
    } else lines[lines.length - 1] += `${random.pick([" ", "\t", "  "])}${word}`;
  }
  return lines;
}

const blank = { feature: null, count: null, type: null, name: null, members: [] };

const makeCase = (): Draft => ({
  ...blank,
  keyword: "GROUPCASEINSENSITIVE",
  hasEquivalent: true,
  text: "GROUPCASEINSENSITIVE ON",
});

function makeGroup(random: SeededRandom): Draft {
  const isHosts = random.chance(0.4);
  const keyword = isHosts ? "HOST_GROUP" : "GROUP";
  const name = random.pick(["g1", "g2", "g3"]);
  const pool = isHosts ? [...HOSTS, ...NETWORKS] : USERS;
  const members = Array.from({ length: random.intBetween(1, 3) }, () => random.pick(pool));
  const text = [keyword, name, ...members].join(" ");
  return { ...blank, keyword, name, members, hasEquivalent: true, text };
}

function makeDraft(random: SeededRandom): Draft | null {
  if (random.chance(0.15)) return null;
  if (random.chance(0.1)) {
    const text = random.pick(WORTHLESS);
    return { ...blank, keyword: text.split(" ")[0] ?? "", hasEquivalent: false, text };
  }
  if (random.chance(0.2)) return makeGroup(random);
  if (random.chance(0.12)) {
    const keyword = random.pick(["MAX_BORROW_HOURS", "BORROW_LOWWATER"]);
    const feature = random.pick(FEATURES);
    const count = random.intBetween(1, 100);
    const text = `${keyword} ${feature} ${count}`;
    return { ...blank, keyword, feature, count, hasEquivalent: true, text };
  }
  return makeRestriction(random);
}

const KEYWORDS =
  "INCLUDE EXCLUDE INCLUDE_BORROW EXCLUDE_BORROW RESERVE MAX INCLUDEALL EXCLUDEALL".split(" ");

function makeRestriction(random: SeededRandom): Draft {
  const keyword = random.pick(KEYWORDS);
  const isForAll = keyword.endsWith("ALL");
  const feature = isForAll ? null : random.pick(FEATURES);
  const count = keyword === "RESERVE" || keyword === "MAX" ? random.intBetween(1, 5) : null;
  const { type, name, hasEquivalent } = makeSubject(random, keyword);
  const words = [keyword, count, feature, type, name].filter((word) => word !== null);
  return { ...blank, keyword, feature, count, type, name, hasEquivalent, text: words.join(" ") };
}

function makeSubject(
  random: SeededRandom,
  keyword: string,
): { type: string; name: string; hasEquivalent: boolean } {
  if (keyword === "MAX" && random.chance(0.2)) {
    return { type: "USER", name: "ALL_USERS", hasEquivalent: true };
  }
  const type = random.pick(["USER", "HOST", "INTERNET", "GROUP", "HOST_GROUP", "PROJECT"]);
  if (type === "PROJECT") return { type, name: "apollo", hasEquivalent: false };
  if (type === "USER") return { type, name: random.pick(USERS), hasEquivalent: true };
  if (type === "HOST") return { type, name: random.pick(HOSTS), hasEquivalent: true };
  if (type === "INTERNET" && random.chance(0.2)) {
    return { type, name: random.pick(BAD_NETWORKS), hasEquivalent: false };
  }
  if (type === "INTERNET") return { type, name: random.pick(NETWORKS), hasEquivalent: true };
  return { type, name: random.pick(["g1", "g2", "g3"]), hasEquivalent: true };
}
