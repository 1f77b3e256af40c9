import type { UsageReply } from "../../http/routes/usage/usage.ts";
import { isSamePool, type Pool } from "./pool.ts";

type Values = readonly (number | null)[];

/** The use of one pool, step by step; null: unknown. */
export interface PoolSteps {
  /** The start of each step, and the length of every step, in seconds. */
  readonly times: readonly number[];
  readonly step: number;
  /** The limit that was in force. */
  readonly limits: Values;
  readonly peaks: Values;
  readonly means: Values;
  readonly fullSeconds: Values;
  /** Denied episodes that began. */
  readonly episodes: Values;
}

/** Null: nothing is known of the pool in this time. */
export function findSteps(reply: UsageReply, pool: Pool): PoolSteps | null {
  const found = reply.pools.find((candidate) => isSamePool(candidate, pool));
  if (found === undefined) return null;
  const step = reply.step_minutes * 60;
  const start = Date.parse(reply.from) / 1_000;
  return {
    times: found.peak.map((_, index) => start + index * step),
    step,
    limits: found.limit,
    peaks: found.peak,
    means: found.mean,
    fullSeconds: found.full_seconds,
    episodes: found.episodes,
  };
}

export const sumOf = (values: Values): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0);

/** Null: no value is known. */
export function peakOf(values: Values): number | null {
  const numbers = values.filter((value) => value !== null);
  return numbers.length === 0 ? null : Math.max(...numbers);
}
