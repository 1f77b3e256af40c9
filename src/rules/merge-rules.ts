import type {
  BorrowRules,
  GroupLimit,
  Limit,
  NamedGroup,
  PoolRules,
  QueueRules,
  Reservation,
  RulePosition,
} from "../domain/model/rules/rule-set.ts";
import { poolKey } from "../domain/model/slots/pool-name.ts";
import { compareTexts } from "../domain/text/compare-texts.ts";
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
  const pools = Map.groupBy(rules, poolKey);
  const merged = [...pools.values()].flatMap((ofPool) => mergePool(ofPool, findings) ?? []);
  return merged.toSorted(
    (a, b) => compareTexts(a.product, b.product) || compareTexts(a.feature ?? "", b.feature ?? ""),
  );
}

/** All rules of a pool at once: with one after the other, many rules would take too long. */
function mergePool(rules: readonly PoolRules[], findings: FindingList): PoolRules | null {
  const [first] = rules;
  if (first === undefined) return null;
  return {
    product: first.product,
    feature: first.feature,
    deny: joinGroups(rules.flatMap(({ deny }) => deny)),
    allowOnly: joinAllowOnly(rules),
    reservations: joinReservations(
      rules.flatMap(({ reservations }) => reservations),
      findings,
    ),
    eachUser: findSmallest(
      rules.map(({ eachUser }) => eachUser),
      slotsOf,
    ),
    eachHost: findSmallest(
      rules.map(({ eachHost }) => eachHost),
      slotsOf,
    ),
    groupLimits: joinLimits(rules.flatMap(({ groupLimits }) => groupLimits)),
    borrow: mergeBorrow(rules.flatMap(({ borrow }) => borrow ?? [])),
    queue: mergeQueue(first.product, rules, findings),
  };
}

/** Each group once, with its first line: a single rule can name a group twice, too. */
function joinGroups(all: readonly NamedGroup[]): readonly NamedGroup[] {
  const groups = new Map<string, NamedGroup>();
  for (const named of all.toSorted((x, y) => x.line - y.line)) {
    if (!groups.has(named.group)) groups.set(named.group, named);
  }
  return [...groups.values()].toSorted(byGroup);
}

function joinAllowOnly(
  rules: readonly Pick<PoolRules, "allowOnly">[],
): readonly NamedGroup[] | null {
  const lists = rules.flatMap(({ allowOnly }) => (allowOnly === null ? [] : [allowOnly]));
  return lists.length === 0 ? null : joinGroups(lists.flat());
}

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
    const known = groups.get(limit.group) ?? null;
    groups.set(limit.group, findSmallest([known, limit], slotsOf) ?? limit);
  }
  return [...groups.values()].toSorted(byGroup);
}

/** The entry with the smallest value; of equal ones, the one with the first line. */
const findSmallest = <P extends RulePosition>(
  entries: readonly (P | null)[],
  valueOf: (entry: P) => number,
): P | null =>
  entries.reduce((a, b) => {
    if (a === null || b === null) return a ?? b;
    return (valueOf(a) - valueOf(b) || a.line - b.line) <= 0 ? a : b;
  }, null);

const slotsOf = ({ slots }: Limit): number => slots;

const mergeBorrow = (all: readonly BorrowRules[]): BorrowRules | null =>
  all.length === 0
    ? null
    : {
        deny: joinGroups(all.flatMap(({ deny }) => deny)),
        allowOnly: joinAllowOnly(all),
        maxHours: findSmallest(
          all.map(({ maxHours }) => maxHours),
          ({ hours }) => hours,
        ),
        maxSlots: findSmallest(
          all.map(({ maxSlots }) => maxSlots),
          slotsOf,
        ),
        keepHome: findSmallest(
          all.map(({ keepHome }) => keepHome),
          ({ slots }) => -slots,
        ),
      };

function mergeQueue(
  product: string,
  rules: readonly PoolRules[],
  findings: FindingList,
): QueueRules | null {
  const [first, ...others] = rules.flatMap(({ queue }) => queue ?? []);
  if (first === undefined) return null;
  for (const { line } of others) {
    const lines = `lines ${first.line} and ${line}`;
    const message = `queue is written twice for product ${quoteName(product)}: ${lines}`;
    findings.error(line, message, "write one queue with all of its settings");
  }
  return first;
}

const byGroup = (a: NamedGroup, b: NamedGroup): number => compareTexts(a.group, b.group);
