import { describe, expect, test } from "bun:test";
import { pairFamilies } from "../../../src/operations/metrics/pair-families.ts";
import type { PairStatus } from "../../../src/operations/pair/pair-status.ts";
import { ALPHA, BETA, HEALTHY_PAIR } from "../../support/pair-status.ts";

const STATUS: PairStatus = {
  ...HEALTHY_PAIR,
  epoch: 4,
  hosts: [
    { ...ALPHA, seenMsAgo: 500, clockAheadMs: -250 },
    { ...BETA, seenMsAgo: 2_500, linesBehind: 7, clockAheadMs: 1_000 },
  ],
};

const valuesOf = (status: PairStatus | null) =>
  Object.fromEntries(
    pairFamilies(status).flatMap(({ metric: { name }, samples }) =>
      samples.map(({ value }) => [name.replace("berth_pair_", ""), value]),
    ),
  );

describe("the metrics of a pair", () => {
  test("are absent for a host that is alone", () => {
    expect(pairFamilies(null)).toEqual([]);
  });

  test("describe the leader and the other host", () => {
    expect(valuesOf(STATUS)).toEqual({
      leader: 1,
      epoch: 4,
      hosts: 2,
      ready: 1,
      other_host_age_seconds: 2.5,
      lines_behind: 7,
      clock_skew_seconds: 1.25,
      database_synchronous: 1,
    });
  });

  test("give the standby's own lag on the standby", () => {
    const onBeta = { ...STATUS, host: "beta", role: "standby" } as const;
    expect(valuesOf(onBeta)).toMatchObject({
      leader: 0,
      other_host_age_seconds: 0.5,
      lines_behind: 7,
    });
  });

  test("leave out what is not known", () => {
    const unknown = { ...STATUS, hosts: [ALPHA], database: null, problem: "away", isLogAway: true };
    expect(valuesOf(unknown)).toEqual({ leader: 1, epoch: 4, hosts: 1, ready: 0 });
  });

  test("have no labels: no series names a host", () => {
    expect(pairFamilies(STATUS).flatMap(({ metric }) => metric.labels)).toEqual([]);
  });
});
