// Converts random options files, and compares what the rules allow with what FlexNet allows.
import { expect, test } from "bun:test";
import type { CallerFacts } from "../../../src/domain/model/rules/caller-facts.ts";
import type { PoolRules, RuleSet } from "../../../src/domain/model/rules/rule-set.ts";
import { importOptions } from "../../../src/rules/flexnet/import-options.ts";
import { parseRules } from "../../../src/rules/parse-rules.ts";
import { isMember } from "../../sharing/membership.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import {
  ADDRESSES,
  FEATURES,
  HOSTS,
  makeRandomFile,
  USERS,
  type RandomFile,
  type RandomLine,
} from "./random-options.ts";

const SEEDS = 400;

const CALLERS: readonly CallerFacts[] = USERS.flatMap((user) =>
  HOSTS.flatMap((host) =>
    ADDRESSES.map((address) => ({ user, host, address, login: null, certificate: null })),
  ),
);

/** Whether a line of FlexNet is about a caller, by the documentation of FlexNet. */
function concerns(file: RandomFile, { type, name }: RandomLine, caller: CallerFacts): boolean {
  if (name === null) return false;
  const matchesAddress = (pattern: string): boolean => {
    const isIpv6 = pattern.includes(":");
    if (isIpv6) return caller.address.startsWith("fec0:1:");
    const parts = caller.address.split(".");
    return pattern.split(".").every((part, index) => part === "*" || part === parts[index]);
  };
  if (type === "USER") return caller.user === name;
  if (type === "HOST") return caller.host === name;
  if (type === "INTERNET") return matchesAddress(name);
  const fold = (text: string): string => (file.isCaseIgnored ? text.toLowerCase() : text);
  const members = file.lines
    .filter((line) => line.keyword === type && line.name === name)
    .flatMap((line) => line.members);
  return members.some((member) =>
    type === "GROUP"
      ? fold(member) === fold(caller.user)
      : fold(member) === fold(caller.host) || (/[.:]/.test(member) && matchesAddress(member)),
  );
}

const isDefined = (file: RandomFile, { type, name }: RandomLine): boolean =>
  (type !== "GROUP" && type !== "HOST_GROUP") ||
  file.lines.some((line) => line.keyword === type && line.name === name);

/** What a line without an equivalent says is left out on both sides. */
function linesFor(file: RandomFile, feature: string, ...keywords: string[]): RandomLine[] {
  return file.lines.filter(
    (line) =>
      keywords.includes(line.keyword) &&
      (line.feature === feature || line.feature === null) &&
      line.hasEquivalent &&
      isDefined(file, line),
  );
}

/** EXCLUDE is looked at first; any INCLUDE shuts everyone else out. */
function isLetIn(
  caller: CallerFacts,
  file: RandomFile,
  excludes: readonly RandomLine[],
  includes: readonly RandomLine[],
): boolean {
  if (excludes.some((line) => concerns(file, line, caller))) return false;
  return includes.length === 0 || includes.some((line) => concerns(file, line, caller));
}

function isLetInByRules(
  rules: RuleSet,
  caller: CallerFacts,
  { deny, allowOnly }: Pick<PoolRules, "deny" | "allowOnly">,
): boolean {
  const belongs = (name: string): boolean =>
    rules.groups.some((group) => group.name === name && isMember(group, caller));
  if (deny.some(({ group }) => belongs(group))) return false;
  return allowOnly === null || allowOnly.some(({ group }) => belongs(group));
}

