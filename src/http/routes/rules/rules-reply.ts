import { Type, type Static } from "@sinclair/typebox";
import { messageOf } from "../../../faults/catalog.ts";
import type { ExplainedOutcome, Explanation } from "../../../operations/rules/explain-claim.ts";
import type { PoolPreview } from "../../../operations/rules/rules-preview.ts";
import type { RulesCheck, RulesView } from "../../../operations/rules/sharing-rules.ts";
import type { RulesFinding } from "../../../rules/rules-finding.ts";
import { rfc3339OrNull } from "../../timestamps.ts";

const nullable = (kind: "string" | "date-time", description: string) =>
  Type.Unsafe<string | null>({
    anyOf: [
      kind === "date-time" ? { type: "string", format: "date-time" } : { type: "string" },
      { type: "null" },
    ],
    description,
  });

const line = Type.Integer({ description: "Line of the rules; 0: the whole text." });

const RulesFindingReply = Type.Object(
  {
    line,
    severity: Type.Unsafe<RulesFinding["severity"]>({ type: "string", enum: ["error", "warning"] }),
    message: Type.String(),
    hint: nullable("string", "What helps; null: nothing in particular."),
  },
  { title: "RulesFinding" },
);

const rulesMembers = {
  text: Type.String({ description: "The rules as they were applied; empty: there are none." }),
  digest: Type.String({ description: "SHA-256 of the text, in hex; also the ETag." }),
  applied_at: nullable("date-time", "When they were applied; null: there are none."),
  groups: Type.Integer(),
  pools: Type.Integer({ description: "Products and features that have rules." }),
};

export const RulesReply = Type.Object(rulesMembers, { title: "Rules" });
export type RulesReply = Static<typeof RulesReply>;

export const AppliedRulesReply = Type.Object(
  { ...rulesMembers, findings: Type.Array(RulesFindingReply) },
  { title: "AppliedRules" },
);
export type AppliedRulesReply = Static<typeof AppliedRulesReply>;

const DeniedReply = Type.Object(
  {
    user: Type.String(),
    rule: Type.String({ description: "deny or allow_only." }),
    group: nullable("string", "The group of deny; null: the user is in no group of allow_only."),
    line,
  },
  { title: "DeniedUser" },
);

const OverLimitReply = Type.Object(
  {
    kind: Type.String({ description: "each_user, each_host or group." }),
    name: Type.String({ description: "The person, the host or the group." }),
    slots_in_use: Type.Integer(),
    slots: Type.Integer({ description: "The limit." }),
    line,
  },
  { title: "OverLimit" },
);

const ReservedSlots = Type.Object(
  {
    reserved: Type.Integer(),
    idle: Type.Integer({ description: "Reserved slots that their groups do not use." }),
    available: Type.Integer({
      description: "Free slots that a caller without a reservation can get.",
    }),
  },
  { title: "ReservedSlots" },
);

const PoolPreviewReply = Type.Object(
  {
    product: Type.String(),
    feature: nullable("string", "A floating feature; null: the slots of the product itself."),
    slots: Type.Integer(),
    slots_in_use: Type.Integer(),
    holds: Type.Integer({ description: "Slots kept for users who waited." }),
    before: ReservedSlots,
    after: ReservedSlots,
    denied_total: Type.Integer(),
    denied: Type.Array(DeniedReply, {
      description: "The first 100 users who hold a slot and would be refused. They keep it.",
    }),
    over_limit_total: Type.Integer(),
    over_limit: Type.Array(OverLimitReply, {
      description: "The first 100 names with more slots than a limit. They keep them.",
    }),
    denied_waiting_total: Type.Integer(),
    denied_waiting: Type.Array(DeniedReply, {
      description: "The first 100 users who wait and would be refused at once.",
    }),
  },
  { title: "PoolPreview" },
);

