import { listUnrecorded } from "../../domain/model/demand/episode.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { Fault } from "../../domain/model/fault.ts";
import { getBorrowEnd } from "../../domain/model/slots/registration.ts";
import type { State } from "../../domain/model/state.ts";
import { DAY, earliest, later, type Instant } from "../../domain/time.ts";
import type { AuditLogDamagedFault, RequestFault } from "../../faults/fault-types.ts";
import { randomBytes } from "../../platform/crypto/random.ts";
import { TaskQueue } from "../../platform/schedule/task-queue.ts";
import { finishBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import { buildReport, listPools } from "../../usage/report/build-report.ts";
import { makeAnonymousNames, REAL_NAMES } from "../../usage/report/names.ts";
import type { Holder, PresentState, Report, ReportRequest } from "../../usage/report/report.ts";
import type { SiteRecord } from "../../usage/site-record.ts";
import { computeWhatIf, type WhatIfRequest } from "../../usage/what-if/compute-what-if.ts";
import type { WhatIf } from "../../usage/what-if/what-if.ts";
import { readSiteRecord } from "./read-site-record.ts";
import type { SiteHistory } from "./site-history.ts";

export type ReportFault = StorageFault | AuditLogDamagedFault | Fault | RequestFault;

export interface WantedReport extends ReportRequest {
  readonly isAnonymous: boolean;
}

/**
 * Reports over the audit log. One at a time, and in pieces between requests: the record of a long
 * period needs much memory and time.
 */
export class Reports {
  readonly #history: SiteHistory;
  readonly #queue = new TaskQueue();

  constructor(history: SiteHistory) {
    this.#history = history;
  }

  /** The time of the appliance. */
  readTime(): Promise<Result<Instant, StorageFault>> {
    return this.#history.read((_state, { at }) => at);
  }

  buildReport(wanted: WantedReport): Promise<Result<Report, ReportFault>> {
    return this.#queue.runTask(async () => {
      const state = await this.#history.read(capturePresentState);
      if (!state.ok) return state;
      const { now, present } = state.value;
      // Idle holders are judged by the last days before now, whatever the period is.
      const since = earliest(wanted.from, later(now, -wanted.idleDays * DAY));
      const record = await readSiteRecord(this.#history, since, "skip");
      if (!record.ok) return record;
      const fault = checkPool(record.value, wanted);
      if (fault !== null) return err(fault);
      const names = wanted.isAnonymous ? makeAnonymousNames(() => randomBytes(6)) : REAL_NAMES;
      return ok(await finishBetweenRequests(buildReport(record.value, present, wanted, names)));
    });
  }

  computeWhatIf(request: WhatIfRequest): Promise<Result<WhatIf, ReportFault>> {
    return this.#queue.runTask(async () => {
      const record = await readSiteRecord(this.#history, request.window.from);
      if (!record.ok) return record;
      const fault = checkPool(record.value, request);
      if (fault !== null) return err(fault);
      const { sessions, episodes } = record.value;
      const decisions = (sessions.length + episodes.length) * (request.slots.length + 1);
      if (decisions > MAX_DECISIONS) return err(TOO_MUCH_WORK);
      return ok(await finishBetweenRequests(computeWhatIf(record.value, request)));
    });
  }
}

/** So many decisions take about a minute. */
const MAX_DECISIONS = 5_000_000;

export const TOO_MUCH_WORK = {
  code: "invalid_parameter",
  field: "from",
  expected: "later: this period has too much to decide again for so many numbers of slots",
} as const;

/** A product or feature that the record does not know is a mistake, not an empty report. */
function checkPool(
  record: SiteRecord,
  { product, feature }: Pick<ReportRequest, "product" | "feature">,
): Fault | null {
  const pools = listPools(record);
  if (product !== null && !pools.some((pool) => pool.product === product))
    return { code: "unknown_product" };
  const isKnown = pools.some(
    (pool) => pool.feature === feature && (product === null || pool.product === product),
  );
  return isKnown || feature === null ? null : { code: "invalid_license_feature_code" };
}

/** A copy: the state changes with the next command. */
function capturePresentState(
  state: State,
  { at: now }: { readonly at: Instant },
): { readonly now: Instant; readonly present: PresentState } {
  const holders: Holder[] = [];
  for (const { id: license, terms, pool } of state.licenses.values()) {
    for (const registration of pool.inSlotOrder()) {
      const { user, slot, end, contact, registeredAt, lastSeenAt } = registration;
      if (end <= now) continue;
      const { hostname: host, peer } = contact;
      const borrowedUntil = getBorrowEnd(registration, now);
      const times = { registeredAt, lastSeenAt, borrowedUntil };
      holders.push({ license, product: terms.product, user, slot, host, peer, ...times });
    }
  }
  return { now, present: { holders, openEpisodes: listUnrecorded(state) } };
}
