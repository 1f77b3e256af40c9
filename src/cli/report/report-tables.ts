import type { ReportReply } from "../../http/routes/usage/report-schema.ts";
import {
  createZoneFormatter,
  formatHours,
  formatReason,
  formatSeconds,
  OUTCOMES,
  poolName,
} from "./figures.ts";

/** The lists of a report that the formats for people share, with the titles of their columns. */
export function reportTables(report: ReportReply) {
  const formatTime = createZoneFormatter(report);
  return {
    pools: report.pools.map((pool) => ({
      Product: poolName(pool),
      // Such as 4, 6 if the limit changed in the period.
      Limit: pool.limits.map(({ limit }) => limit).join(", ") || pool.limit,
      Peak: pool.peak,
      p95: pool.p95,
      p99: pool.p99,
      Mean: pool.mean.toFixed(1),
      "Hours full": formatHours(pool.hours_at_limit),
      "Observed hours": formatHours(pool.observed_hours),
      Sessions: pool.sessions,
      People: pool.people,
      Denied: pool.episodes,
    })),
    reasons: report.denials.reasons.map((reason) => ({
      Product: poolName(reason),
      Why: formatReason(reason),
      Episodes: reason.episodes,
      People: reason.people,
    })),
    episodes: report.episodes.toReversed().map((episode) => ({
      First: formatTime(episode.first_at),
      User: episode.user,
      Product: poolName(episode),
      Why: formatReason(episode),
      Attempts: episode.attempts,
      Outcome: OUTCOMES[episode.outcome],
      Waited: formatSeconds(episode.waited_seconds),
    })),
    people: report.people.map((person) => ({
      Person: person.person,
      Product: poolName(person),
      "Slot hours": formatHours(person.slot_hours),
      Sessions: person.sessions,
      Borrows: person.borrows,
      Denied: person.episodes,
    })),
    idle: report.idle.map((holder) => ({
      User: holder.user,
      Product: holder.product,
      Host: holder.host,
      "Held since": formatTime(holder.held_since),
      "Last seen": formatTime(holder.last_seen_at),
      "Idle days": holder.idle_days,
      "Borrowed until": formatTime(holder.borrowed_until),
    })),
    borrows: report.borrows.map((row) => ({
      Product: row.product,
      Borrows: row.borrows,
      People: row.people,
      Hours: formatHours(row.borrowed_hours),
      Longest: formatHours(row.longest_hours),
    })),
    consumption: report.consumption.map((row) => ({
      Product: poolName(row),
      License: row.license_id,
      Counted: row.counted,
      Total: row.total,
      Maximum: row.max ?? "unlimited",
      Overage: row.overage,
      People: row.people,
    })),
    ending: report.ending.map((row) => ({
      Product: poolName(row),
      License: row.license_id,
      Slots: row.slots,
      Ends: formatTime(row.ends_at),
    })),
  };
}
