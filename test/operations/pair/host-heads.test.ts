import { describe, expect, test } from "bun:test";
import type { LeadershipStatus } from "../../../src/operations/pair/leadership-types.ts";
import { createHostHeadReader } from "../../../src/operations/pair/host-heads.ts";
import { MINUTE } from "../../../src/domain/time.ts";
import { minutesLater, MONDAY } from "../../support/scenario.ts";

const END = { seq: 12, sum: "ab".repeat(32) };

const rowOf = (host: string, seq: number, ageMs: number): LeadershipStatus["hosts"][number] => ({
  host,
  hardwareId: "",
  url: null,
  version: "0.2.0",
  head: { seq, sum: "cd".repeat(32) },
  covered: 0,
  systemTime: 0,
  ageMs,
  clockAheadMs: 0,
});

const STATUS: LeadershipStatus = {
  host: "alpha",
  role: "leader",
  mayAnswer: true,
  epoch: 3,
  leader: "alpha",
  leaderUrl: null,
  problem: null,
  isLogAway: false,
  hosts: [rowOf("alpha", 9, 1_000), rowOf("beta", 11, 5 * MINUTE)],
  database: null,
};

describe("the heads of the hosts in a request", () => {
  test("are the end of this host now, and of the other one as it last reported", () => {
    const read = createHostHeadReader({ status: () => STATUS }, () => minutesLater(10));
    expect(read(END)).toEqual([
      { host: "alpha", ...END, at: minutesLater(10) },
      { host: "beta", seq: 11, sum: "cd".repeat(32), at: minutesLater(5) },
    ]);
  });

  test("are none for a host that serves alone", () => {
    expect(createHostHeadReader(null, () => MONDAY)(END)).toEqual([]);
  });
});
