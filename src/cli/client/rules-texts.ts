import type { ExplanationReply, RulesCheckReply } from "../../http/routes/rules/rules-reply.ts";
import type { RulesFinding } from "../../rules/rules-finding.ts";
import { formatList, formatTable } from "../frame/terminal.ts";

type PoolPreview = NonNullable<RulesCheckReply["preview"]>[number];
type Outcome = ExplanationReply["register"];

/** One line for each finding, in the form that editors know: file, line, what is wrong. */
export const formatFindings = (findings: readonly RulesFinding[], file: string): string[] =>
  findings.flatMap(({ line, severity, message, hint }) => [
    `${file}:${line === 0 ? "" : `${line}:`} ${severity}: ${message}`,
    ...(hint === null ? [] : [`    ${hint}`]),
  ]);

/** What rules would change, by product and feature. */
export function formatPreview(pools: readonly PoolPreview[] | null): string[] {
  if (pools === null || pools.length === 0) return [];
  const rows = pools.map(({ before, after, ...pool }) => ({
    product: pool.product,
    feature: pool.feature,
    slots: pool.slots,
    "in use": pool.slots_in_use,
    held: pool.holds,
    reserved: formatChange(before.reserved, after.reserved),
    idle: formatChange(before.idle, after.idle),
    "free for others": formatChange(before.available, after.available),
  }));
  return [formatList(rows), ...pools.flatMap(formatAffected)];
}

const describePool = ({ product, feature }: Pick<PoolPreview, "product" | "feature">): string =>
  feature === null ? product : `${product}, feature ${feature}`;

const formatChange = (before: number, after: number): string =>
  before === after ? String(after) : `${before} -> ${after}`;

function formatAffected(pool: PoolPreview): string[] {
  const name = describePool(pool);
  return [
    ...formatNames(
      `${name}: hold a slot and would be refused now (they keep it)`,
      pool.denied_total,
      pool.denied.map(({ user, line }) => `${user} (line ${line})`),
    ),
    ...formatNames(
      `${name}: above a limit (they keep their slots)`,
      pool.over_limit_total,
      pool.over_limit.map(
        (limit) => `${limit.name} ${limit.slots_in_use} of ${limit.slots} (line ${limit.line})`,
      ),
    ),
    ...formatNames(
      `${name}: wait in the queue and will be refused`,
      pool.denied_waiting_total,
      pool.denied_waiting.map(({ user, line }) => `${user} (line ${line})`),
    ),
  ];
}

const SHOWN_NAMES = 10;

function formatNames(title: string, total: number, names: readonly string[]): string[] {
  if (total === 0) return [];
  const shown = names.slice(0, SHOWN_NAMES);
  const rest = total - shown.length;
  return [`${title}: ${total}`, `    ${shown.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`];
}

export function formatExplanation(reply: ExplanationReply): string {
  const { product, feature, person, groups, home, steps, slots, register, borrow } = reply;
  const facts = [
    ["product", product],
    ["feature", feature ?? "none: the slots of the product itself"],
    ["person", person],
    ["groups", groups.join(", ") || "none"],
    ["own reservation", home ?? "none"],
    ["slots", `${slots.total}, ${slots.in_use} in use, ${slots.holds} held, ${slots.free} free`],
  ];
  const rows = steps.map(({ line, text, ...step }) => ({
    line: `line ${line}`,
    rule: step.rule,
    result: step.result,
    "": text,
  }));
  return [
    formatTable(facts),
    formatList(rows, "no rule applies"),
    [
      `register: ${describeOutcome(register)}`,
      ...(borrow === null ? [] : [`borrow: ${describeOutcome(borrow)}`]),
    ].join("\n"),
  ].join("\n\n");
}

function describeOutcome({ result, code, message, can_wait }: Outcome): string {
  if (result === "granted") return "granted";
  if (result === "renewed") return "renewed: the user holds a slot, and rules do not judge that";
  const waiting = can_wait ? "\n    with Prefer: wait, the call would wait in the queue" : "";
  return `refused, ${code}: ${message}${waiting}`;
}
