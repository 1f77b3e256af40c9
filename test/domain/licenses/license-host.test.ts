import { describe, expect, test } from "bun:test";
import {
  checkLicenseHost,
  findMoveGraceEnd,
  findRestoreGraceEnd,
} from "../../../src/domain/licenses/license-host.ts";
import type { License, State } from "../../../src/domain/model/state.ts";
import { hoursLater, licenseInstalled, MONDAY, replayEvents } from "../../support/scenario.ts";
import { contextAt } from "../../support/rule-context.ts";
import { later } from "../../../src/domain/time.ts";
import { HARDWARE, HARDWARE_ID } from "../../support/new-site.ts";

const OTHER_ID = "e5".repeat(32);

const admitted = (host: string, hardwareId: string) =>
  ({
    type: "HostAdmitted",
    at: MONDAY,
    log: "log 1",
    host,
    hardwareId,
    hardware: HARDWARE,
    peer: "10.0.0.1",
  }) as const;

const leads = (host: string) =>
  ({ type: "LeaderChanged", at: MONDAY, epoch: 1, host, hardwareId: HARDWARE_ID }) as const;

const ALONE = replayEvents([licenseInstalled(1)]);
const pairLedBy = (host: string): State =>
  replayEvents([
    licenseInstalled(1),
    admitted("alpha", HARDWARE_ID),
    admitted("beta", OTHER_ID),
    leads(host),
  ]);

const licenseIn = (state: State, differing: Partial<License> = {}): License => {
  const [license] = state.licenses.values();
  if (license === undefined) throw new Error("no license is installed");
  return { ...license, ...differing };
};

const forTwo = (state: State): License => {
  const { grant } = licenseIn(state);
  const host = { name: "alpha", hardwareId: HARDWARE_ID, hardware: HARDWARE };
  const hosts = [host, { ...host, name: "beta", hardwareId: OTHER_ID }];
  return licenseIn(state, { grant: { ...grant, hosts } });
};

const here = (isSignedForThisMachine: boolean, hasLog: boolean, at = MONDAY) =>
  contextAt(at, { hasLog, isSignedForThisMachine: () => isSignedForThisMachine });

describe("a license of one host", () => {
  test("serves on its hardware, alone and in a pair", () => {
    for (const state of [ALONE, pairLedBy("alpha")])
      expect(checkLicenseHost(state, licenseIn(state), here(true, state.pair !== null))).toBeNull();
  });

  test("names its host if another host leads", () => {
    const state = pairLedBy("beta");
    expect(checkLicenseHost(state, licenseIn(state), here(false, true))).toEqual({
      code: "hardware_mismatch",
      pair: { leader: "beta", hosts: ["alpha"] },
    });
  });

  test("names no host if none of the pair has its hardware", () => {
    const state = pairLedBy("beta");
    const { grant } = licenseIn(state);
    const license = licenseIn(state, { grant: { ...grant, hardwareId: "0".repeat(64) } });
    expect(checkLicenseHost(state, license, here(false, true))).toEqual({
      code: "hardware_mismatch",
      pair: { leader: "beta", hosts: [] },
    });
  });

  test("does not name the leader, whose hardware was replaced", () => {
    const state = pairLedBy("alpha");
    expect(checkLicenseHost(state, licenseIn(state), here(false, true))).toEqual({
      code: "hardware_mismatch",
    });
  });

  test("serves for the grace period of a move, but not in a pair", () => {
    const moved = (state: State): License => licenseIn(state, { movedAt: MONDAY });
    const context = here(false, true, hoursLater(1));
    expect(checkLicenseHost(ALONE, moved(ALONE), context)).toBeNull();
    expect(findMoveGraceEnd(ALONE, moved(ALONE), context)).toBe(hoursLater(72));
    const pair = pairLedBy("beta");
    expect(checkLicenseHost(pair, moved(pair), context)?.code).toBe("hardware_mismatch");
    expect(findMoveGraceEnd(pair, moved(pair), context)).toBeNull();
  });
});

