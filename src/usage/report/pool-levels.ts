import { visitParts } from "../clock-periods.ts";
import { intersect, type TimeSpan } from "../time-span.ts";
import { instant, type Instant } from "../../domain/time.ts";
import type { PoolName } from "../../domain/model/slots/pool-name.ts";
import type { ClockPeriod, Session, SiteRecord } from "../site-record.ts";
import { listLimits } from "../terms-in-force.ts";
import { visitInSteps, type InSteps } from "./report.ts";

/** A stretch of time in which neither the slots in use nor the limit changed. */
export interface LevelStretch extends TimeSpan {
  readonly level: number;
  readonly limit: number;
  readonly isInstalled: boolean;
}

/** So many stretches are computed at once: a few milliseconds of work. */
const PIECE = 2_000;

/**
 * Visits the slots in use of one pool, clock period by clock period, without gaps. `breaks` are
 * instants at which a stretch ends too, ascending.
 */
export function* visitLevels(
  record: Pick<SiteRecord, "clockPeriods" | "terms">,
  key: PoolName,
  sessions: readonly Session[],
  window: TimeSpan,
  breaks: readonly Instant[],
  visit: (stretch: LevelStretch) => void,
): InSteps<void> {
  const { clockPeriods, terms } = record;
  const edges = yield* listEdges(sessions, clockPeriods, window);
  for (const [index, period] of clockPeriods.entries()) {
    const span = intersect(period, window);
    if (span === null) continue;
    const starts = Float64Array.from(edges[index]?.starts ?? []).toSorted();
    const ends = Float64Array.from(edges[index]?.ends ?? []).toSorted();
    yield;
    const limits = listLimits(terms, key, index, span);
    let [nextStart, nextEnd, nextLimit] = [0, 0, 0];
    let nextBreak = findFirstAfter(breaks, span.from);
    let level = 0;
    let pieces = 0;
    let { limit, isInstalled } = { limit: 0, isInstalled: false };
    for (let from = span.from; from < span.to;) {
      for (; nextLimit < limits.length && (limits[nextLimit]?.from ?? 0) <= from; nextLimit += 1)
        ({ limit, isInstalled } = limits[nextLimit] ?? { limit, isInstalled });
      for (; nextStart < starts.length && (starts[nextStart] ?? 0) <= from; nextStart += 1)
        level += 1;
      for (; nextEnd < ends.length && (ends[nextEnd] ?? 0) <= from; nextEnd += 1) level -= 1;
      for (; nextBreak < breaks.length && (breaks[nextBreak] ?? 0) <= from; nextBreak += 1);
      const to = Math.min(
        span.to,
        starts[nextStart] ?? Infinity,
        ends[nextEnd] ?? Infinity,
        limits[nextLimit]?.from ?? Infinity,
        breaks[nextBreak] ?? Infinity,
      );
      visit({ from, to: instant(to), level, limit, isInstalled });
      from = instant(to);
      pieces += 1;
      if (pieces % PIECE === 0) yield;
    }
  }
}

interface Edges {
  readonly starts: number[];
  readonly ends: number[];
}

/** When sessions begin and end within a window, for each clock period. */
function* listEdges(
  sessions: readonly Session[],
  clockPeriods: readonly ClockPeriod[],
  window: TimeSpan,
): InSteps<readonly Edges[]> {
  const edges = clockPeriods.map((): Edges => ({ starts: [], ends: [] }));
  yield* visitInSteps(sessions, (session) => {
    visitParts(session, clockPeriods, window, (from, to, clockPeriod) => {
      edges[clockPeriod]?.starts.push(from);
      edges[clockPeriod]?.ends.push(to);
    });
  });
  return edges;
}

function findFirstAfter(ascending: readonly Instant[], at: Instant): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}
