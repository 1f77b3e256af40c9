// How long a host that leads may answer, and what happens when its time is over.
import { describe, expect, test } from "bun:test";
import { answers, leadershipOf, openHosts } from "../../support/pair-leaderships.ts";

describe("the term of a leader", () => {
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