function compareFeature(file: RandomFile, rules: RuleSet, feature: string): void {
  const pool = rules.pools.find(({ product }) => product === feature);
  const isNamed = file.lines.some((line) => line.feature === feature);
  if (pool === undefined) {
    const isSilent = linesFor(file, feature, ...FEATURE_KEYWORDS).length === 0;
    expect(isSilent || !isNamed).toBe(true);
    return;
  }
  const sum = (
    keyword: string,
    caller: CallerFacts,
    filter: (line: RandomLine) => boolean,
  ): number[] =>
    linesFor(file, feature, keyword)
      .filter((line) => filter(line) && concerns(file, line, caller))
      .map((line) => line.count ?? 0);
  for (const caller of CALLERS) {
    const excludes = linesFor(file, feature, "EXCLUDE", "EXCLUDEALL");
    const includes = linesFor(file, feature, "INCLUDE", "INCLUDEALL");
    expect(isLetInByRules(rules, caller, pool)).toBe(isLetIn(caller, file, excludes, includes));
    const noBorrow = linesFor(file, feature, "EXCLUDE_BORROW");
    const borrow = linesFor(file, feature, "INCLUDE_BORROW");
    expect(
      isLetInByRules(rules, caller, {
        deny: pool.borrow?.deny ?? [],
        allowOnly: pool.borrow?.allowOnly ?? null,
      }),
    ).toBe(isLetIn(caller, file, noBorrow, borrow));
    const belongs = (name: string): boolean =>
      rules.groups.some((group) => group.name === name && isMember(group, caller));
    const limits = pool.groupLimits.filter(({ group }) => belongs(group));
    const expected = sum("MAX", caller, ({ name }) => name !== "ALL_USERS");
    expect(Math.min(...limits.map(({ slots }) => slots))).toBe(Math.min(...expected));
    const reserved = pool.reservations.filter(({ group }) => belongs(group));
    expect(reserved.reduce((total, { slots }) => total + slots, 0)).toBe(
      sum("RESERVE", caller, () => true).reduce((total, slots) => total + slots, 0),
    );
  }
  const ofAll = linesFor(file, feature, "MAX").filter(({ name }) => name === "ALL_USERS");
  expect(pool.eachUser?.slots ?? Infinity).toBe(Math.min(...ofAll.map(({ count }) => count ?? 0)));
  const last = (keyword: string): number | null =>
    linesFor(file, feature, keyword).at(-1)?.count ?? null;
  expect(pool.borrow?.maxHours?.hours ?? null).toBe(last("MAX_BORROW_HOURS"));
  expect(pool.borrow?.keepHome?.slots ?? null).toBe(last("BORROW_LOWWATER"));
}

const FEATURE_KEYWORDS =
  `INCLUDE EXCLUDE INCLUDE_BORROW EXCLUDE_BORROW RESERVE MAX INCLUDEALL EXCLUDEALL
  MAX_BORROW_HOURS BORROW_LOWWATER`.split(/\s+/);

/** A line that is counted as converted is named in a comment of the rules, by its number. */
function isNamedInRules(toml: string, { keyword, first }: RandomLine): boolean {
  if (keyword === "GROUPCASEINSENSITIVE") return true;
  return toml
    .split("\n")
    .filter((line) => line.startsWith("["))
    .some((line) => new RegExp(`# lines? (?:\\d+, )*${first}(?:,|$)`).test(line));
}

test(`${SEEDS} random options files are converted or named line by line, and decide alike`, () => {
  let convertedLines = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const file = makeRandomFile(new SeededRandom(seed));
    const { toml, converted, unconverted } = importOptions(file.text, new Map());
    try {
      const { rules, findings } = parseRules(toml);
      expect(findings.filter(({ severity }) => severity === "error")).toEqual([]);
      expect(converted + unconverted.length).toBe(file.lines.length);
      for (const line of file.lines) {
        const named = unconverted.filter((other) => other.line === line.first);
        expect(named.map(({ lastLine }) => lastLine)).toEqual(
          named.length === 0 ? [] : [line.last],
        );
        if (named.length === 0) expect(isNamedInRules(toml, line)).toBe(true);
        if (!line.hasEquivalent) expect(named).toHaveLength(1);
      }
      for (const feature of FEATURES) {
        compareFeature(file, rules ?? { groups: [], pools: [] }, feature);
      }
      convertedLines += converted;
    } catch (error) {
      throw new Error(`seed ${seed}:\n${file.text}\n\n${toml}`, { cause: error });
    }
  }
  expect(convertedLines).toBeGreaterThan(SEEDS);
});
