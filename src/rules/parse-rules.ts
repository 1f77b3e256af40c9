import type { RuleSet } from "../domain/rules/rule-set.ts";
import { GroupNames } from "./group-names.ts";
import { RULES_LIMITS } from "./limits.ts";
import { mergeRules } from "./merge-rules.ts";
import { compareTexts, readGroups, type DefinedGroup } from "./read-groups.ts";
import { readRule } from "./read-rule.ts";
import { FindingList, type RulesFinding } from "./rules-finding.ts";
import { TableReader } from "./table-reader.ts";
import { readTomlTree } from "./toml-tree.ts";

export interface ParsedRules {
  /** Null: the text has errors. */
  readonly rules: RuleSet | null;
  /** In the order of their lines. */
  readonly findings: readonly RulesFinding[];
  /** Where each group is defined, by name. */
  readonly groupLines: ReadonlyMap<string, number>;
}

/** Reads the site's rules of sharing from TOML, and finds everything that is wrong in the text. */
export function parseRules(text: string): ParsedRules {
  const findings = new FindingList();
  const rules = readRules(text, findings);
  return {
    rules: findings.hasErrors || rules === null ? null : rules.set,
    findings: findings.list(),
    groupLines: new Map(rules?.groups.map(({ name, line }) => [name, line])),
  };
}

interface ReadRules {
  readonly set: RuleSet;
  readonly groups: readonly DefinedGroup[];
}

function readRules(text: string, findings: FindingList): ReadRules | null {
  if (text.length > RULES_LIMITS.bytes || Buffer.byteLength(text) > RULES_LIMITS.bytes) {
    findings.error(0, "the rules are larger than 1 MiB", "use patterns in place of single names");
    return null;
  }
  const tree = readTomlTree(text, findings);
  if (tree === null) return null;
  const file = new TableReader(tree, "", ["groups", "rule"], findings);
  const groups = readGroups(file.table("groups", "[groups.sim]"), findings);
  const names = new GroupNames(groups);
  const tables = file.tables("rule", "[[rule]]");
  if (tables.length > RULES_LIMITS.rules) {
    const count = tables.length.toLocaleString("en-US");
    findings.error(0, `${count} rules are too many: at most 10,000 are allowed`);
    return null;
  }
  const rules = tables.flatMap((table) => readRule(table, names, findings) ?? []);
  const pools = mergeRules(rules, findings);
  names.reportUnused(findings);
  const sorted = [...groups.values()].toSorted((a, b) => compareTexts(a.name, b.name));
  return {
    set: { groups: sorted.map(({ line: _line, ...group }) => group), pools },
    groups: sorted,
  };
}