describe("a license that was restored on other hardware", () => {
  const restoredIn = (state: State, license = licenseIn(state)): License => ({
    ...license,
    terms: { ...license.terms, restoreGraceHours: 48 },
    restored: { at: MONDAY, serial: 1 },
  });
  const lastHour = here(false, false, later(hoursLater(48), -1));
  const ended = here(false, false, hoursLater(48));

  test("serves until its grace period ends, which it names then", () => {
    const license = restoredIn(ALONE);
    expect(checkLicenseHost(ALONE, license, lastHour)).toBeNull();
    expect(findRestoreGraceEnd(ALONE, license, lastHour)).toBe(hoursLater(48));
    expect(checkLicenseHost(ALONE, license, ended)).toEqual({
      code: "hardware_mismatch",
      until: hoursLater(48),
    });
  });

  test("does not serve if its vendor grants no such time", () => {
    const { terms, ...license } = restoredIn(ALONE);
    const { restoreGraceHours: _, ...others } = terms;
    const without = { ...license, terms: others };
    expect(checkLicenseHost(ALONE, without, here(false, false))?.code).toBe("hardware_mismatch");
    expect(findRestoreGraceEnd(ALONE, without, here(false, false))).toBeNull();
  });

  test("has no such time on the hardware that it is signed for", () => {
    expect(findRestoreGraceEnd(ALONE, restoredIn(ALONE), here(true, false))).toBeNull();
  });

  test("serves until the later end if it was moved, too", () => {
    const license = { ...restoredIn(ALONE), movedAt: MONDAY };
    expect(checkLicenseHost(ALONE, license, here(false, false, hoursLater(71)))).toBeNull();
    const late = { ...license, restored: { at: hoursLater(60), serial: 1 } };
    expect(checkLicenseHost(ALONE, late, here(false, false, hoursLater(107)))).toBeNull();
    expect(checkLicenseHost(ALONE, late, here(false, false, hoursLater(108)))?.code).toBe(
      "hardware_mismatch",
    );
  });

  test("has no such time in a pair", () => {
    const state = pairLedBy("beta");
    const license = restoredIn(state);
    expect(checkLicenseHost(state, license, here(false, true))?.code).toBe("hardware_mismatch");
    expect(findRestoreGraceEnd(state, license, here(false, true))).toBeNull();
  });

  test.each([
    ["one of the two hosts that it names", true],
    ["another host", false],
  ])("serves for that time alone on %s", (_name, isSigned) => {
    const license = restoredIn(ALONE, forTwo(ALONE));
    const context = here(isSigned, false, later(hoursLater(48), -1));
    expect(checkLicenseHost(ALONE, license, context)).toBeNull();
    expect(findRestoreGraceEnd(ALONE, license, context)).toBe(hoursLater(48));
    expect(checkLicenseHost(ALONE, license, here(isSigned, false, hoursLater(48)))).toEqual({
      code: "needs_pair",
    });
  });
});

describe("a license of two hosts", () => {
  test("serves in a pair with its log", () => {
    const state = pairLedBy("beta");
    expect(checkLicenseHost(state, forTwo(state), here(true, true))).toBeNull();
  });

  test.each([
    ["on a host that serves alone", ALONE, true],
    ["without the log of the pair", pairLedBy("alpha"), false],
  ])("does not serve %s, even on its own hardware", (_name, state, hasLog) => {
    const fault = checkLicenseHost(state, forTwo(state), here(true, hasLog));
    expect(fault).toEqual({ code: "needs_pair" });
  });

  test("does not serve without a log that the context does not mention", () => {
    const state = pairLedBy("alpha");
    expect(checkLicenseHost(state, forTwo(state), contextAt(MONDAY))).toEqual({
      code: "needs_pair",
    });
  });

  test("does not serve on other hardware, also not for the grace period of a move", () => {
    const state = pairLedBy("beta");
    const license = { ...forTwo(state), movedAt: MONDAY };
    expect(checkLicenseHost(state, license, here(false, true))?.code).toBe("hardware_mismatch");
  });
});
