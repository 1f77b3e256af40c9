import type {
  BorrowRules,
  GroupLimit,
  HourLimit,
  Limit,
  NamedGroup,
  PoolRules,
  QueueRules,
  Reservation,
} from "../domain/model/rules/rule-set.ts";
import { DEFAULT_QUEUE_RULES } from "../domain/model/rules/rule-set.ts";
import { RANGES } from "./limits.ts";
import type { GroupNames } from "./group-names.ts";
import { findNameFault } from "./read-groups.ts";
import type { FindingList } from "./rules-finding.ts";
import { quoteName, readCount, TableReader, type NumberRange } from "./table-reader.ts";
import type { TomlTable } from "./toml-tree.ts";

/** What the rule is about. */
const POOL_KEYS = ["product", "feature"];

const RULE_KEYS = [...POOL_KEYS, "deny", "allow_only", "reserve", "limit", "borrow", "queue"];

/** Reads one `[[rule]]`. Null: it names no product, or says nothing. */
export function readRule(
  table: TomlTable,
  groups: GroupNames,
  findings: FindingList,
): PoolRules | null {
  const rule = new TableReader(table, "", RULE_KEYS, findings);
  const product = readName(rule, "product", "CAD", findings);
  if (!rule.has("product")) {
    findings.error(table.line, "a rule must name its product", 'for example product = "CAD"');
  }
  const feature = readName(rule, "feature", "RENDER", findings);
  if (rule.has("feature")) {
    for (const key of ["borrow", "queue"]) {
      const entry = rule.entry(key);
      if (entry === null) continue;
      const message =
        key === "borrow"
          ? "borrow cannot be set for a feature: only slots of a product are borrowed"
          : "queue cannot be set for a feature: users wait only for slots of a product";
      findings.error(entry.line, message, "write it in a rule without feature");
    }
  }
  const limit = readLimit(rule, groups, findings);
  const contents = {
    deny: readGroupList(rule, "deny", groups, findings) ?? [],
    allowOnly: readAllowOnly(rule, groups, findings),
    reservations: readReservations(rule, groups, findings),
    ...limit,
    borrow: readBorrow(rule, groups, findings),
    queue: readQueue(rule, groups, findings),
  };
  if ([...table.entries.keys()].every((key) => POOL_KEYS.includes(key))) {
    findings.warn(table.line, "this rule does nothing", "add deny, allow_only, reserve or limit");
    return null;
  }
  return product === null ? null : { product, feature, ...contents };
}

function readName(
  rule: TableReader,
  key: string,
  example: string,
  findings: FindingList,
): string | null {
  const text = rule.string(key, example);
  if (text === null) return null;
  const name = text.value.normalize("NFC");
  const fault = findNameFault(name);
  if (fault === null) return name;
  findings.error(text.line, `${key} ${fault}`, `for example ${key} = "${example}"`);
  return null;
}

function readGroupList(
  reader: TableReader,
  key: string,
  groups: GroupNames,
  findings: FindingList,
): readonly NamedGroup[] | null {
  const names = reader.strings(key, "staff");
  return (
    names?.flatMap(({ value, line }) => {
      const group = groups.resolve(value, line, findings);
      return group === null ? [] : [{ group, line }];
    }) ?? null
  );
}

/** An empty list would close the product without naming a group that could be the reason. */
function readAllowOnly(
  reader: TableReader,
  groups: GroupNames,
  findings: FindingList,
): readonly NamedGroup[] | null {
  const named = readGroupList(reader, "allow_only", groups, findings);
  const entry = reader.entry("allow_only");
  if (entry?.node.kind !== "list" || entry.node.items.length > 0) return named;
  const hint = "name a group, or remove allow_only; to close a product, set each_user = 0";
  findings.error(entry.line, "allow_only names no group", hint);
  return null;
}

const RESERVE_EXAMPLE = 'reserve = [{ group = "sim", slots = 4 }]';

function readReservations(
  rule: TableReader,
  groups: GroupNames,
  findings: FindingList,
): readonly Reservation[] {
  return rule.tables("reserve", RESERVE_EXAMPLE).flatMap((table) => {
    const reader = new TableReader(table, "reserve", ["group", "slots", "idle"], findings);
    const name = reader.string("group", "sim");
    const slots = reader.count("slots", RANGES.reserved);
    const missing = ["group", "slots"].filter((key) => !reader.has(key));
    if (missing.length > 0) {
      const message = `a reservation needs ${missing.join(" and ")}`;
      findings.error(table.line, message, `for example ${RESERVE_EXAMPLE}`);
    }
    const idle = readIdle(reader, findings);
    const group = name === null ? null : groups.resolve(name.value, name.line, findings);
    if (group === null || slots === null || idle === null) return [];
    return [{ group, slots: slots.value, idle, line: name?.line ?? table.line }];
  });
}

