import { SECOND } from "../../../domain/time.ts";
import type { EpisodeCounts, PoolFigures, Report, Waits } from "../../../usage/report/report.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { rfc3339OrNull } from "../../timestamps.ts";
import type { ReportPoolReply, ReportReply } from "./report-schema.ts";

/** A report as the API sends it. Hours and means have three decimals, waiting times none. */
export function reportReply(report: Report, isAnonymous: boolean): ReportReply {
  const { request, denials, omitted } = report;
  return {
    from: rfc3339(report.from),
    to: rfc3339(report.to),
    known_from: rfc3339(report.knownFrom),
    as_of: rfc3339(report.asOf),
    missing: report.missing.map(({ from, to, firstLine, lastLine }) => ({
      from: rfc3339(from),
      to: rfc3339(to),
      first_line: firstLine,
      last_line: lastLine,
    })),
    product: request.product,
    feature: request.feature,
    time_zone: request.timeZone,
    idle_days: request.idleDays,
    anonymous: isAnonymous,
    pools: report.pools.map(poolReply),
    days: report.days.map((day) => ({
      day: day.day,
      product: day.product,
      feature: day.feature,
      limit: day.limit,
      peak: day.peak,
      slot_hours: round(day.slotHours),
      hours_at_limit: round(day.hoursAtLimit),
      people: day.people,
      ...countsReply(day),
      waits: waitsReply(day.waits),
      consumption: day.consumption,
    })),
    denials: {
      ...countsReply(denials),
      open: denials.open,
      people: denials.people,
      waits: waitsReply(denials.waits),
      reasons: [...denials.reasons],
      denied_people: denials.deniedPeople.map((denied) => ({
        person: denied.person,
        ...countsReply(denied),
        longest_wait_seconds: toSeconds(denied.longestWait),
      })),
    },
    episodes: report.episodes.map(({ firstAt, lastAt, waited, ...episode }) => ({
      ...episode,
      first_at: rfc3339(firstAt),
      last_at: rfc3339(lastAt),
      waited_seconds: toSeconds(waited),
    })),
    people: report.people.map(({ slotHours, ...person }) => ({
      ...person,
      slot_hours: round(slotHours),
    })),
    borrows: report.borrows.map(({ borrowedHours, longestHours, ...borrow }) => ({
      ...borrow,
      borrowed_hours: round(borrowedHours),
      longest_hours: round(longestHours),
    })),
    idle: report.idle.map((holder) => ({
      person: holder.person,
      user: holder.user,
      product: holder.product,
      license_id: holder.license,
      host: holder.host,
      peer: holder.peer,
      held_since: rfc3339(holder.heldSince),
      last_seen_at: rfc3339(holder.lastSeenAt),
      last_use_at: rfc3339OrNull(holder.lastUseAt),
      idle_days: holder.idleDays,
      borrowed_until: rfc3339OrNull(holder.borrowedUntil),
    })),
    consumption: report.consumption.map(({ license, ...consumption }) => ({
      ...consumption,
      license_id: license,
    })),
    ending: report.ending.map(({ license, endsAt, ...ending }) => ({
      ...ending,
      license_id: license,
      ends_at: rfc3339(endsAt),
    })),
    sessions: report.sessions.map(({ license, start, end, endedBy, ...session }) => ({
      ...session,
      license_id: license,
      start: rfc3339OrNull(start),
      end: rfc3339OrNull(end),
      ended_by: endedBy,
    })),
    omitted: {
      days: omitted.days,
      denied_people: omitted.deniedPeople,
      episodes: omitted.episodes,
      people: omitted.people,
      idle: omitted.idle,
      sessions: omitted.sessions,
    },
  };
}

const poolReply = (figures: PoolFigures): ReportPoolReply => ({
  product: figures.product,
  feature: figures.feature,
  limit: figures.limit,
  limits: figures.limits.map(({ from, limit }) => ({ from: rfc3339(from), limit })),
  peak: figures.peak,
  p95: figures.p95,
  p99: figures.p99,
  mean: round(figures.mean),
  hours_at_limit: round(figures.hoursAtLimit),
  observed_hours: round(figures.observedHours),
  slot_hours: round(figures.slotHours),
  sessions: figures.sessions,
  people: figures.people,
  episodes: figures.episodes,
  open_episodes: figures.openEpisodes,
  heat_map: {
    mean: figures.heatMap.mean.map((row) =>
      row.map((mean) => (mean === null ? null : round(mean))),
    ),
    peak: figures.heatMap.peak.map((row) => [...row]),
  },
});

const countsReply = ({ episodes, attempts, granted, gaveUp, left }: EpisodeCounts) => ({
  episodes,
  attempts,
  granted,
  gave_up: gaveUp,
  left,
});

const waitsReply = (waits: Waits | null): ReportReply["denials"]["waits"] =>
  waits && {
    median_seconds: toSeconds(waits.median),
    p95_seconds: toSeconds(waits.p95),
    longest_seconds: toSeconds(waits.longest),
  };

const toSeconds = (milliseconds: number): number => Math.round(milliseconds / SECOND);
const round = (value: number): number => Math.round(value * 1_000) / 1_000;
