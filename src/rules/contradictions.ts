import type { NamedGroup, PoolRules, RuleSet } from "../domain/model/rules/rule-set.ts";
import { GroupOverlaps } from "./group-overlaps.ts";
import type { RulesFinding } from "./rules-finding.ts";
import { quoteName } from "./table-reader.ts";

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
