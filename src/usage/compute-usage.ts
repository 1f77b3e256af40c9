import { earliest, instant, type Instant } from "../domain/time.ts";
import { clipToClockPeriods, type PeriodPart } from "./clock-periods.ts";
import type { PoolName } from "../domain/model/slots/pool-name.ts";
import type { ClockPeriod, Session, SiteRecord, UntouchedSlots } from "./site-record.ts";
import { listLimits, type LimitStep } from "./terms-in-force.ts";
import { intersect, type TimeSpan } from "./time-span.ts";
import { addSpan, addToStep, USAGE_STEP, UsageTable, type PoolUsage } from "./usage-table.ts";

/**
 * The usage of a site in steps of five minutes. `untouched` is what the record does not contain; it
 * must have one clock period then.
 */
export function computeUsage(
  record: SiteRecord,
  untouched: readonly UntouchedSlots[] = [],
): UsageTable {
  const table = new UsageTable();
  for (const { from, to } of record.clockPeriods) addSpan(table.observed, { from, to }, () => true);
  const edges = new Map<PoolUsage, Edge[][]>();
  const edgesOf = (key: PoolName): Edge[][] => {
    const pool = table.findOrAddPool(key);
    const found = edges.get(pool) ?? record.clockPeriods.map((): Edge[] => []);
    edges.set(pool, found);
    return found;
  };
  for (const { terms } of record.terms) {
    edgesOf({ product: terms.product, feature: null });
    for (const { code, floating } of terms.features) {
      if (floating !== null) edgesOf({ product: terms.product, feature: code });
    }
  }
  for (const session of record.sessions) {
    addEdges(edgesOf(session), session, record.clockPeriods);
  }
  for (const wait of record.waits) {
    const ofQueue = edgesOf({ product: wait.product, feature: null });
    for (const { clockPeriod, from, to } of clipToClockPeriods(wait, record.clockPeriods)) {
      ofQueue[clockPeriod]?.push({ ...NO_CHANGE, at: from, waiting: 1 });
      ofQueue[clockPeriod]?.push({ ...NO_CHANGE, at: to, waiting: -1 });
    }
  }
  for (const slots of untouched) addUntouched(edgesOf(slots)[0] ?? [], slots, record);
  for (const [pool, ofPool] of edges) {
    for (const [index, period] of record.clockPeriods.entries()) {
      const limits = listLimits(record.terms, pool, index, period);
      addLimits(pool, limits, period.to);
      addLevels(pool, ofPool[index] ?? [], limits);
    }
  }
  for (const episode of record.episodes) {
    addToStep(table.findOrAddPool(episode), episode.firstAt, { episodes: 1 });
  }
  for (const consumption of record.consumptions) {
    const pool = table.findOrAddPool(consumption);
    addToStep(pool, consumption.at, { consumed: consumption.count });
  }
  return table;
}

/** From an instant on, so many more slots are in use, or borrowed, or users wait. */
interface Edge extends Levels {
  readonly at: Instant;
}

interface Levels {
  readonly inUse: number;
  readonly borrowed: number;
  readonly waiting: number;
}

const NO_CHANGE: Levels = { inUse: 0, borrowed: 0, waiting: 0 };

function addEdges(
  edges: readonly Edge[][],
  session: Session,
  clockPeriods: readonly ClockPeriod[],
): void {
  for (const part of clipToClockPeriods(session, clockPeriods)) {
    const ofPeriod = edges[part.clockPeriod];
    ofPeriod?.push({ ...NO_CHANGE, at: part.from, inUse: 1 });
    ofPeriod?.push({ ...NO_CHANGE, at: part.to, inUse: -1 });
    for (const borrow of listBorrowedParts(session, part)) {
      ofPeriod?.push({ ...NO_CHANGE, at: borrow.from, borrowed: 1 });
      ofPeriod?.push({ ...NO_CHANGE, at: borrow.to, borrowed: -1 });
    }
  }
}

function addUntouched(
  edges: Edge[],
  { count, borrowedUntil }: UntouchedSlots,
  { from, to }: SiteRecord,
): void {
  edges.push({ ...NO_CHANGE, at: from, inUse: count }, { ...NO_CHANGE, at: to, inUse: -count });
  for (const until of borrowedUntil) {
    const span = intersect({ from, to: until }, { from, to });
    if (span === null) continue;
    edges.push({ ...NO_CHANGE, at: span.from, borrowed: 1 });
    edges.push({ ...NO_CHANGE, at: span.to, borrowed: -1 });
  }
}

/** When the slot was borrowed, within a part of its session. */
function* listBorrowedParts({ borrows }: Session, part: PeriodPart): Generator<TimeSpan> {
  const ofPeriod = borrows.filter(({ clockPeriod }) => clockPeriod === part.clockPeriod);
  const before = borrows.findLast(({ clockPeriod }) => clockPeriod < part.clockPeriod);
  const spans = ofPeriod.map(({ from, until: to }) => ({ from, to }));
  if (before !== undefined) {
    // It lasts on after the clock was set back, until the next borrow.
    const to = earliest(before.until, ofPeriod[0]?.from ?? before.until);
    spans.push({ from: part.from, to });
  }
  for (const span of spans) {
    const borrowed = intersect(span, part);
    if (borrowed !== null) yield borrowed;
  }
}

function addLimits({ limits }: PoolUsage, steps: readonly LimitStep[], end: Instant): void {
  for (const [index, { from, limit: slots, isInstalled }] of steps.entries()) {
    const to = steps[index + 1]?.from ?? end;
    if (isInstalled) addSpan(limits, { from, to, slots }, (last) => last.slots === slots);
  }
}

function addLevels(pool: PoolUsage, edges: readonly Edge[], limits: readonly LimitStep[]): void {
  const sorted = edges.toSorted((a, b) => a.at - b.at);
  let [inUse, borrowed, waiting, nextLimit] = [0, 0, 0, 0];
  let limit: LimitStep | null = null;
  for (let next = 0; next < sorted.length;) {
    const at = sorted[next]?.at ?? instant(Infinity);
    for (; sorted[next]?.at === at; next += 1) {
      inUse += sorted[next]?.inUse ?? 0;
      borrowed += sorted[next]?.borrowed ?? 0;
      waiting += sorted[next]?.waiting ?? 0;
    }
    const end = sorted[next]?.at ?? at;
    if (inUse === 0 && waiting === 0) continue;
    for (let from = at; from < end;) {
      for (; (limits[nextLimit]?.from ?? Infinity) <= from; nextLimit += 1)
        limit = limits[nextLimit] ?? null;
      const to = instant(Math.min(end, limits[nextLimit]?.from ?? Infinity));
      const isFull = inUse > 0 && limit?.isInstalled === true && inUse >= limit.limit;
      addStretch(pool, from, to, { inUse, borrowed, waiting }, isFull);
      from = to;
    }
  }
}

function addStretch(
  pool: PoolUsage,
  from: Instant,
  to: Instant,
  { inUse, borrowed, waiting }: Levels,
  isFull: boolean,
): void {
  for (let at: number = from; at < to;) {
    const end = Math.min(to, (Math.floor(at / USAGE_STEP) + 1) * USAGE_STEP);
    addToStep(pool, instant(at), {
      peak: inUse,
      slotTime: inUse * (end - at),
      fullTime: isFull ? end - at : 0,
      borrowed,
      waiting,
    });
    at = end;
  }
}
