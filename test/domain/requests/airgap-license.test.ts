import { describe, expect, test } from "bun:test";
import type { AirgapGenerate } from "../../../src/domain/requests/airgap-generate.ts";
import {
  type AirgapLicense,
  findOpenActivations,
} from "../../../src/domain/requests/airgap-license.ts";
import { limits } from "../../../src/domain/model/limits.ts";
import { DAY, later, type Instant } from "../../../src/domain/time.ts";
import { HARDWARE, HARDWARE_ID } from "../../support/new-site.ts";
import {
  justBefore,
  given,
  install,
  MONDAY,
  remove,
  replayEvents,
} from "../../support/scenario.ts";

const activate = (nonce: string, licenseKey = "K"): AirgapGenerate => ({
  type: "AirgapGenerate",
  activation: {
    nonce,
    licenseKey,
    initializationCode: "",
    hardwareId: HARDWARE_ID,
    hardware: HARDWARE,
  },
  peer: "10.0.0.1",
});

const confirmed = (license: number, activation: string): AirgapLicense => {
  const { type: _type, answers: _answers, ...checked } = install(license);
  return { type: "AirgapLicense", ...checked, activation };
};

const withActivation = given().at(MONDAY).execute(activate("n"));
const listOpenNonces = (history: ReturnType<typeof given>, key: string, at: Instant) =>
  findOpenActivations(replayEvents(history.events), key, at).map(({ nonce }) => nonce);

describe("an activation", () => {
  test("is open under its license key as soon as its code is made", () => {
    given()
      .at(MONDAY)
      .when(activate("n"))
      .records({ type: "ActivationMade", at: MONDAY })
      .answers({ nonce: "n", at: MONDAY, licenseKey: "K" });
    expect(listOpenNonces(withActivation, "K", MONDAY)).toEqual(["n"]);
    expect(listOpenNonces(withActivation, "k", MONDAY)).toEqual([]);
    const withThree = withActivation.at(MONDAY).execute(activate("other", "L"), activate("second"));
    expect(listOpenNonces(withThree, "K", MONDAY)).toEqual(["n", "second"]);
  });

  test("is neither made nor confirmed in a pair, also if it was made before", () => {
    const host = { host: "alpha", hardwareId: HARDWARE_ID } as const;
    const inPair = withActivation.at(MONDAY).execute({
      type: "ChangeLeader",
      log: "log 1",
      epoch: 1,
      hardware: HARDWARE,
      ...host,
    });
    inPair.at(MONDAY).when(activate("m")).refuses({ code: "codes_not_for_pairs" });
    inPair.at(MONDAY).when(confirmed(1, "n")).refuses({ code: "codes_not_for_pairs" });
    withActivation.at(MONDAY).when(confirmed(1, "n")).records({ type: "LicenseInstalled" });
  });

  test("can be confirmed for 30 days, to the millisecond", () => {
    const end = later(MONDAY, limits.activationAge);
    expect(end - MONDAY).toBe(30 * DAY);
    expect(listOpenNonces(withActivation, "K", justBefore(end))).toEqual(["n"]);
    expect(listOpenNonces(withActivation, "K", end)).toEqual([]);
    const next = withActivation.at(end).execute(activate("next"));
    expect([...replayEvents(next.events).activations.keys()]).toEqual(["next"]);
  });

  test("is dropped as the oldest when more than 64 are open", () => {
    const nonces = Array.from({ length: limits.openActivations + 1 }, (_, index) => `n${index}`);
    const full = given()
      .at(MONDAY)
      .execute(...nonces.slice(0, -1).map((nonce) => activate(nonce)));
    expect(listOpenNonces(full, "K", MONDAY)).toEqual(nonces.slice(0, -1));
    const overfull = full.at(MONDAY).execute(activate(nonces.at(-1) ?? ""));
    expect(listOpenNonces(overfull, "K", MONDAY)).toEqual(nonces.slice(1));
  });

  test("is used up by the license that confirms it, which keeps its hardware", () => {
    withActivation
      .at(MONDAY)
      .when(confirmed(1, "n"))
      .records({ type: "LicenseInstalled", license: 1, activation: "n", request: null });
    const installed = withActivation.at(MONDAY).execute(confirmed(1, "n"));
    expect(listOpenNonces(installed, "K", MONDAY)).toEqual([]);
    expect(replayEvents(installed.events).licenses.get(1)?.grant.hardware).toEqual(HARDWARE);
    installed.at(MONDAY).when(confirmed(1, "n")).records();
    installed.at(MONDAY).when(confirmed(2, "n")).refuses({ code: "request_used" });
    const removed = installed.at(MONDAY).execute(remove(1));
    removed.at(MONDAY).when(confirmed(1, "n")).refuses({ code: "stale_license", serial: 2 });
  });

  test("is refused for other hardware than it was made on", () => {
    const { grant, ...rest } = confirmed(1, "n");
    const otherHardware = { ...rest, grant: { ...grant, hardwareId: "00".repeat(32) } };
    withActivation.at(MONDAY).when(otherHardware).refuses({ code: "hardware_mismatch" });
  });
});
