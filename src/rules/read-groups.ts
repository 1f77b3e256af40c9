import type { Group } from "../domain/model/rules/rule-set.ts";
import { clearHostBits, formatNetwork, parseNetwork } from "../domain/model/rules/network.ts";
import { INVISIBLE } from "../domain/text/invisible-characters.ts";
import { compareTexts } from "../domain/text/compare-texts.ts";
import { countBytes } from "../domain/text/text-size.ts";
import { RULES_LIMITS } from "./limits.ts";
import type { FindingList } from "./rules-finding.ts";
import { quoteName, TableReader, type Located } from "./table-reader.ts";
import type { TomlTable } from "./toml-tree.ts";

/** A group, and where the file defines it. */
export interface DefinedGroup extends Group {
  readonly line: number;
}

const PATTERN_KEYS = ["users", "hosts", "logins", "certificates"] as const;
type PatternKey = (typeof PATTERN_KEYS)[number];
const GROUP_KEYS = [...PATTERN_KEYS, "networks", "ignore_case"];

const EXAMPLES: Readonly<Record<PatternKey, string>> = {
  users: "ada",
  hosts: "sim-*",
  logins: "ada",
  certificates: "ws-17",
};

export function readGroups(
  table: TomlTable | null,
  findings: FindingList,
): ReadonlyMap<string, DefinedGroup> {
  const groups = new Map<string, DefinedGroup>();
  if (table === null) return groups;
  const { size } = table.entries;
  if (size > RULES_LIMITS.groups) {
    findings.error(
      table.line,
      `${size.toLocaleString("en-US")} groups are too many: at most 1,000 are allowed`,
      'use patterns such as "sim-*" or networks in place of many groups',
    );
    return groups;
  }
  for (const [rawName, { line, node }] of table.entries) {
    const name = rawName.normalize("NFC");
    const fault = findNameFault(name);
    if (fault !== null) findings.error(line, `the name of a group ${fault}`);
    if (node.kind !== "table") {
      const example = '[groups.sim] with users = ["ada"] below it';
      findings.error(line, `group ${quoteName(name)} must be a table`, `for example ${example}`);
    } else if (groups.has(name)) {
      const first = groups.get(name)?.line;
      findings.error(line, `group ${quoteName(name)} is already defined in line ${first}`);
    } else groups.set(name, readGroup(name, line, node, findings));
  }
  checkPatternCount(groups, table.line, findings);
  return groups;
}

function checkPatternCount(
  groups: ReadonlyMap<string, DefinedGroup>,
  line: number,
  findings: FindingList,
): void {
  const count = [...groups.values()].reduce((sum, group) => sum + countPatterns(group), 0);
  if (count <= RULES_LIMITS.patterns) return;
  findings.error(
    line,
    `${count.toLocaleString("en-US")} patterns in all groups are too many: at most 10,000 are allowed`,
    "use patterns that end with * or networks in place of single names",
  );
}

const countPatterns = (group: Group): number =>
  group.networks.length + PATTERN_KEYS.reduce((sum, key) => sum + group[key].length, 0);

function readGroup(
  name: string,
  line: number,
  table: TomlTable,
  findings: FindingList,
): DefinedGroup {
  const reader = new TableReader(table, `group ${quoteName(name)}`, GROUP_KEYS, findings);
  const read = (key: PatternKey): readonly string[] =>
    canonicalList(
      (reader.strings(key, EXAMPLES[key]) ?? []).flatMap((text) =>
        readPattern(key, text, findings),
      ),
    );
  const networks = canonicalList(
    (reader.strings("networks", "10.1.4.0/24") ?? []).flatMap((text) =>
      readNetwork(text, findings),
    ),
  );
  const group: DefinedGroup = {
    name,
    line,
    users: read("users"),
    hosts: read("hosts"),
    logins: read("logins"),
    certificates: read("certificates"),
    networks,
    ignoreCase: reader.boolean("ignore_case") ?? false,
  };
  if (countPatterns(group) === 0) {
    findings.warn(
      line,
      `group ${quoteName(name)} has no members`,
      "add users, hosts, networks, logins or certificates",
    );
  }
  return group;
}

function readPattern(
  key: PatternKey,
  { value, line }: Located<string>,
  findings: FindingList,
): readonly string[] {
  const text = value.normalize("NFC");
  const star = text.indexOf("*");
  if (star >= 0 && star < text.length - 1) {
    findings.error(
      line,
      `${key}: * may only be at the end of a pattern: ${quoteName(text)}`,
      `for example ${quoteName(`${text.slice(0, star)}*`)}`,
    );
    return [];
  }
  const fault = findNameFault(text);
  if (fault !== null) {
    findings.error(line, `${key}: a pattern ${fault}`);
    return [];
  }
  // A person's name ends at the first #, unless the name begins with it.
  const instance = text.indexOf("#", 1);
  if (key === "users" && instance > 0) {
    findings.warn(
      line,
      `users: ${quoteName(text)} matches no user: groups look at the name before #`,
      `write ${quoteName(text.slice(0, instance))}`,
    );
  }
  return [text];
}

function readNetwork({ value, line }: Located<string>, findings: FindingList): readonly string[] {
  const network = parseNetwork(value);
  if (network !== null) {
    const canonical = clearHostBits(network);
    if (canonical.value !== network.value) {
      findings.warn(
        line,
        `networks: ${quoteName(value)} names an address inside of a network`,
        `write ${quoteName(formatNetwork(canonical))}`,
      );
    }
    return [formatNetwork(canonical)];
  }
  findings.error(
    line,
    `networks: ${quoteName(value)} is not a network`,
    'for example "10.1.4.0/24", "10.1.4.9" or "fd00:1::/32"',
  );
  return [];
}

/** Why a name of a group, a product or a pattern cannot be used; null: it can. */
export function findNameFault(name: string): string | null {
  if (name === "") return "must not be empty";
  if (!name.isWellFormed() || INVISIBLE.test(name)) return "must not have invisible characters";
  return countBytes(name) > RULES_LIMITS.nameBytes
    ? `must have at most ${RULES_LIMITS.nameBytes} bytes`
    : null;
}

/** Without repetitions, in one order: the order in the file never matters. */
const canonicalList = (values: readonly string[]): readonly string[] =>
  [...new Set(values)].toSorted(compareTexts);