function readIdle(reader: TableReader, findings: FindingList): Reservation["idle"] | null {
  if (!reader.has("idle")) return "keep";
  const idle = reader.string("idle", "lend");
  if (idle === null) return null;
  if (idle.value === "keep" || idle.value === "lend") return idle.value;
  findings.error(
    idle.line,
    `idle must be "keep" or "lend", not ${quoteName(idle.value)}`,
    '"keep" leaves unused slots free; "lend" gives them to others',
  );
  return null;
}

type LimitRules = Pick<PoolRules, "eachUser" | "eachHost" | "groupLimits">;

function readLimit(rule: TableReader, groups: GroupNames, findings: FindingList): LimitRules {
  const table = rule.table("limit", "limit = { each_user = 2 }");
  if (table === null) return { eachUser: null, eachHost: null, groupLimits: [] };
  const reader = new TableReader(table, "limit", ["each_user", "each_host", "groups"], findings);
  return {
    eachUser: readSlots(reader, "each_user", RANGES.limit),
    eachHost: readSlots(reader, "each_host", RANGES.limit),
    groupLimits: readGroupLimits(reader, groups, findings),
  };
}

function readGroupLimits(
  limit: TableReader,
  groups: GroupNames,
  findings: FindingList,
): readonly GroupLimit[] {
  const table = limit.table("groups", "groups = { build = 6 }");
  return [...(table?.entries ?? [])].flatMap(([name, entry]) => {
    const group = groups.resolve(name, entry.line, findings);
    const slots = readCount(quoteName(name), entry, RANGES.limit, findings);
    return group === null || slots === null
      ? []
      : [{ group, slots: slots.value, line: entry.line }];
  });
}

function readSlots(reader: TableReader, key: string, range: NumberRange): Limit | null {
  const count = reader.count(key, range);
  return count === null ? null : { slots: count.value, line: count.line };
}

function readHours(reader: TableReader, key: string, range: NumberRange): HourLimit | null {
  const count = reader.count(key, range);
  return count === null ? null : { hours: count.value, line: count.line };
}

const BORROW_KEYS = ["deny", "allow_only", "max_hours", "max_slots", "keep_home"];

function readBorrow(
  rule: TableReader,
  groups: GroupNames,
  findings: FindingList,
): BorrowRules | null {
  const table = rule.table("borrow", "borrow = { max_hours = 72 }");
  if (table === null) return null;
  const reader = new TableReader(table, "borrow", BORROW_KEYS, findings);
  return {
    deny: readGroupList(reader, "deny", groups, findings) ?? [],
    allowOnly: readAllowOnly(reader, groups, findings),
    maxHours: readHours(reader, "max_hours", RANGES.borrowHours),
    maxSlots: readSlots(reader, "max_slots", RANGES.borrowSlots),
    keepHome: readSlots(reader, "keep_home", RANGES.keepHome),
  };
}

const QUEUE_KEYS = ["priority", "hold_seconds", "max_waiting"];

function readQueue(
  rule: TableReader,
  groups: GroupNames,
  findings: FindingList,
): QueueRules | null {
  const table = rule.table("queue", "queue = { hold_seconds = 30 }");
  if (table === null) return null;
  const reader = new TableReader(table, "queue", QUEUE_KEYS, findings);
  const priority = readGroupList(reader, "priority", groups, findings) ?? [];
  const firstLines = new Map<string, number>();
  for (const { group, line } of priority) {
    const first = firstLines.get(group);
    if (first === undefined) firstLines.set(group, line);
    else {
      const lines = `lines ${first} and ${line}`;
      const message = `priority names group ${quoteName(group)} twice: ${lines}`;
      findings.error(line, message, "remove one of them");
    }
  }
  const { holdSeconds, maxWaiting } = DEFAULT_QUEUE_RULES;
  return {
    line: rule.entry("queue")?.line ?? table.line,
    priority: priority.map(({ group }) => group),
    holdSeconds: reader.count("hold_seconds", RANGES.holdSeconds)?.value ?? holdSeconds,
    maxWaiting: reader.count("max_waiting", RANGES.maxWaiting)?.value ?? maxWaiting,
  };
}
