import type { RuleSet } from "../domain/model/rules/rule-set.ts";
import { poolKey } from "../domain/model/slots/pool-name.ts";
import { compareTexts } from "../domain/text/compare-texts.ts";
import { countBytes } from "../domain/text/text-size.ts";
import { GroupNames } from "./group-names.ts";
import { RULES_LIMITS } from "./limits.ts";
import { mergeRules } from "./merge-rules.ts";
import { readGroups } from "./read-groups.ts";
import { readRule } from "./read-rule.ts";
import { FindingList, type RulesFinding } from "./rules-finding.ts";
import { TableReader } from "./table-reader.ts";
import { readTomlTree, type TomlTable } from "./toml-tree.ts";

export interface ParsedRules {
  /** Null: the text has errors. */
  readonly rules: RuleSet | null;
  /** In the order of their lines. */
  readonly findings: readonly RulesFinding[];
  readonly lines: RuleLines;
}

/** Where the text defines what the rule set itself has no line for. */
export interface RuleLines {
  /** By the name of the group. */
  readonly groups: ReadonlyMap<string, number>;
  /** The first line that names the product of a pool, by `poolKey`. */
  readonly pools: ReadonlyMap<string, number>;
}

/** Reads the site's rules of sharing from TOML, and finds everything that is wrong in the text. */
export const parseRules = (text: string): ParsedRules => finishSteps(parseRulesInSteps(text));

/** For callers who have nothing else to do between two steps. */
export function finishSteps<T>(steps: Generator<void, T>): T {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/** The same in steps, between which other work can be done. */
export function* parseRulesInSteps(text: string): Generator<void, ParsedRules> {
  const findings = new FindingList();
  // Editors of Windows begin a file with a byte order mark.
  const toml = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const tree = isTooLong(text, findings) ? null : yield* readTomlTree(toml, findings);
  yield;
  const rules = tree === null ? null : readRules(tree, findings);
  return {
    rules: findings.hasErrors || rules === null ? null : rules.set,
    findings: findings.list(),
    lines: rules?.lines ?? NO_LINES,
  };
}

const NO_LINES: RuleLines = { groups: new Map(), pools: new Map() };

interface ReadRules {
  readonly set: RuleSet;
  readonly lines: RuleLines;
}

function isTooLong(text: string, findings: FindingList): boolean {
  if (text.length <= RULES_LIMITS.bytes && countBytes(text) <= RULES_LIMITS.bytes) return false;
  findings.error(0, "the rules are larger than 1 MiB", "use patterns in place of single names");
  return true;
}

function readRules(tree: TomlTable, findings: FindingList): ReadRules | null {
  const file = new TableReader(tree, "", ["groups", "rule"], findings);
  const groups = readGroups(file.table("groups", "[groups.sim]"), findings);
  const names = new GroupNames(groups);
  const tables = file.tables("rule", "[[rule]]");
  if (tables.length > RULES_LIMITS.rules) {
    const count = tables.length.toLocaleString("en-US");
    findings.error(0, `${count} rules are too many: at most 10,000 are allowed`);
    return null;
  }
  const poolLines = new Map<string, number>();
  const rules = tables.flatMap((table) => {
    const rule = readRule(table, names, findings);
    if (rule === null) return [];
    const line = table.entries.get("product")?.line ?? table.line;
    const key = poolKey(rule);
    poolLines.set(key, Math.min(line, poolLines.get(key) ?? line));
    return [rule];
  });
  const pools = mergeRules(rules, findings);
  names.reportUnused(findings);
  const sorted = [...groups.values()].toSorted((a, b) => compareTexts(a.name, b.name));
  return {
    set: { groups: sorted.map(({ line: _line, ...group }) => group), pools },
    lines: { groups: new Map(sorted.map(({ name, line }) => [name, line])), pools: poolLines },
  };
}
