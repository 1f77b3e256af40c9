import type { ReportReply } from "../../http/routes/usage/report-schema.ts";

export type EpisodeReply = ReportReply["episodes"][number];
export type DayReply = ReportReply["days"][number];

export interface DeniedFigures {
  readonly episodes: number;
  readonly people: number;
  readonly granted: number;
  /** In seconds, of those who got a slot later; null: there are none. */
  readonly waits: {
    readonly median: number;
    readonly p95: number;
    readonly longest: number;
  } | null;
}

/** The figures of listed episodes: those of a product without those of its features. */
export function summarizeEpisodes(episodes: readonly EpisodeReply[]): DeniedFigures {
  const waits = episodes
    .filter(({ outcome }) => outcome === "granted")
    .map(({ waited_seconds }) => waited_seconds)
    .toSorted((a, b) => a - b);
  return {
    episodes: episodes.length,
    people: new Set(episodes.map(({ person }) => person)).size,
    granted: waits.length,
    waits:
      waits.length === 0
        ? null
        : { median: rankOf(waits, 0.5), p95: rankOf(waits, 0.95), longest: waits.at(-1) ?? 0 },
  };
}

/** The smallest value that this share of all values does not exceed. */
const rankOf = (sorted: readonly number[], share: number): number =>
  sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;

/** Denied episodes by day, for every given day. */
export function countByDay(
  days: readonly DayReply[],
  wanted: readonly string[],
): { readonly day: string; readonly episodes: number }[] {
  const counts = new Map<string, number>();
  for (const { day, episodes } of days) counts.set(day, (counts.get(day) ?? 0) + episodes);
  return wanted.map((day) => ({ day, episodes: counts.get(day) ?? 0 }));
}
