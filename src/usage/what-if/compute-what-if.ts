import type { TimeSpan } from "../time-span.ts";
import { intersect } from "../time-span.ts";
import type { InSteps } from "../report/report.ts";
import type { PoolName } from "../../domain/model/slots/pool-name.ts";
import type { SiteRecord } from "../site-record.ts";
import { rulesOf } from "../rules-of-event.ts";
import { listLimits } from "../terms-in-force.ts";
import { collectDemand } from "./demand.ts";
import { estimateDemandMet } from "./estimate.ts";
import { replayRecorded } from "./replay-recorded.ts";
import type { DemandMet, WhatIf, WhatIfRow } from "./what-if.ts";

export interface WhatIfRequest extends PoolName {
  readonly window: TimeSpan;
  readonly slots: readonly number[];
  /** The share of needs that are to be met at once, above 0 and at most 1. */
  readonly share: number;
}

/** What other numbers of slots would have meant for the recorded demand. */
export function* computeWhatIf(
  wholeRecord: SiteRecord,
  { product, feature, window, slots, share }: WhatIfRequest,
): InSteps<WhatIf> {
  const key = { product, feature };
  const record = selectProduct(wholeRecord, product);
  yield;
  const demand = collectDemand(record, key, window);
  yield;
  const check = yield* replayRecorded(record);
  const limits = findLimits(record, key, window);
  const rows: WhatIfRow[] = [];
  for (const number of slots) {
    const isRecorded = limits.lowest === number && limits.highest === number;
    const met: DemandMet = isRecorded
      ? demand.recorded
      : yield* estimateDemandMet(record, key, demand, number);
    rows.push({ slots: number, isRecorded, ...met });
  }
  const enough = rows.find(({ needs, metAtOnce }) => metAtOnce >= needs * share);
  return {
    ...key,
    ...window,
    limits,
    recorded: demand.recorded,
    check,
    rows,
    target: { share, slots: enough?.slots ?? null },
    assumptions: demand.assumptions,
    hasRules: hasRules(record, key),
    hasQueue: feature === null && record.sharing.some(({ event }) => event.type === "PlaceTaken"),
  };
}

/** Limits of users and addresses count the slots of all products; else others do not matter. */
function selectProduct(record: SiteRecord, product: string): SiteRecord {
  const isLimited = record.episodes.some(
    ({ product: wanted, rule, first }) =>
      wanted === product && (rule !== null || (first?.rule ?? null) !== null),
  );
  if (isLimited) return record;
  return {
    ...record,
    sessions: record.sessions.filter((session) => session.product === product),
    episodes: record.episodes.filter((episode) => episode.product === product),
    terms: record.terms.filter(({ terms }) => terms.product === product),
    sharing: record.sharing.filter(
      ({ event }) => event.type === "RulesApplied" || event.product === product,
    ),
  };
}

/** Whether rules about the pool were in force at any time of the record. */
function hasRules({ rulesBefore, sharing }: SiteRecord, { product, feature }: PoolName): boolean {
  const applied = sharing.flatMap(({ event }) =>
    event.type === "RulesApplied" ? [rulesOf(event)] : [],
  );
  return [rulesBefore, ...applied].some((rules) =>
    rules?.pools.some((pool) => pool.product === product && pool.feature === feature),
  );
}

/** The lowest and the highest limit while a license was installed. */
function findLimits(
  { terms, clockPeriods }: SiteRecord,
  key: PoolName,
  window: TimeSpan,
): WhatIf["limits"] {
  const limits = clockPeriods.flatMap((period, index) => {
    const span = intersect(period, window);
    return span === null ? [] : listLimits(terms, key, index, span);
  });
  const installed = limits.filter(({ isInstalled }) => isInstalled).map(({ limit }) => limit);
  if (installed.length === 0) return { lowest: 0, highest: 0 };
  return { lowest: Math.min(...installed), highest: Math.max(...installed) };
}
