import type { Metric } from "../../platform/metrics/metric.ts";

/** The metrics of a host of a pair; absent for a host that is alone. */
export const PAIR_METRICS = {
  pairLeader: {
    name: "berth_pair_leader",
    type: "gauge",
    help: "1 if this host leads the pair, 0 if it is on standby.",
    labels: [],
  },
  pairEpoch: {
    name: "berth_pair_epoch",
    type: "gauge",
    help: "Raised with each change of the leader.",
    labels: [],
  },
  pairHosts: {
    name: "berth_pair_hosts",
    type: "gauge",
    help: "Hosts that were admitted to the pair.",
    labels: [],
  },
  pairReady: {
    name: "berth_pair_ready",
    type: "gauge",
    help: "1 if this host leads or follows, 0 if it can do neither: the database may be away.",
    labels: [],
  },
  pairOtherHostAge: {
    name: "berth_pair_other_host_age_seconds",
    type: "gauge",
    unit: "seconds",
    help: "Time since the other host reported. Absent if it never did.",
    labels: [],
  },
  pairLinesBehind: {
    name: "berth_pair_lines_behind",
    type: "gauge",
    help: "Lines of the log that the host on standby does not have yet.",
    labels: [],
  },
  pairClockSkew: {
    name: "berth_pair_clock_skew_seconds",
    type: "gauge",
    unit: "seconds",
    help: "By how much the system clocks of both hosts differ.",
    labels: [],
  },
  pairDatabaseSynchronous: {
    name: "berth_pair_database_synchronous",
    type: "gauge",
    help: "1 if a change is on two database servers before it is acknowledged, else 0.",
    labels: [],
  },
} as const satisfies Readonly<Record<string, Metric>>;
