import { pluralize } from "../domain/model/event-texts.ts";
import { RECALL_DURATION } from "../domain/model/rules/recall.ts";
import { MINUTE } from "../domain/time.ts";
import type {
  CappedFault,
  CappingRule,
  Fault,
  OverReservedPool,
  ReservedSlots,
} from "../domain/model/fault.ts";

/** Texts of refusals by the site's rules: each names the rule, its line, and what to do. */

type FaultOf<C extends Fault["code"]> = Extract<Fault, { readonly code: C }>;

type RuleFault = Extract<CappedFault, { readonly rule: CappingRule }>;

export const EXPLAIN_HINT = "berth rules explain shows which rules apply to a user";

/** A message names so many groups; a site can have a thousand. */
const MAX_NAMED_GROUPS = 5;

const WHAT_TO_DO = "try again later, or ask the operator";

/**
 * "all 10 slots are in use or reserved: 3 for sim (line 12); 4 users wait; try again later, …". What
 * to do is said only if a rule is the reason.
 */
export function describeNoSlot({
  slots,
  reserved,
  holds,
  waiting,
  recall,
}: FaultOf<"floating_not_available">): string {
  if (slots === 0) return "the license has no slots";
  const subject = slots === 1 ? "the only slot is" : `all ${slots} slots are`;
  const uses = [
    "in use",
    ...(reserved.length > 0 ? ["reserved"] : []),
    ...(holds > 0 ? ["held"] : []),
  ];
  const details = [
    ...describeReserved(reserved),
    ...(holds > 0 ? [`${holds} for ${holds === 1 ? "a user" : "users"} who waited`] : []),
  ];
  const reason = `${subject} ${formatAlternatives(uses)}`;
  const detailText = details.length > 0 ? `: ${details.join(", ")}` : "";
  const queue = waiting > 0 ? `; ${waiting === 1 ? "1 user waits" : `${waiting} users wait`}` : "";
  const lent = recall === undefined ? "" : `; ${describeRecall(recall)}`;
  const advice = reserved.length > 0 && recall === undefined ? `; ${WHAT_TO_DO}` : "";
  return `${reason}${detailText}${queue}${lent}${advice}`;
}

/** The refused caller is a member: its call made the lent slots recalled. */
const describeRecall = (group: string): string =>
  `others use slots that group ${group} lends: the next free one is kept for the group; ` +
  `try again within ${RECALL_DURATION / MINUTE} minutes`;

function describeReserved(reserved: readonly ReservedSlots[]): string[] {
  const texts = reserved
    .slice(0, MAX_NAMED_GROUPS)
    .map(({ slots, groups }) => `${slots} for ${describeGroups(groups)}`);
  const others = reserved.slice(MAX_NAMED_GROUPS).reduce((sum, { slots }) => sum + slots, 0);
  return others === 0 ? texts : [...texts, `${others} for other groups`];
}

/** "lab (line 4) or sim (line 5)" */
function describeGroups(groups: ReservedSlots["groups"]): string {
  const names = groups
    .slice(0, MAX_NAMED_GROUPS)
    .map(({ group, line }) => `${group} (line ${line})`);
  return formatAlternatives(groups.length > MAX_NAMED_GROUPS ? [...names, "other groups"] : names);
}

/** "in use", "in use or reserved", "in use, reserved or held" */
const formatAlternatives = (words: readonly string[]): string =>
  words.length < 3 ? words.join(" or ") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;

export function describeNotAllowed(fault: FaultOf<"not_allowed_by_rules">): string {
  const { rule, group, line } = fault;
  const action = rule.startsWith("borrow_") ? "to borrow" : "to use";
  const reason =
    group === null
      ? `only the groups of ${rule.replace("borrow_", "")} may, and this caller is in none of them`
      : `they deny group ${group}`;
  return (
    `the site's rules do not allow this caller ${action} ${formatPool(fault)}: ${reason} ` +
    `(line ${line}); ask the operator`
  );
}

/** The refusal of a caller whom a limit allows no slot now. */
export function describeCapped(fault: CappedFault): string {
  if (!("rule" in fault)) {
    return (
      `${describeCap(fault)} on this server; ` +
      `release one first, or ask the operator to raise max_slots_per_${fault.scope}`
    );
  }
  const { slots, line } = fault.rule;
  const reason = slots === 0 ? "" : `, and ${describeReached(fault.rule)}`;
  const advice = slots === 0 ? "ask the operator" : WHAT_TO_DO;
  return `by the site's rules ${describeRule(fault)}${reason} (line ${line}); ${advice}`;
}

/** The limit itself, for the operator: "one user may have 2 slots of CAD at once (line 4)". */
export const describeLimit = (fault: CappedFault): string =>
  "rule" in fault
    ? `${describeRule(fault)} (line ${fault.rule.line})`
    : `${describeCap(fault)} (max_slots_per_${fault.scope})`;

const describeCap = ({ scope, slots }: Exclude<CappedFault, RuleFault>): string =>
  `one ${scope === "peer" ? "address" : scope} may hold ${pluralize(slots, "slot")} at once`;

/** A user or host is named by the request, and messages never repeat that. */
function describeRule({ rule, ...pool }: RuleFault): string {
  const { kind, name, slots } = rule;
  const slotsOfPool = `${slots === 0 ? "no slot" : pluralize(slots, "slot")} of ${formatPool(pool)}`;
  const atOnce = slots === 0 ? "" : " at once";
  return {
    each_user: `one user may have ${slotsOfPool}${atOnce}`,
    each_host: `one host may have ${slotsOfPool}${atOnce}`,
    group: `group ${name} may have ${slotsOfPool}${atOnce}`,
    borrow_max_slots: `${slotsOfPool} may be borrowed${atOnce}`,
    borrow_keep_home: `${slotsOfPool} may not be borrowed`,
  }[kind];
}

/** That the limit is reached, to be said after it. */
function describeReached({ kind, slots }: CappingRule): string {
  const pronoun = slots === 1 ? "it" : "them";
  return {
    each_user: `this one has ${pronoun}`,
    each_host: `this one has ${pronoun}`,
    group: `has ${pronoun}`,
    borrow_max_slots: slots === 1 ? "it is" : "they are",
    borrow_keep_home: "all others are",
  }[kind];
}

export const describeOverReserved = (pool: OverReservedPool): string =>
  `${pool.reserved} of ${formatPool(pool)}, which has ${pool.slots}`;

const formatPool = (pool: { readonly product: string; readonly feature: string | null }): string =>
  pool.feature === null ? pool.product : `feature ${pool.feature} of ${pool.product}`;
