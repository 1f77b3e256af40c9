import { describe, expect, test } from "bun:test";
import { Leadership } from "../../../src/operations/pair/leadership.ts";
import { transactCommand, type OpenSite } from "../../support/licensed-store.ts";
import { HARDWARE, HARDWARE_ID } from "../../support/new-site.ts";
import { openPair } from "../../support/pair-of-sites.ts";
import { register } from "../../support/scenario.ts";
import type { SimulatedLog } from "../../support/simulated-log.ts";

const TERM = 10_000;

/** The leadership of a host, whose clock is that of the log. */
const leadershipOf = (log: SimulatedLog, { store }: OpenSite, host: string): Leadership =>
  new Leadership({
    store,
    log: log.connect(host),
    host,
    hardwareId: HARDWARE_ID,
    hardware: HARDWARE,
    termMs: TERM,
    pollMs: 200,
    bootMs: () => log.now,
  });

async function openHosts() {
  const { log, alpha, beta } = await openPair();
  return {
    log,
    sites: { alpha, beta },
    alpha: leadershipOf(log, alpha, "alpha"),
    beta: leadershipOf(log, beta, "beta"),
  };
}

const answers = (hosts: { readonly alpha: Leadership; readonly beta: Leadership }) => ({
  alpha: hosts.alpha.mayAnswer(),
  beta: hosts.beta.mayAnswer(),
});

describe("the leadership of a pair", () => {
  test("is of the host that claims it first", async () => {
    const hosts = await openHosts();
    await hosts.alpha.step();
    await hosts.beta.step();
    expect(answers(hosts)).toEqual({ alpha: true, beta: false });
    expect(hosts.alpha.role).toEqual({ role: "leader", epoch: 1 });
    expect(hosts.beta.role).toEqual({ role: "standby", leader: "alpha", url: null });
  });

  test("stays with a host that renews it", async () => {
    const hosts = await openHosts();
    for (let second = 0; second < 60; second += 1) {
      await hosts.alpha.step();
      await hosts.beta.step();
      hosts.log.now += 1_000;
      expect(answers(hosts)).toEqual({ alpha: true, beta: false });
    }
  });

  test("ends before another host may begin if the leader stops for a while", async () => {
    const hosts = await openHosts();
    await hosts.alpha.step();
    const when = { alphaStopped: 0, betaBegan: 0 };
    for (; when.betaBegan === 0; hosts.log.now += 100) {
      await hosts.beta.step();
      const { alpha, beta } = answers(hosts);
      expect(alpha && beta).toBe(false);
      if (!alpha && when.alphaStopped === 0) when.alphaStopped = hosts.log.now;
      if (beta) when.betaBegan = hosts.log.now;
    }
    expect(when).toEqual({ alphaStopped: 8_000, betaBegan: 10_000 });
    // The resumed leader finds out before it answers anything.
    const late = await transactCommand(hosts.sites.alpha.store, register("ada"));
    expect(late).toEqual({ ok: false, fault: { code: "standby" } });
    await hosts.alpha.step();
    await hosts.alpha.step();
    expect(hosts.alpha.role).toEqual({ role: "standby", leader: "beta", url: null });
  });

  test("changes at once by a hand-over, to the heir alone", async () => {
    const hosts = await openHosts();
    await hosts.alpha.step();
    await hosts.alpha.handOver("beta");
    await hosts.alpha.step();
    expect(answers(hosts)).toEqual({ alpha: false, beta: false });
    await hosts.beta.step();
    expect(answers(hosts)).toEqual({ alpha: false, beta: true });
  });

  test("changes at once when the leader is stopped cleanly", async () => {
    const hosts = await openHosts();
    await hosts.alpha.step();
    await hosts.alpha.stop();
    await hosts.beta.step();
    expect(answers(hosts)).toEqual({ alpha: false, beta: true });
  });

  test("is claimed again with a new epoch after an append with an unknown outcome", async () => {
    const hosts = await openHosts();
    await hosts.alpha.step();
    hosts.log.fault = "answer lost";
    const lost = await transactCommand(hosts.sites.alpha.store, register("ada"));
    expect(lost).toEqual({ ok: false, fault: { code: "log_unavailable" } });
    await hosts.alpha.step();
    await hosts.alpha.step();
    expect(hosts.alpha.role).toEqual({ role: "leader", epoch: 2 });
    expect((await transactCommand(hosts.sites.alpha.store, register("bob"))).ok).toBe(true);
  });
});
