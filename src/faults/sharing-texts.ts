import { pluralize } from "../domain/event-texts.ts";
import type { CappingRule, Fault, OverReservedPool, ReservedSlots } from "../domain/fault.ts";

/** Texts of refusals by the site's rules: each names the rule, its line, and what to do. */

type FaultOf<C extends Fault["code"]> = Extract<Fault, { readonly code: C }>;

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
  const advice = reserved.length > 0 ? `; ${WHAT_TO_DO}` : "";
  return `${reason}${detailText}${queue}${advice}`;
}

function describeReserved(reserved: readonly ReservedSlots[]): string[] {
  const texts = reserved
    .slice(0, MAX_NAMED_GROUPS)
    .map(({ slots, groups }) => `${slots} for ${describeGroups(groups)}`);
  const others = reserved.slice(MAX_NAMED_GROUPS).reduce((sum, { slots }) => sum + slots, 0);
  return others === 0 ? texts : [...texts, `${others} for other groups`];
}

/** "lab (line 4) or sim (line 5)" */
function describeGroups(groups: ReservedSlots["groups"]): string {
  const names = groups.slice(0, MAX_NAMED_GROUPS).map(({ name, line }) => `${name} (line ${line})`);
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

export function describeCappingRule(
  fault: Extract<Fault, { readonly code: "slots_capped"; readonly rule: CappingRule }>,
): string {
  // A user or host is named by the request, and messages never repeat that.
  const { kind, name, slots, line } = fault.rule;
  const allowed = slots === 0 ? "no slot" : pluralize(slots, "slot");
  const pool = formatPool(fault);
  const atOnce = (reason: string): string => (slots === 0 ? "" : ` at once, and ${reason}`);
  const pronoun = slots === 1 ? "it" : "them";
  const limit = {
    each_user: `one user may have ${allowed} of ${pool}${atOnce(`this one has ${pronoun}`)}`,
    each_host: `one host may have ${allowed} of ${pool}${atOnce(`this one has ${pronoun}`)}`,
    group: `group ${name} may have ${allowed} of ${pool}${atOnce(`has ${pronoun}`)}`,
    borrow_max_slots:
      `${allowed} of ${pool} may be borrowed` + atOnce(slots === 1 ? "it is" : "they are"),
    borrow_keep_home: `${allowed} of ${pool} may not be borrowed, and all others are`,
  }[kind];
  const advice = slots === 0 ? "ask the operator" : WHAT_TO_DO;
  return `by the site's rules ${limit} (line ${line}); ${advice}`;
}

export const describeOverReserved = (pool: OverReservedPool): string =>
  `${pool.reserved} of ${formatPool(pool)}, which has ${pool.slots}`;

const formatPool = (pool: { readonly product: string; readonly feature: string | null }): string =>
  pool.feature === null ? pool.product : `feature ${pool.feature} of ${pool.product}`;
