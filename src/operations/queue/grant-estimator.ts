import { countSlotsInUse } from "../../domain/model/slots/pool.ts";
import { getBorrowEnd } from "../../domain/model/slots/registration.ts";
import type { State } from "../../domain/model/state.ts";
import { instant, latest, SECOND, type Instant } from "../../domain/time.ts";
import { WaitEstimates, type SlotsInUse } from "../../usage/eta/wait-estimates.ts";
import type { EndedSessions } from "./session-lengths.ts";

/** When a waiting user probably gets a slot: before `p50` in half of all cases, `p90` in 90 %. */
export interface GrantEstimate {
  readonly p50: Instant;
  readonly p90: Instant;
}

/** Estimates are prepared for a product at most once in this time. */
const PREPARED_FOR = SECOND;

/** At most a fiftieth of the time is spent on preparing the estimates of a product. */
const PREPARING_SHARE = 50;

/** Of more sessions that hold slots of a license, so many are looked at. */
const MAX_SAMPLED = 500;

interface Prepared {
  readonly at: Instant;
  /** Null: there is no estimate. */
  readonly estimates: WaitEstimates | null;
  readonly untilMs: number;
}

interface SessionSource {
  readonly read: (product: string, at: Instant) => EndedSessions;
}

/** Estimates from the session lengths that were recorded for each product. */
export class GrantEstimator {
  readonly #sessions: SessionSource;
  readonly #monotonicMs: () => number;
  readonly #prepared = new Map<string, Prepared>();

  constructor(sessions: SessionSource, monotonicMs: () => number = () => performance.now()) {
    this.#sessions = sessions;
    this.#monotonicMs = monotonicMs;
  }

  /**
   * `slotsToFree`: so many slots of the product must come free until the user gets one; 1: the
   * next one. Null: fewer than 20 sessions are known, or too many slots are borrowed. Cheap enough
   * to be called for each waiting user. Do not call it for a place that a limit blocks: no freed
   * slot helps it.
   */
  estimate(state: State, product: string, slotsToFree: number, at: Instant): GrantEstimate | null {
    const prepared = this.#prepare(state, product, at);
    const wait = prepared.estimates?.estimate(Math.max(1, slotsToFree)) ?? null;
    if (wait === null) return null;
    const after = (milliseconds: number): Instant =>
      latest(instant(prepared.at + milliseconds), at);
    return { p50: after(wait.p50), p90: after(wait.p90) };
  }

  #prepare(state: State, product: string, at: Instant): Prepared {
    const startMs = this.#monotonicMs();
    const known = this.#prepared.get(product);
    if (known !== undefined && startMs < known.untilMs && at >= known.at) return known;
    const { lengths, count } = this.#sessions.read(product, at);
    const inUse = readSlotsInUse(state, product, at);
    const estimates = WaitEstimates.prepare({ ...inUse, ended: lengths, endedCount: count });
    // The first question makes what most questions need.
    estimates?.estimate(1);
    const doneMs = this.#monotonicMs();
    const untilMs = doneMs + Math.max(PREPARED_FOR, PREPARING_SHARE * (doneMs - startMs));
    const prepared: Prepared = { at, estimates, untilMs };
    for (const name of this.#prepared.keys()) {
      if (!state.products.has(name)) this.#prepared.delete(name);
    }
    if (state.products.has(product)) this.#prepared.set(product, prepared);
    return prepared;
  }
}

/** The slots of a product that are in use and can come free; a borrowed one may stay for weeks. */
function readSlotsInUse(
  { products, queues }: State,
  product: string,
  at: Instant,
): Pick<SlotsInUse, "running" | "runningCount" | "heldCount"> {
  const running: number[] = [];
  let runningCount = 0;
  for (const { pool } of products.get(product) ?? []) {
    runningCount += countSlotsInUse(pool, at) - pool.countBorrowed(at);
    for (const registration of pool.expiryIndex.sample(MAX_SAMPLED, at)) {
      if (getBorrowEnd(registration, at) !== null) continue;
      running.push(Math.max(0, at - registration.registeredAt));
    }
  }
  const heldCount = queues.get(product)?.heldCount ?? 0;
  return { running: running.toSorted((a, b) => a - b), runningCount, heldCount };
}
