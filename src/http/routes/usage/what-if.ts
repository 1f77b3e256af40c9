import { Type, type Static } from "@sinclair/typebox";
import { SECOND } from "../../../domain/time.ts";
import type { DemandMet, WhatIf } from "../../../usage/what-if/what-if.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";

const time = Type.String({ format: "date-time" });
const count = Type.Integer();

const demandMet = {
  needs: Type.Integer({ description: "Sessions that began and denied episodes, each need once." }),
  met_at_once: count,
  met_after_waiting: count,
  not_met: count,
  median_wait_seconds: Type.Union([count, Type.Null()], {
    description: "Of the needs that were met after waiting; null: there are none.",
  }),
};

export const WhatIfReply = Type.Object(
  {
    product: Type.String(),
    feature: Type.Union([Type.String(), Type.Null()]),
    from: time,
    to: time,
    lowest_limit: Type.Integer({ description: "The lowest limit that was in force." }),
    highest_limit: count,
    recorded: Type.Object(demandMet, { title: "DemandMet" }),
    rows: Type.Array(
      Type.Object(
        {
          slots: count,
          estimated: Type.Boolean({
            description: "false: this limit was in force all the time; the figures are recorded.",
          }),
          ...demandMet,
        },
        { title: "WhatIfRow" },
      ),
    ),
    target_percent: Type.Number({ description: "Share of needs to meet at once." }),
    target_slots: Type.Union([count, Type.Null()], {
      description: "Fewest slots of the rows that reach it; null: none of them.",
    }),
    check: Type.Object(
      {
        refusals: count,
        refusals_reproduced: count,
        grants: count,
        grants_reproduced: count,
      },
      {
        description:
          "The recorded grants, and the first and the last refusal of each denied episode, decided " +
          "again by the rules with the recorded limits.",
      },
    ),
    mean_session_seconds: Type.Integer({
      description:
        "Assumed use of a slot by a user who gave up: the mean of the recorded sessions.",
    }),
    median_patience_seconds: Type.Integer({
      description: "Assumed time of retries of a user who was granted a slot at once.",
    }),
    retry_interval_seconds: count,
    has_rules: Type.Boolean({
      description: "Rules of sharing were in force; the estimates apply them.",
    }),
    has_queue: Type.Boolean({
      description: "Users waited in the queue; the estimates count them as users who retry.",
    }),
  },
  { title: "WhatIf" },
);

export type WhatIfReply = Static<typeof WhatIfReply>;

export const whatIfReply = (whatIf: WhatIf): WhatIfReply => {
  const { product, feature, limits, recorded, rows, target, check, assumptions } = whatIf;
  return {
    product,
    feature,
    from: rfc3339(whatIf.from),
    to: rfc3339(whatIf.to),
    lowest_limit: limits.lowest,
    highest_limit: limits.highest,
    recorded: demandMetReply(recorded),
    rows: rows.map(({ slots, isRecorded, ...met }) => ({
      slots,
      estimated: !isRecorded,
      ...demandMetReply(met),
    })),
    target_percent: Math.round(target.share * 10_000) / 100,
    target_slots: target.slots,
    check: {
      refusals: check.refusals,
      refusals_reproduced: check.refusalsReproduced,
      grants: check.grants,
      grants_reproduced: check.grantsReproduced,
    },
    mean_session_seconds: toSeconds(assumptions.meanSession),
    median_patience_seconds: toSeconds(assumptions.medianPatience),
    retry_interval_seconds: toSeconds(assumptions.retryInterval),
    has_rules: whatIf.hasRules,
    has_queue: whatIf.hasQueue,
  };
};

const demandMetReply = ({ needs, metAtOnce, metAfterWaiting, notMet, medianWait }: DemandMet) => ({
  needs,
  met_at_once: metAtOnce,
  met_after_waiting: metAfterWaiting,
  not_met: notMet,
  median_wait_seconds: medianWait === null ? null : toSeconds(medianWait),
});

const toSeconds = (milliseconds: number): number => Math.round(milliseconds / SECOND);
