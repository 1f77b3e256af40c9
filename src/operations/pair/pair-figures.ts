import type { PairHostStatus, PairStatus } from "./pair-status.ts";

/** The other host of the pair; null: only this one was admitted. */
export const findOtherHost = ({ host, hosts }: PairStatus): PairHostStatus | null =>
  hosts.find(({ name }) => name !== host) ?? null;

/** By how much the clocks of both hosts differ; null: one of them is not known. */
export function computeClockSkew({ hosts }: PairStatus): number | null {
  const known = hosts.map(({ clockAheadMs }) => clockAheadMs).filter((clock) => clock !== null);
  return known.length < 2 ? null : Math.max(...known) - Math.min(...known);
}
