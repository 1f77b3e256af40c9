import { pluralize } from "../../domain/model/event-texts.ts";
import type { RuleContext } from "../../domain/model/rule-context.ts";
import { findHold } from "../../domain/queue/holds.ts";
import { listReservations, sharesOfHold } from "../../domain/rules/judge-claim.ts";
import type { CallerFacts } from "../../domain/model/rules/caller-facts.ts";
import type { Limit, RulePosition } from "../../domain/model/rules/rule-set.ts";
import type { RuledPool } from "../../domain/model/rules/rules-index.ts";
import type { State } from "../../domain/model/state.ts";

export interface ExplainedRule {
  readonly rule: string;
  /** The line of the site's rules. */
  readonly line: number;
  readonly result: "passes" | "refuses" | "applies";
  readonly text: string;
}

/** The rules of a pool that apply to a caller, with their lines and numbers. */
export function listSteps(
  state: State,
  ruled: RuledPool,
  facts: CallerFacts,
  groups: readonly string[],
  { at }: RuleContext,
): readonly ExplainedRule[] {
  const { product, feature } = ruled.pool.rules;
  return [
    ...explainGroups("deny", ruled.pool.rules.deny, groups, "refuses"),
    ...explainGroups("allow_only", ruled.pool.rules.allowOnly ?? [], groups, "passes"),
    ...explainLimits(state, ruled, facts),
    ...listReservations(state, { product, feature }, at).map(
      ({ group, slots, idle, acting, idleSlots, line }): ExplainedRule => ({
        rule: "reserve",
        line,
        result: "applies",
        text:
          `${pluralize(slots, "slot")} for group ${group}, of which it uses ${slots - idleSlots} ` +
          `(${idle}` +
          `${acting === idle ? "" : ", but kept for now: a member was refused"})` +
          (ruled.pool.findHome(facts) === group ? ": the caller's own reservation" : ""),
      }),
    ),
    ...explainBorrow(ruled, groups),
  ];
}

/** `onMatch` is what it means for the caller to be in one of the groups. */
function explainGroups(
  rule: string,
  named: readonly { readonly group: string; readonly line: number }[],
  groups: readonly string[],
  onMatch: "passes" | "refuses",
): readonly ExplainedRule[] {
  const [first] = named.toSorted((a, b) => a.line - b.line);
  if (first === undefined) return [];
  const matching = named.filter(({ group }) => groups.includes(group));
  const onMismatch = onMatch === "passes" ? "refuses" : "passes";
  if (matching.length === 0) {
    const count = named.length === 1 ? `group ${first.group}` : `any of ${named.length} groups`;
    return [{ rule, line: first.line, result: onMismatch, text: `not in ${count}` }];
  }
  return matching.map(({ group, line }) => ({
    rule,
    line,
    result: onMatch,
    text: `member of group ${group}`,
  }));
}

/** A slot that is held for the caller does not count against it. */
function explainLimits(
  state: State,
  { pool, use }: RuledPool,
  facts: CallerFacts,
): readonly ExplainedRule[] {
  const { product, feature, eachUser, eachHost } = pool.rules;
  const { person, host, limitGroups } = pool.sharesOf(facts);
  const hold = feature === null ? findHold(state, product, facts.user) : null;
  const holdShares = sharesOfHold(pool, state, hold?.number ?? null);
  const personUse =
    person === null ? 0 : countOthers(use.byPerson(person), holdShares.person === person);
  const hostUse = host === null ? 0 : countOthers(use.byHost(host), holdShares.host === host);
  return [
    ...(eachUser === null || person === null
      ? []
      : [explainLimit("limit.each_user", `person ${person}`, personUse, eachUser)]),
    ...(eachHost === null
      ? []
      : host === null
        ? [noHostStep(eachHost.line)]
        : [explainLimit("limit.each_host", `host ${host}`, hostUse, eachHost)]),
    ...limitGroups.map((limit) => {
      const { group } = limit;
      const isOfHold = holdShares.limitGroups.some((limitOfHold) => limitOfHold.group === group);
      const groupUse = countOthers(use.byGroup(group), isOfHold);
      return explainLimit("limit.groups", `group ${group}`, groupUse, limit);
    }),
  ];
}

const countOthers = (count: number, isOfHold: boolean): number => count - (isOfHold ? 1 : 0);

const explainLimit = (
  rule: string,
  name: string,
  inUse: number,
  { slots, line }: Limit,
): ExplainedRule => ({
  rule,
  line,
  result: inUse < slots ? "passes" : "refuses",
  text: `${name} uses ${inUse} of ${pluralize(slots, "slot")}`,
});

const noHostStep = (line: number): ExplainedRule => ({
  rule: "limit.each_host",
  line,
  result: "passes",
  text: "the caller sends no host name, so this limit does not count",
});

const explainEntry = <P extends RulePosition>(
  rule: string,
  entry: P | null,
  describe: (entry: P) => string,
): readonly ExplainedRule[] =>
  entry === null ? [] : [{ rule, line: entry.line, result: "applies", text: describe(entry) }];

function explainBorrow(
  { pool: { rules } }: RuledPool,
  groups: readonly string[],
): readonly ExplainedRule[] {
  const { borrow } = rules;
  if (borrow === null) return [];
  const { maxHours, maxSlots, keepHome } = borrow;
  return [
    ...explainGroups("borrow.deny", borrow.deny, groups, "refuses"),
    ...explainGroups("borrow.allow_only", borrow.allowOnly ?? [], groups, "passes"),
    ...explainEntry(
      "borrow.max_hours",
      maxHours,
      ({ hours }) => `a borrow lasts at most ${pluralize(hours, "hour")}`,
    ),
    ...explainEntry(
      "borrow.max_slots",
      maxSlots,
      ({ slots }) => `at most ${pluralize(slots, "slot")} can be borrowed at once`,
    ),
    ...explainEntry(
      "borrow.keep_home",
      keepHome,
      ({ slots }) => `${pluralize(slots, "slot")} cannot be borrowed`,
    ),
  ];
}
