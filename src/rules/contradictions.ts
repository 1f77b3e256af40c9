import {
  type NamedGroup,
  type PoolRules,
  type RuleSet,
  GROUP_FACTS,
  type Group,
} from "../domain/model/rules/rule-set.ts";
import type { RulesFinding } from "./rules-finding.ts";
import { quoteName } from "./table-reader.ts";
import { isInNetwork, parseNetwork, type Network } from "../domain/model/rules/network.ts";

/** Rules of a pool that are valid each for itself, and of which one makes another useless. */
export function findContradictions({ groups, pools }: RuleSet): RulesFinding[] {
  const overlaps = new GroupOverlaps(groups);
  return pools.flatMap((pool) => [...findShutOut(pool, overlaps), ...findCappedReservations(pool)]);
}

/** A group that a rule names, to give something to its members or to limit them. */
interface Mention extends NamedGroup {
  /** The rule, as in the file. */
  readonly rule: string;
}

function listMentions({ allowOnly, reservations, groupLimits, borrow, queue }: PoolRules) {
  const priority = queue?.priority.map((group) => ({ group, line: queue.line }));
  return [
    ...mentionsOf("allow_only", allowOnly ?? []),
    ...mentionsOf("reserve", reservations),
    ...mentionsOf("limit.groups", groupLimits),
    ...mentionsOf("borrow.deny", borrow?.deny ?? []),
    ...mentionsOf("borrow.allow_only", borrow?.allowOnly ?? []),
    ...mentionsOf("queue.priority", priority ?? []),
  ];
}

const mentionsOf = (rule: string, named: readonly NamedGroup[]): Mention[] =>
  named.map(({ group, line }) => ({ rule, group, line }));

/** Mentions of groups whose members get no slot. */
function findShutOut(pool: PoolRules, overlaps: GroupOverlaps): RulesFinding[] {
  const deniedIn = new Map(pool.deny.map(({ group, line }) => [group, line]));
  const allowed = pool.allowOnly ?? [];
  const [firstAllowed] = allowed.toSorted((a, b) => a.line - b.line);
  const isAllowed = (group: string): boolean =>
    firstAllowed === undefined ||
    allowed.some((named) => named.group === group || overlaps.mayShareMember(group, named.group));
  return listMentions(pool).flatMap(({ rule, group, line }): RulesFinding[] => {
    const message = `${rule} names group ${quoteName(group)}, which gets no slot`;
    const denied = deniedIn.get(group);
    if (denied !== undefined) {
      const hint = "remove the group from one of the two";
      return [{ line, severity: "warning", message: `${message}: line ${denied} denies it`, hint }];
    }
    if (isAllowed(group)) return [];
    const reason = `none of its members can be in a group of allow_only in line ${firstAllowed?.line}`;
    const hint = `add ${quoteName(group)} to allow_only, or remove it here`;
    return [{ line, severity: "warning", message: `${message}: ${reason}`, hint }];
  });
}

function findCappedReservations({ reservations, groupLimits }: PoolRules): RulesFinding[] {
  const limits = new Map(groupLimits.map((limit) => [limit.group, limit]));
  return reservations.flatMap(({ group, slots, line }): RulesFinding[] => {
    const limit = limits.get(group);
    if (limit === undefined || limit.slots >= slots) return [];
    return [
      {
        line,
        severity: "warning",
        message: `${slots} slots are reserved for group ${quoteName(group)}, but line ${limit.line} limits it to ${limit.slots}`,
        hint: "reserve fewer slots, or raise the limit",
      },
    ];
  });
}

/** More would take longer than the check is worth; groups that are not compared may overlap. */
const MAX_COMPARISONS = 200_000;

/** Whether a caller can belong to two groups at once. */
class GroupOverlaps {
  readonly #groups: ReadonlyMap<string, Group>;
  readonly #networks = new Map<string, readonly (Network | null)[]>();
  #comparisons = 0;

  constructor(groups: readonly Group[]) {
    this.#groups = new Map(groups.map((group) => [group.name, group]));
  }

  /**
   * False only if it is certain: both groups look at the same fact of a caller, and at no other,
   * and none of their patterns match the same. A user name says nothing about a host or an address.
   */
  mayShareMember(nameA: string, nameB: string): boolean {
    const [a, b] = [this.#groups.get(nameA), this.#groups.get(nameB)];
    const fact = a && findOnlyFact(a);
    if (a === undefined || b === undefined || fact == null || fact !== findOnlyFact(b)) return true;
    this.#comparisons += a[fact].length * b[fact].length;
    if (this.#comparisons > MAX_COMPARISONS) return true;
    if (fact === "networks") {
      const networks = this.#networksOf(b);
      return this.#networksOf(a).some((one) => networks.some((other) => doMeet(one, other)));
    }
    const fold = (text: string): string =>
      a.ignoreCase || b.ignoreCase ? text.toLowerCase() : text;
    const patterns = b[fact].map(fold);
    return a[fact].map(fold).some((one) => patterns.some((other) => canMatchSame(one, other)));
  }

  #networksOf({ name, networks }: Group): readonly (Network | null)[] {
    const known = this.#networks.get(name) ?? networks.map(parseNetwork);
    this.#networks.set(name, known);
    return known;
  }
}

/** Null: several, or none: a group without members has a finding of its own. */
function findOnlyFact(group: Group): (typeof GROUP_FACTS)[number] | null {
  const [fact, ...more] = GROUP_FACTS.filter((name) => group[name].length > 0);
  return more.length > 0 ? null : (fact ?? null);
}

function canMatchSame(a: string, b: string): boolean {
  const [beginA, beginB] = [a.replace(/\*$/, ""), b.replace(/\*$/, "")];
  if (a === beginA) return b === beginB ? a === b : a.startsWith(beginB);
  return beginB.startsWith(beginA) || (b !== beginB && beginA.startsWith(beginB));
}

const doMeet = (a: Network | null, b: Network | null): boolean =>
  a !== null && b !== null && (isInNetwork(a, b) || isInNetwork(b, a));
