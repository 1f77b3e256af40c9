import type { Instant } from "../domain/time.ts";
import type { RuleSet } from "../domain/model/rules/rule-set.ts";
import { rulesOf } from "./rules-of-event.ts";
import type { SharingChange, SiteRecord } from "./site-record.ts";

/**
 * The same record without what ended before `from` in a clock period. Clock periods before that one
 * stay in the list, without any time.
 */
export function cutSiteRecord(
  record: SiteRecord,
  { at: from, clockPeriod: first }: { readonly at: Instant; readonly clockPeriod: number },
): SiteRecord {
  const isWithin = (at: Instant | null, clockPeriod: number): boolean =>
    clockPeriod > first || (clockPeriod === first && (at === null || at >= from));
  const isBefore = ({ event, clockPeriod }: SharingChange): boolean =>
    !isWithin(event.at, clockPeriod);
  return {
    ...record,
    from,
    clockPeriods: record.clockPeriods.map((period, index) => {
      if (index < first) return { ...period, from: period.to };
      return index === first ? { ...period, from } : period;
    }),
    sessions: record.sessions.filter(({ end, endPeriod }) => isWithin(end, endPeriod)),
    episodes: record.episodes.filter((e) => isWithin(e.endedAt, e.clockPeriod)),
    terms: record.terms.filter(({ to, endPeriod }) => isWithin(to, endPeriod)),
    missing: record.missing.filter(({ to, clockPeriod }) => isWithin(to, clockPeriod)),
    sharing: record.sharing.filter(({ event, clockPeriod }) => isWithin(event.at, clockPeriod)),
    rulesBefore: findRulesAt(record, isBefore),
    waits: record.waits.filter(({ end, endPeriod }) => isWithin(end, endPeriod)),
    consumptions: record.consumptions.filter((c) => isWithin(c.at, c.clockPeriod)),
  };
}

/** The rules after the changes that `isBefore` accepts. */
function findRulesAt(
  { rulesBefore, sharing }: SiteRecord,
  isBefore: (change: SharingChange) => boolean,
): RuleSet | null {
  let rules = rulesBefore;
  for (const change of sharing) {
    const { event } = change;
    if (event.type !== "RulesApplied" || !isBefore(change)) continue;
    rules = rulesOf(event);
  }
  return rules;
}
