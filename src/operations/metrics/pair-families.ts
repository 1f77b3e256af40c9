import { SECOND } from "../../domain/time.ts";
import { type MetricFamily, single } from "../../platform/metrics/metric.ts";
import { computeClockSkew, findOtherHost, type PairStatus } from "../pair/pair-status.ts";
import { METRICS } from "./catalogue.ts";

/** The metrics of a host of a pair, leading or not; none of a host that is alone. */
export function pairFamilies(status: PairStatus | null): MetricFamily[] {
  if (status === null) return [];
  const other = findOtherHost(status);
  const { database } = status;
  return [
    single(METRICS.pairLeader, status.role === "leader" ? 1 : 0),
    single(METRICS.pairEpoch, status.epoch),
    single(METRICS.pairHosts, status.hosts.length),
    single(METRICS.pairReady, status.problem === null ? 1 : 0),
    single(METRICS.pairOtherHostAge, toSeconds(other?.seenMsAgo ?? null)),
    single(METRICS.pairLinesBehind, findLinesBehind(status)),
    single(METRICS.pairClockSkew, toSeconds(computeClockSkew(status))),
    single(
      METRICS.pairDatabaseSynchronous,
      database === null ? null : database.replication === "strict" ? 1 : 0,
    ),
  ];
}

/** Of the host on standby, whichever of them this is. */
function findLinesBehind({ hosts }: PairStatus): number | null {
  return hosts.find(({ role }) => role === "standby")?.linesBehind ?? null;
}

const toSeconds = (milliseconds: number | null): number | null =>
  milliseconds === null ? null : milliseconds / SECOND;
