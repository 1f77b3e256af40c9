import type {
  BorrowRules,
  GroupLimit,
  Limit,
  NamedGroup,
  PoolRules,
  QueueRules,
  Reservation,
} from "../domain/rules/rule-set.ts";
import { compareTexts } from "./read-groups.ts";
import type { FindingList } from "./rules-finding.ts";
import { quoteName } from "./table-reader.ts";

/**
 * Merges all rules for one product, or for one feature, to one entry. The order of the rules does
 * not change the result, but for the lines that messages name.
 */
export function mergeRules(
  rules: readonly PoolRules[],
  findings: FindingList,
): readonly PoolRules[] {
  const pools = new Map<string, PoolRules>();
  for (const rule of rules) {
    const key = poolKey(rule);
    const before = pools.get(key);
    pools.set(key, before === undefined ? mergeOne(rule, findings) : merge(before, rule, findings));
  }
  return [...pools.values()].toSorted(
    (a, b) => compareTexts(a.product, b.product) || compareTexts(a.feature ?? "", b.feature ?? ""),
  );
}

export const poolKey = ({ product, feature }: Pick<PoolRules, "product" | "feature">): string =>
  JSON.stringify([product, feature]);

/** A single rule can name a group twice, too. */
const mergeOne = (rule: PoolRules, findings: FindingList): PoolRules => ({
  ...rule,
  deny: joinGroups(rule.deny, []),
  allowOnly: rule.allowOnly && joinGroups(rule.allowOnly, []),
  reservations: joinReservations(rule.reservations, findings),
  groupLimits: joinLimits(rule.groupLimits),
  borrow: rule.borrow && mergeBorrow(rule.borrow, null),
});

function merge(a: PoolRules, b: PoolRules, findings: FindingList): PoolRules {
  return {
    product: a.product,
    feature: a.feature,
    deny: joinGroups(a.deny, b.deny),
    allowOnly: joinAllowOnly(a.allowOnly, b.allowOnly),
    reservations: joinReservations([...a.reservations, ...b.reservations], findings),
    eachUser: smaller(a.eachUser, b.eachUser),
    eachHost: smaller(a.eachHost, b.eachHost),
    groupLimits: joinLimits([...a.groupLimits, ...b.groupLimits]),
    borrow:
      a.borrow === null ? b.borrow && mergeBorrow(b.borrow, null) : mergeBorrow(a.borrow, b.borrow),
    queue: mergeQueue(a, b, findings),
  };
}

/** Each group once, with its first line. */
function joinGroups(a: readonly NamedGroup[], b: readonly NamedGroup[]): readonly NamedGroup[] {
  const groups = new Map<string, NamedGroup>();
  for (const named of [...a, ...b].toSorted((x, y) => x.line - y.line)) {
    if (!groups.has(named.group)) groups.set(named.group, named);
  }
  return [...groups.values()].toSorted(byGroup);
}

const joinAllowOnly = (
  a: readonly NamedGroup[] | null,
  b: readonly NamedGroup[] | null,
): readonly NamedGroup[] | null => (a === null && b === null ? null : joinGroups(a ?? [], b ?? []));

function joinReservations(
  reservations: readonly Reservation[],
  findings: FindingList,
): readonly Reservation[] {
  const groups = new Map<string, Reservation>();
  for (const reservation of reservations) {
    const { group, line } = reservation;
    const first = groups.get(group);
    if (first === undefined) groups.set(group, reservation);
    else {
      findings.error(
        line,
        `slots are reserved twice for group ${quoteName(group)}: lines ${first.line} and ${line}`,
        "write one reservation with the sum of the slots",
      );
    }
  }
  return [...groups.values()].toSorted(byGroup);
}

function joinLimits(limits: readonly GroupLimit[]): readonly GroupLimit[] {
  const groups = new Map<string, GroupLimit>();
  for (const limit of limits) {
    groups.set(limit.group, smaller(groups.get(limit.group) ?? null, limit) ?? limit);
  }
  return [...groups.values()].toSorted(byGroup);
}

/** Equal limits keep the first line. */
function smaller<L extends Limit>(a: L | null, b: L | null): L | null {
  if (a === null || b === null) return a ?? b;
  if (a.slots === b.slots) return a.line <= b.line ? a : b;
  return a.slots < b.slots ? a : b;
}

function larger(a: Limit | null, b: Limit | null): Limit | null {
  if (a === null || b === null) return a ?? b;
  if (a.slots === b.slots) return a.line <= b.line ? a : b;
  return a.slots > b.slots ? a : b;
}

const mergeBorrow = (a: BorrowRules, b: BorrowRules | null): BorrowRules => ({
  deny: joinGroups(a.deny, b?.deny ?? []),
  allowOnly: joinAllowOnly(a.allowOnly, b?.allowOnly ?? null),
  maxHours: smaller(a.maxHours, b?.maxHours ?? null),
  maxSlots: smaller(a.maxSlots, b?.maxSlots ?? null),
  keepHome: larger(a.keepHome, b?.keepHome ?? null),
});

function mergeQueue(a: PoolRules, b: PoolRules, findings: FindingList): QueueRules | null {
  if (a.queue !== null && b.queue !== null) {
    const lines = `lines ${a.queue.line} and ${b.queue.line}`;
    findings.error(
      b.queue.line,
      `queue is written twice for product ${quoteName(a.product)}: ${lines}`,
      "write one queue with all of its settings",
    );
  }
  return a.queue ?? b.queue;
}

const byGroup = (a: NamedGroup, b: NamedGroup): number => compareTexts(a.group, b.group);
