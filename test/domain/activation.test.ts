import { describe, expect, test } from "bun:test";
import type { InstallLicense, MakeActivation } from "../../src/domain/command.ts";
import { findOpenActivations } from "../../src/domain/install.ts";
import { limits } from "../../src/domain/limits.ts";
import { DAY, later, type Instant } from "../../src/domain/time.ts";
import { HARDWARE, HARDWARE_ID } from "../support/new-site.ts";
import { justBefore, given, install, MONDAY, remove, replayEvents } from "../support/scenario.ts";

const activate = (nonce: string, licenseKey = "K"): MakeActivation => ({
  type: "MakeActivation",
  activation: {
    nonce,
    licenseKey,
    initializationCode: "",
    hardwareId: HARDWARE_ID,
    hardware: HARDWARE,
  },
  peer: "10.0.0.1",
});

const confirmed = (license: number, activation: string): InstallLicense => ({
  ...install(license),
  answers: { activation },
});

const asked = given().at(MONDAY).execute(activate("n"));
const open = (history: ReturnType<typeof given>, key: string, at: Instant) =>
  findOpenActivations(replayEvents(history.events), key, at).map(({ nonce }) => nonce);

describe("an activation", () => {
  test("is open from when its code was made, under its license key", () => {
    given()
      .at(MONDAY)
      .when(activate("n"))
      .records({ type: "ActivationMade", at: MONDAY })
      .answers({ nonce: "n", at: MONDAY, licenseKey: "K" });
    expect(open(asked, "K", MONDAY)).toEqual(["n"]);
    expect(open(asked, "k", MONDAY)).toEqual([]);
    const more = asked.at(MONDAY).execute(activate("other", "L"), activate("second"));
    expect(open(more, "K", MONDAY)).toEqual(["n", "second"]);
  });

  test("may be confirmed for 30 days, to the millisecond", () => {
    const end = later(MONDAY, limits.activationAge);
    expect(end - MONDAY).toBe(30 * DAY);
    expect(open(asked, "K", justBefore(end))).toEqual(["n"]);
    expect(open(asked, "K", end)).toEqual([]);
    const next = asked.at(end).execute(activate("next"));
    expect([...replayEvents(next.events).activations.keys()]).toEqual(["next"]);
  });

  test("is one of 64 at most; the oldest is let go", () => {
    const all = Array.from({ length: limits.openActivations + 1 }, (_, place) => `n${place}`);
    const full = given()
      .at(MONDAY)
      .execute(...all.slice(0, -1).map((nonce) => activate(nonce)));
    expect(open(full, "K", MONDAY)).toEqual(all.slice(0, -1));
    const over = full.at(MONDAY).execute(activate(all.at(-1) ?? ""));
    expect(open(over, "K", MONDAY)).toEqual(all.slice(1));
  });

  test("is used up by the license that confirms it, which keeps its hardware", () => {
    asked
      .at(MONDAY)
      .when(confirmed(1, "n"))
      .records({ type: "LicenseInstalled", license: 1, activation: "n", request: null });
    const done = asked.at(MONDAY).execute(confirmed(1, "n"));
    expect(open(done, "K", MONDAY)).toEqual([]);
    expect(replayEvents(done.events).licenses.get(1)?.grant.hardware).toEqual(HARDWARE);
    done.at(MONDAY).when(confirmed(1, "n")).records();
    done.at(MONDAY).when(confirmed(2, "n")).refuses({ code: "request_used" });
    const gone = done.at(MONDAY).execute(remove(1));
    gone.at(MONDAY).when(confirmed(1, "n")).refuses({ code: "stale_license", serial: 2 });
  });

  test("is for the hardware it was made on", () => {
    const { grant, ...rest } = confirmed(1, "n");
    const elsewhere = { ...rest, grant: { ...grant, hardwareId: "00".repeat(32) } };
    asked.at(MONDAY).when(elsewhere).refuses({ code: "hardware_mismatch" });
  });
});
