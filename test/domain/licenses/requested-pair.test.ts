import { describe, expect, test } from "bun:test";
import { findRequestedPair } from "../../../src/domain/licenses/requested-pair.ts";
import type { Event } from "../../../src/domain/model/event.ts";
import { HARDWARE, HARDWARE_ID } from "../../support/new-site.ts";
import { licenseInstalled, MONDAY, replayEvents } from "../../support/scenario.ts";

const OTHER_ID = "e5".repeat(32);
const NOW_ID = "f6".repeat(32);

const admitted = (host: string, hardwareId: string): Event => ({
  type: "HostAdmitted",
  at: MONDAY,
  log: "log 1",
  host,
  hardwareId,
  hardware: HARDWARE,
  peer: "10.0.0.1",
});

const LEADS: Event = {
  type: "LeaderChanged",
  at: MONDAY,
  epoch: 7,
  host: "alpha",
  hardwareId: HARDWARE_ID,
};

const pairOf = (...others: readonly Event[]) =>
  replayEvents([licenseInstalled(1), admitted("alpha", HARDWARE_ID), ...others, LEADS]);

const REQUEST = { product: "cad", hardwareId: NOW_ID, hardware: HARDWARE.slice(0, 1) };
const HEAD = { host: "beta", seq: 12, sum: "ab".repeat(32), at: MONDAY };

describe("the pair of a request", () => {
  test("has the hardware of the leader as it is now, and the other host as it was admitted", () => {
    const state = pairOf(admitted("beta", OTHER_ID));
    const { host: _host, ...head } = HEAD;
    expect(findRequestedPair(state, REQUEST, 2, [HEAD])).toEqual({
      ok: true,
      value: {
        log: "log 1",
        epoch: 7,
        leader: "alpha",
        hosts: [
          { name: "alpha", hardwareId: NOW_ID, hardware: HARDWARE.slice(0, 1), head: null },
          { name: "beta", hardwareId: OTHER_ID, hardware: HARDWARE, head },
        ],
      },
    });
  });

  test("is none for one host, and none by default while no license is for two", () => {
    const state = pairOf(admitted("beta", OTHER_ID));
    for (const wanted of [1, undefined] as const)
      expect(findRequestedPair(state, REQUEST, wanted, [])).toEqual({ ok: true, value: null });
  });

  test("is refused on a host alone, with one host, and with the same hardware twice", () => {
    const alone = replayEvents([licenseInstalled(1)]);
    const cases = [
      [alone, { code: "not_a_pair" }],
      [pairOf(), { code: "pair_incomplete", hosts: ["alpha"] }],
      [pairOf(admitted("beta", NOW_ID)), { code: "pair_incomplete", hosts: ["alpha", "beta"] }],
    ] as const;
    for (const [state, fault] of cases)
      expect(findRequestedPair(state, REQUEST, 2, [])).toEqual({ ok: false, fault });
  });
});
