// What a host knows of a pair in which nothing is wrong, for tests that change parts of it.
import { instant } from "../../src/domain/time.ts";
import type { PairHostStatus, PairStatus } from "../../src/operations/pair/pair-status.ts";

export const ALPHA: PairHostStatus = {
  name: "alpha",
  role: "leader",
  hardwareId: "aa",
  url: "https://alpha:8443",
  version: "0.2.0",
  admittedAt: instant(0),
  seenMsAgo: 1_000,
  linesBehind: 0,
  clockAheadMs: 10,
};

export const BETA: PairHostStatus = {
  ...ALPHA,
  name: "beta",
  role: "standby",
  hardwareId: "bb",
  url: "https://beta:8443",
};

const DATABASE = {
  version: "15.3",
  server: "10.0.0.9:5432",
  replication: "strict",
  lacksStandby: false,
  problems: [],
} as const;

/** On alpha, which leads. */
export const HEALTHY_PAIR: PairStatus = {
  host: "alpha",
  role: "leader",
  epoch: 3,
  leader: "alpha",
  leaderUrl: "https://alpha:8443",
  problem: null,
  isLogAway: false,
  fileProblems: new Map(),
  leadsSince: instant(0),
  hosts: [ALPHA, BETA],
  database: DATABASE,
};

export const withBeta = (differing: Partial<PairHostStatus>): PairStatus => ({
  ...HEALTHY_PAIR,
  hosts: [ALPHA, { ...BETA, ...differing }],
});

export const withDatabase = (
  differing: Partial<NonNullable<PairStatus["database"]>>,
): PairStatus => ({
  ...HEALTHY_PAIR,
  database: { ...DATABASE, ...differing },
});
