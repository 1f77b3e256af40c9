import type { EventRows } from "../model/event-row.ts";
import { NO_DETAILS } from "../model/event-row.ts";
import { formatDuration, formatTimestamp, pluralize } from "../model/event-texts.ts";
import type { EpisodeEnded, EpisodeOutcome } from "../model/demand/episode.ts";

/** What the audit log says of demand that was not met. */
export const DEMAND_EVENTS: EventRows<"EpisodesObserved" | "EpisodeEnded"> = {
  EpisodesObserved: {
    kind: "refusals",
    isAudited: false,
    summary: ({ episodes }) => `${pluralize(episodes.length, "denied episode")} continued`,
    details: () => NO_DETAILS,
  },
  EpisodeEnded: {
    kind: "refusals",
    isAudited: true,
    summary: (event) =>
      `${describeDenial(event)}, then ${OUTCOME_TEXTS[event.outcome]}: ${event.code}`,
    details: (event) => ({
      feature: event.feature,
      code: event.code,
      rule: event.rule,
      first_at: formatTimestamp(event.firstAt),
      last_at: formatTimestamp(event.lastAt),
      attempts: event.attempts,
      outcome: event.outcome,
      ended_at: formatTimestamp(event.endedAt),
      first_seq: event.firstSeq,
      last_seq: event.lastSeq,
    }),
  },
};

const OUTCOME_TEXTS: Readonly<Record<EpisodeOutcome, string>> = {
  granted: "granted",
  gave_up: "gave up",
  left: "left",
};

/** Such as "slot of feature MESH denied 50 times in 4 minutes". */
function describeDenial({ feature, attempts, firstAt, endedAt }: EpisodeEnded): string {
  const slot = feature === null ? "slot" : `slot of feature ${feature}`;
  const times = attempts === 1 ? "once" : `${attempts} times`;
  const duration = endedAt - firstAt;
  return `${slot} denied ${times}${duration === 0 ? "" : ` in ${formatDuration(duration)}`}`;
}
