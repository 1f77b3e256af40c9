import { Type } from "@sinclair/typebox";
import type { Recall } from "../../domain/model/rules/recall.ts";
import type { Identity } from "../../domain/model/rules/caller-facts.ts";
import type { RuleSet } from "../../domain/model/rules/rule-set.ts";
import type { AppliedRules } from "../../domain/model/state.ts";
import { At, Hash, type RowOf } from "./basic-rows.ts";

const MaybeText = Type.Union([Type.String(), Type.Null()]);
export const IdentityRow = Type.Object({
  login: MaybeText,
  certificate: MaybeText,
} satisfies RowOf<Identity>);

export const AppliedRulesRow = Type.Object({
  text: Type.String(),
  digest: Hash,
  rules: Type.Unsafe<RuleSet>(
    Type.Object({
      groups: Type.Array(Type.Object({ name: Type.String() })),
      pools: Type.Array(Type.Object({ product: Type.String() })),
    }),
  ),
  at: At,
} satisfies RowOf<AppliedRules>);

export const RecallRow = Type.Object({
  product: Type.String(),
  feature: MaybeText,
  group: Type.String(),
  at: At,
  until: At,
} satisfies RowOf<Recall>);
