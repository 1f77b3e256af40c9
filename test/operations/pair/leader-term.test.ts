// How long a host that leads may answer, and what happens when its time is over.
import { describe, expect, test } from "bun:test";
import type { Leadership } from "../../../src/operations/pair/leadership.ts";
import { transactOrThrow } from "../../support/licensed-store.ts";
import { register } from "../../support/scenario.ts";
import {
  answers,
  leadershipOf,
  openHosts,
  type HostsOfPair,
} from "../../support/pair-leaderships.ts";

/** Alpha, whose renewals take 1.5 seconds. */
function openSlowAlpha(hosts: HostsOfPair): Leadership {
  const shared = hosts.log.connect("alpha");
  const renew = async (epoch: number, termMs: number): Promise<boolean> => {
    const isRenewed = await shared.renew(epoch, termMs);
    hosts.log.now += 1_500;
    return isRenewed;
  };
  const log = Object.assign(hosts.log.connect("alpha"), { renew });
  return leadershipOf(hosts.log, hosts.alpha, "alpha", { log });
}

describe("the term of a leader", () => {
  test("counts from when its renewal was sent, not from when it was answered", async () => {
    const hosts = await openHosts();
    const leadership = openSlowAlpha(hosts);
    await leadership.step();
    hosts.log.now = 3_000;
    await leadership.step();
    hosts.log.now = 10_999;
    expect(leadership.mayAnswer()).toBe(true);
    hosts.log.now = 11_000;
    expect(leadership.mayAnswer()).toBe(false);
  });

  test("counts from its first renewal if that was sent before the first reply", async () => {
    const hosts = await openHosts();
    const leadership = openSlowAlpha(hosts);
    leadership.addListener({ begin: async () => void (hosts.log.now = 9_000) });
    await leadership.step();
    hosts.log.now = 16_999;
    expect(leadership.mayAnswer()).toBe(true);
    hosts.log.now = 17_000;
    expect(leadership.mayAnswer()).toBe(false);
  });

  test("ends with the next step also if its timer did not run", async () => {
    const { alpha, log } = await openHosts();
    await alpha.leadership.step();
    log.now = 9_000;
    await alpha.leadership.step();
    expect(alpha.leadership.status().role).toBe("standby");
    expect(alpha.store.status().fault).toEqual({ code: "log_unavailable" });
  });

  test("does not begin if the disk failed before the first reply, or does not answer", async () => {
    const hosts = await openHosts();
    const { store } = hosts.alpha;
    let hasFailed = false;
    const leadership = leadershipOf(hosts.log, hosts.alpha, "alpha", {
      store: {
        follow: () => store.follow(),
        lead: (epoch, command) => store.lead(epoch, command),
        stopLeading: (fault) => store.stopLeading(fault),
        peek: (view) => store.peek(view),
        status: () => ({
          ...store.status(),
          ...(hasFailed && { fault: { code: "storage_failed" } }),
        }),
      },
    });
    leadership.addListener({ begin: async () => void (hasFailed = true) });
    await leadership.step();
    expect(leadership.mayAnswer()).toBe(false);
    expect(hosts.log.leader).toMatchObject({ holder: null, epoch: 1 });
    // Nor is it claimed again as long as the disk is not well.
    hosts.log.now = 60_000;
    await leadership.step();
    expect(hosts.log.leader.epoch).toBe(1);
  });

  test("ends with the next renewal if the log lost lines", async () => {
    const { alpha, log } = await openHosts();
    await alpha.leadership.step();
    const [{ seq, sum }] = [log.leader];
    await transactOrThrow(alpha.store, register("ada"));
    log.lines.pop();
    log.leader = { ...log.leader, seq, sum };
    log.now += 3_000;
    await alpha.leadership.step();
    expect(alpha.leadership.mayAnswer()).toBe(false);
    await alpha.leadership.step();
    expect(alpha.leadership.problem).toContain("the database lost lines");
  });

  test("is released although this host was reading many lines when it was stopped", async () => {
    const hosts = await openHosts();
    const { store } = hosts.alpha;
    const leadership = leadershipOf(hosts.log, hosts.alpha, "alpha", {
      store: {
        follow: (signal) =>
          new Promise<null>((resolve) => signal?.addEventListener("abort", () => resolve(null))),
        lead: (epoch, command) => store.lead(epoch, command),
        stopLeading: (fault) => store.stopLeading(fault),
        peek: (view) => store.peek(view),
        status: () => store.status(),
      },
    });
    const step = leadership.step();
    await Bun.sleep(0);
    await leadership.stop();
    await step;
    expect(hosts.log.leader.epoch).toBe(0);
  });

  test("ends while a renewal is under way, and its late success changes nothing", async () => {
    const hosts = await openHosts();
    const shared = hosts.log.connect("alpha");
    const renewal = Promise.withResolvers<void>();
    const ended: string[] = [];
    const leadership = leadershipOf(hosts.log, hosts.alpha, "alpha", {
      log: Object.assign(shared, {
        renew: async () => {
          await renewal.promise;
          return true;
        },
      }),
    });
    leadership.addListener({ end: () => ended.push("end") });
    await leadership.step();
    hosts.log.now += 3_000;
    const step = leadership.step();
    await Bun.sleep(0);
    hosts.log.now += 5_000;
    expect(leadership.mayAnswer()).toBe(false);
    leadership.checkTerm();
    expect(ended).toEqual(["end"]);
    renewal.resolve();
    await step;
    expect(leadership.mayAnswer()).toBe(false);
    expect(leadership.status().role).toBe("standby");
  });

  test("is renewed at once if the work before the first reply took most of it", async () => {
    const hosts = await openHosts();
    hosts.alpha.leadership.addListener({
      begin: async () => void (hosts.log.now += 9_000),
    });
    await hosts.alpha.leadership.step();
    expect(answers(hosts)).toEqual({ alpha: true, beta: false });
    expect(hosts.log.until).toBe(19_000);
  });

  test("begins although the work before it took longer, if no other host leads", async () => {
    const hosts = await openHosts();
    const renewal = Promise.withResolvers<void>();
    const leadership = leadershipOf(hosts.log, hosts.alpha, "alpha", {
      log: Object.assign(hosts.log.connect("alpha"), {
        renew: async (epoch: number, termMs: number) => {
          await renewal.promise;
          return hosts.log.connect("alpha").renew(epoch, termMs);
        },
      }),
    });
    leadership.addListener({ begin: async () => void (hosts.log.now += 11_000) });
    const step = leadership.step();
    // The timer of the term that is over.
    await Bun.sleep(20);
    expect(leadership.mayAnswer()).toBe(false);
    renewal.resolve();
    await step;
    expect(leadership.status()).toMatchObject({ role: "leader", mayAnswer: true, epoch: 1 });
  });

  test("does not begin if the work before the first reply took longer than the term", async () => {
    const hosts = await openHosts();
    hosts.alpha.leadership.addListener({
      begin: async () => {
        await hosts.beta.leadership.step();
        hosts.log.now += 11_000;
        await hosts.beta.leadership.step();
      },
    });
    await hosts.alpha.leadership.step();
    expect(answers(hosts)).toEqual({ alpha: false, beta: true });
    expect(hosts.alpha.leadership.status().role).toBe("standby");
  });
});
