import { getLicenseEnd, type Terms } from "../domain/model/licenses/terms.ts";
import type { Instant } from "../domain/time.ts";
import type { TimeSpan } from "./time-span.ts";
import type { PoolName } from "../domain/model/slots/pool-name.ts";
import type { TermsPeriod } from "./site-record.ts";

/** The slots of a pool that were licensed from an instant on, in one clock period. */
export interface LimitStep {
  readonly from: Instant;
  readonly limit: number;
  /** Whether a license for the pool was installed: before and after, use is not observed. */
  readonly isInstalled: boolean;
}

/** The limits of a pool within a span of one clock period, in order; the first begins with it. */
export function listLimits(
  terms: readonly TermsPeriod[],
  { product, feature }: PoolName,
  clockPeriod: number,
  span: TimeSpan,
): LimitStep[] {
  const ofPool = terms.filter(
    (period) => period.terms.product === product && findPool(period.terms, feature) !== null,
  );
  const changes = new Set<Instant>([span.from]);
  for (const period of ofPool) {
    for (const at of listChanges(period, feature)) {
      if (at !== null && at > span.from && at < span.to) changes.add(at);
    }
  }
  const steps: LimitStep[] = [];
  for (const from of [...changes].toSorted((a, b) => a - b)) {
    const installed = ofPool.filter((period) => isInForce(period, clockPeriod, from));
    const limit = installed.reduce((sum, { terms: t }) => sum + countSlots(t, feature, from), 0);
    const isInstalled = installed.length > 0;
    const last = steps.at(-1);
    if (last?.limit !== limit || last.isInstalled !== isInstalled)
      steps.push({ from, limit, isInstalled });
  }
  return steps;
}

/** Whether these terms were installed at an instant of a clock period. */
export function isInForce(period: TermsPeriod, clockPeriod: number, at: Instant): boolean {
  const hasBegun =
    clockPeriod > period.startPeriod || (clockPeriod === period.startPeriod && at >= period.from);
  const hasEnded =
    period.to !== null &&
    (clockPeriod > period.endPeriod || (clockPeriod === period.endPeriod && at >= period.to));
  return hasBegun && !hasEnded;
}

interface PoolTerms {
  readonly slots: number;
  readonly expires: Instant | null;
}

function findPool(terms: Terms, feature: string | null): PoolTerms | null {
  if (feature === null) return { slots: terms.slots, expires: null };
  const found = terms.features.find(({ code }) => code === feature);
  if (found?.floating == null) return null;
  return { slots: found.floating.slots, expires: found.expires };
}

/** The slots that could be granted at this instant. */
function countSlots(terms: Terms, feature: string | null, at: Instant): number {
  const end = getLicenseEnd(terms);
  const pool = findPool(terms, feature);
  if (pool === null || !terms.enabled) return 0;
  if ((terms.start !== null && at < terms.start) || (end !== null && at >= end)) return 0;
  return pool.expires !== null && at >= pool.expires ? 0 : pool.slots;
}

const listChanges = (
  { terms, from, to }: TermsPeriod,
  feature: string | null,
): readonly (Instant | null)[] => [
  from,
  to,
  terms.start,
  getLicenseEnd(terms),
  findPool(terms, feature)?.expires ?? null,
];