export const RulesCheckReply = Type.Object(
  {
    digest: Type.String({ description: "SHA-256 of the text, in hex." }),
    findings: Type.Array(RulesFindingReply),
    preview: Type.Union([Type.Array(PoolPreviewReply), Type.Null()], {
      description: "What would change, by product and feature; null: the rules have errors.",
    }),
  },
  { title: "RulesCheck" },
);
export type RulesCheckReply = Static<typeof RulesCheckReply>;

const OutcomeReply = Type.Object(
  {
    result: Type.Unsafe<ExplainedOutcome["result"]>({
      type: "string",
      enum: ["granted", "renewed", "refused"],
    }),
    code: nullable("string", "The code of the refusal; null: it is not refused."),
    message: nullable("string", "The message that the caller would get."),
    can_wait: Type.Boolean({ description: "Whether a call with Prefer: wait would wait." }),
  },
  { title: "ExplainedOutcome" },
);

export const ExplanationReply = Type.Object(
  {
    product: Type.String(),
    feature: nullable("string", "Null: the slots of the product itself."),
    person: Type.String({ description: "The user name up to the first #." }),
    groups: Type.Array(Type.String(), { description: "The caller's groups." }),
    facts_of_groups: Type.Array(Type.String(), {
      description: "What the groups of the site look at, such as hosts or networks.",
    }),
    home: nullable("string", "The group whose reserved slots the caller uses; null: none."),
    steps: Type.Array(
      Type.Object(
        {
          rule: Type.String(),
          line,
          result: Type.String({ description: "passes, refuses or applies." }),
          text: Type.String(),
        },
        { title: "ExplainedRule" },
      ),
      { description: "The rules that apply, in the order in which they are judged." },
    ),
    slots: Type.Object(
      {
        total: Type.Integer(),
        in_use: Type.Integer(),
        holds: Type.Integer(),
        free: Type.Integer(),
      },
      { title: "ExplainedSlots" },
    ),
    register: OutcomeReply,
    borrow: Type.Union([OutcomeReply, Type.Null()], {
      description: "Null: a feature cannot be borrowed.",
    }),
  },
  { title: "Explanation" },
);
export type ExplanationReply = Static<typeof ExplanationReply>;

export const rulesReply = ({ appliedAt, ...rules }: RulesView): RulesReply => ({
  text: rules.text,
  digest: rules.digest,
  applied_at: rfc3339OrNull(appliedAt),
  groups: rules.groups,
  pools: rules.pools,
});

export const rulesCheckReply = ({ digest, findings, preview }: RulesCheck): RulesCheckReply => ({
  digest,
  findings: [...findings],
  preview: preview && preview.map(poolPreviewReply),
});

const poolPreviewReply = (pool: PoolPreview): Static<typeof PoolPreviewReply> => ({
  product: pool.product,
  feature: pool.feature,
  slots: pool.slots,
  slots_in_use: pool.inUse,
  holds: pool.holds,
  before: pool.before,
  after: pool.after,
  denied_total: pool.denied.total,
  denied: [...pool.denied.first],
  over_limit_total: pool.overLimit.total,
  over_limit: pool.overLimit.first.map(({ inUse, ...limit }) => ({
    ...limit,
    slots_in_use: inUse,
  })),
  denied_waiting_total: pool.deniedWaiting.total,
  denied_waiting: [...pool.deniedWaiting.first],
});

const outcomeReply = ({
  result,
  fault,
  canWait,
}: ExplainedOutcome): Static<typeof OutcomeReply> => ({
  result,
  code: fault?.code ?? null,
  message: fault && messageOf(fault),
  can_wait: canWait,
});

export const explanationReply = (explanation: Explanation): ExplanationReply => {
  const { slots, register, borrow, groups, factsOfGroups, steps, ...rest } = explanation;
  const { inUse, ...figures } = slots;
  return {
    ...rest,
    groups: [...groups],
    facts_of_groups: [...factsOfGroups],
    steps: [...steps],
    slots: { ...figures, in_use: inUse },
    register: outcomeReply(register),
    borrow: borrow && outcomeReply(borrow),
  };
};
