import { describe, expect, test } from "bun:test";
import { LogUnavailable } from "../../../src/store/log/shared-log.ts";
import { StorageError } from "../../../src/store/journal/storage-fault.ts";
import { transactCommand, transactOrThrow } from "../../support/licensed-store.ts";
import {
  answers,
  leadershipOf,
  openHosts,
  type HostsOfPair,
} from "../../support/pair-leaderships.ts";
import { register } from "../../support/scenario.ts";

describe("the leadership of a pair", () => {
  test("is of the host that claims it first", async () => {
    const hosts = await openHosts();
    await hosts.alpha.leadership.step();
    await hosts.beta.leadership.step();
    expect(answers(hosts)).toEqual({ alpha: true, beta: false });
    expect(hosts.alpha.leadership.role).toEqual({ role: "leader", epoch: 1 });
    expect(hosts.beta.leadership.role).toEqual({ role: "standby", leader: "alpha", url: null });
  });

  test("stays with a host that renews it", async () => {
    const hosts = await openHosts();
    for (let second = 0; second < 60; second += 1) {
      await hosts.alpha.leadership.step();
      await hosts.beta.leadership.step();
      hosts.log.now += 1_000;
      expect(answers(hosts)).toEqual({ alpha: true, beta: false });
    }
  });

  test("ends before another host may begin if the leader stops for a while", async () => {
    const hosts = await openHosts();
    await hosts.alpha.leadership.step();
    const when = { alphaStopped: 0, betaBegan: 0 };
    for (; when.betaBegan === 0; hosts.log.now += 100) {
      await hosts.beta.leadership.step();
      const { alpha, beta } = answers(hosts);
      expect(alpha && beta).toBe(false);
      if (!alpha && when.alphaStopped === 0) when.alphaStopped = hosts.log.now;
      if (beta) when.betaBegan = hosts.log.now;
    }
    expect(when).toEqual({ alphaStopped: 8_000, betaBegan: 10_000 });
    // The resumed leader finds out before it answers anything.
    const late = await transactCommand(hosts.alpha.store, register("ada"));
    expect(late).toEqual({ ok: false, fault: { code: "standby" } });
    await hosts.alpha.leadership.step();
    await hosts.alpha.leadership.step();
    expect(hosts.alpha.leadership.role).toEqual({ role: "standby", leader: "beta", url: null });
  });

  test("changes at once when the leader is stopped cleanly", async () => {
    const hosts = await openHosts();
    await hosts.alpha.leadership.step();
    await hosts.alpha.leadership.stop();
    await hosts.beta.leadership.step();
    expect(answers(hosts)).toEqual({ alpha: false, beta: true });
  });

  test("is claimed again with a new epoch after an append with an unknown outcome", async () => {
    const hosts = await openHosts();
    await hosts.alpha.leadership.step();
    hosts.log.fault = "answer lost";
    const lost = await transactCommand(hosts.alpha.store, register("ada"));
    expect(lost).toEqual({ ok: false, fault: { code: "log_unavailable" } });
    await hosts.alpha.leadership.step();
    await hosts.alpha.leadership.step();
    expect(hosts.alpha.leadership.role).toEqual({ role: "leader", epoch: 2 });
    expect((await transactCommand(hosts.alpha.store, register("bob"))).ok).toBe(true);
  });

  test("is not known any more when the term of the other host has ended", async () => {
    const hosts = await openHosts();
    await hosts.alpha.leadership.step();
    await hosts.beta.leadership.step();
    expect(hosts.beta.leadership.status()).toMatchObject({ leader: "alpha", epoch: 1 });
    hosts.log.now += 20_000;
    hosts.log.leader = { ...hosts.log.leader, successor: "gamma" };
    hosts.log.successorUntil = hosts.log.now + 1_000;
    await hosts.beta.leadership.step();
    expect(hosts.beta.leadership.status()).toMatchObject({ role: "standby", leader: null });
  });
});

describe("a database that refuses new lines", () => {
  const NO_SPACE = "could not extend file: No space left on device";

  /** Alpha led, and its next line was refused; both hosts go on for so many seconds. */
  async function refuseLines(hosts: HostsOfPair, seconds: number): Promise<void> {
    await hosts.alpha.leadership.step();
    await hosts.beta.leadership.step();
    hosts.log.refusal = NO_SPACE;
    const refused = await transactCommand(hosts.alpha.store, register("ada"));
    expect(refused).toEqual({ ok: false, fault: { code: "log_unavailable" } });
    for (const end = hosts.log.now + seconds * 1_000; hosts.log.now < end; hosts.log.now += 200) {
      for (const { leadership } of [hosts.alpha, hosts.beta]) {
        await leadership.step();
        const { host, leader } = leadership.status();
        expect(leader).not.toBe(host);
      }
    }
  }

  test("is reported by both hosts in its own words, and neither names a leader", async () => {
    const hosts = await openHosts();
    await refuseLines(hosts, 30);
    for (let step = 0; step < 100; step += 1, hosts.log.now += 200) {
      for (const { leadership } of [hosts.alpha, hosts.beta]) {
        await leadership.step();
        const status = { problem: NO_SPACE, isLogAway: true, leader: null, leaderUrl: null };
        expect(leadership.status()).toMatchObject(status);
      }
    }
  });

  test("is asked once in a term by each host", async () => {
    const hosts = await openHosts();
    await refuseLines(hosts, 0);
    const { epoch } = hosts.log.leader;
    for (const end = hosts.log.now + 100_000; hosts.log.now < end; hosts.log.now += 200) {
      await hosts.alpha.leadership.step();
      await hosts.beta.leadership.step();
    }
    expect(hosts.log.leader.epoch - epoch).toBeWithin(10, 23);
  });

  test("that accepts them again is used within a term, and nothing is reported any more", async () => {
    const hosts = await openHosts();
    await refuseLines(hosts, 25);
    hosts.log.refusal = null;
    for (const end = hosts.log.now + 10_000; hosts.log.now <= end; hosts.log.now += 200) {
      await hosts.alpha.leadership.step();
      await hosts.beta.leadership.step();
    }
    expect(Object.values(answers(hosts)).filter(Boolean)).toHaveLength(1);
    for (const { leadership } of [hosts.alpha, hosts.beta]) {
      expect(leadership.status()).toMatchObject({ problem: null, isLogAway: false });
    }
  });
});

describe("a clock of the log that jumps", () => {
  test("does not let a second host answer when it jumps ahead", async () => {
    const clock = { jump: 0 };
    const hosts = await openHosts({
      alpha: { bootMs: () => hosts.log.now - clock.jump },
      beta: { bootMs: () => hosts.log.now - clock.jump },
    });
    await hosts.alpha.leadership.step();
    await hosts.beta.leadership.step();
    clock.jump = 60_000;
    hosts.log.now += clock.jump;
    for (let second = 0; second < 7; second += 1) {
      await hosts.beta.leadership.step();
      expect(answers(hosts)).toEqual({ alpha: true, beta: false });
      hosts.log.now += 1_000;
    }
  });

  test("does not delay the next leader when it is set back", async () => {
    const clock = { jump: 0 };
    const hosts = await openHosts({ beta: { bootMs: () => hosts.log.now - clock.jump } });
    await hosts.alpha.leadership.step();
    await hosts.beta.leadership.step();
    clock.jump = -3_600_000;
    hosts.log.now += clock.jump;
    hosts.log.now += 10_000;
    await hosts.beta.leadership.step();
    expect(hosts.beta.leadership.mayAnswer()).toBe(true);
  });
});

describe("the time of the appliance", () => {
  test("begins as at a start only if no host led before", async () => {
    const calls: string[] = [];
    const clockOf = (host: string) => ({
      follow: () => void calls.push(`${host} follows`),
      lead: (isStart: boolean) => void calls.push(`${host} leads${isStart ? " from a start" : ""}`),
    });
    const hosts = await openHosts({
      alpha: { clock: clockOf("alpha") },
      beta: { clock: clockOf("beta") },
    });
    await hosts.alpha.leadership.step();
    await hosts.beta.leadership.step();
    hosts.log.now += 20_000;
    hosts.alpha.leadership.checkTerm();
    await hosts.beta.leadership.step();
    await hosts.beta.leadership.stop();
    await hosts.alpha.leadership.step();
    expect(calls).toEqual([
      "alpha leads from a start",
      "alpha follows",
      "beta leads",
      "beta follows",
      "alpha leads",
    ]);
  });
});

describe("a failed step of the leadership", () => {
  test("is followed by another one", async () => {
    const { log, alpha } = await openHosts();
    const shared = log.connect("alpha");
    let failures = 2;
    const failing = leadershipOf(log, alpha, "alpha", {
      log: Object.assign(shared, {
        claimTerm: async (termMs: number) => {
          failures -= 1;
          if (failures === 1) throw new LogUnavailable("no route to the database");
          if (failures === 0) throw new TypeError("a bug");
          return log.connect("alpha").claimTerm(termMs);
        },
      }),
    });
    await failing.step();
    expect(failing.problem).toBe("no route to the database");
    await failing.step();
    expect(failing.problem).toBe("a bug");
    await failing.step();
    expect(failing.problem).toBeNull();
    expect(failing.mayAnswer()).toBe(true);
  });

  test("leaves no host half leading if what precedes the first reply fails", async () => {
    const hosts = await openHosts();
    const calls: string[] = [];
    hosts.alpha.leadership.addListener({
      begin: async () => {
        calls.push("begin");
        throw new Error("the access list is damaged");
      },
      end: () => calls.push("end"),
    });
    await hosts.alpha.leadership.step();
    expect(answers(hosts)).toEqual({ alpha: false, beta: false });
    expect(hosts.alpha.leadership.problem).toBe("the access list is damaged");
    expect(calls).toEqual(["begin", "end"]);
    const refused = await transactCommand(hosts.alpha.store, register("ada"));
    expect(refused).toEqual({ ok: false, fault: { code: "standby" } });
    // The other host leads at once, and this one does not take it back.
    await hosts.alpha.leadership.step();
    expect(hosts.log.leader.epoch).toBe(1);
    expect(hosts.alpha.leadership.problem).toBe("the access list is damaged");
    await hosts.beta.leadership.step();
    expect(answers(hosts)).toEqual({ alpha: false, beta: true });
    hosts.log.now += 10_000;
    await hosts.beta.leadership.step();
    await hosts.alpha.leadership.step();
    expect(hosts.alpha.leadership.problem).toBeNull();
  });

  test("does not say that it can lead again if it is stopped while it cannot", async () => {
    const { log, alpha } = await openHosts();
    alpha.leadership.addListener({
      begin: () => Promise.reject(new Error("the access list is damaged")),
      end() {},
    });
    await alpha.leadership.step();
    log.now += 60_000;
    await alpha.leadership.stop();
    expect(alpha.leadership.problem).toBe("the access list is damaged");
  });

  test("releases the term if the disk of the leader is full", async () => {
    const hosts = await openHosts();
    const { store } = hosts.alpha;
    let isFull = false;
    const leadership = leadershipOf(hosts.log, hosts.alpha, "alpha", {
      store: {
        follow: () => store.follow(),
        lead: (epoch, command) => store.lead(epoch, command),
        stopLeading: (fault) => store.stopLeading(fault),
        peek: (view) => store.peek(view),
        status: () => ({ ...store.status(), ...(isFull && { fault: { code: "storage_full" } }) }),
      },
    });
    await leadership.step();
    expect(leadership.mayAnswer()).toBe(true);
    isFull = true;
    await leadership.step();
    expect(leadership.mayAnswer()).toBe(false);
    // It does not claim a term that it cannot use.
    hosts.log.now += 60_000;
    await leadership.step();
    expect(hosts.log.leader).toMatchObject({ holder: null, epoch: 1 });
    await hosts.beta.leadership.step();
    expect(hosts.beta.leadership.mayAnswer()).toBe(true);
  });

  test("lets no host that was not admitted claim a term", async () => {
    const { log, alpha } = await openHosts();
    const stranger = leadershipOf(log, alpha, "gamma");
    await stranger.step();
    expect(stranger.problem).toBe("host gamma is no host of the pair (alpha and beta)");
    expect(log.leader).toMatchObject({ holder: null, epoch: 0 });
  });

  test("lets no machine claim a term after another one was admitted under its name", async () => {
    const hosts = await openHosts();
    await hosts.alpha.leadership.step();
    await hosts.beta.leadership.step();
    const hardware = [{ kind: "machine_id", digest: "ab".repeat(32) }];
    await transactOrThrow(hosts.alpha.store, {
      type: "AdmitHost",
      log: "simulated log",
      host: "beta",
      hardwareId: "ab".repeat(32),
      hardware,
      peer: "10.0.0.1",
    });
    await hosts.alpha.leadership.stop();
    await hosts.beta.leadership.step();
    expect(answers(hosts)).toEqual({ alpha: false, beta: false });
    expect(hosts.log.leader).toMatchObject({ holder: null, epoch: 1 });
    expect(hosts.beta.leadership.problem).toStartWith("host beta of the pair is another machine");
    // The new machine, with a copy of the folder.
    const changes = { hardware, hardwareId: "ab".repeat(32) };
    const successor = leadershipOf(hosts.log, hosts.beta, "beta", changes);
    await successor.step();
    expect(successor.mayAnswer()).toBe(true);
  });

  test("claims nothing while the journal of this host cannot follow", async () => {
    const { log, alpha } = await openHosts();
    const { store } = alpha;
    const leadership = leadershipOf(log, alpha, "alpha", {
      store: {
        follow: () => Promise.reject(new StorageError({ code: "storage_full" }, new Error())),
        lead: (epoch, command) => store.lead(epoch, command),
        stopLeading: (fault) => store.stopLeading(fault),
        peek: (view) => store.peek(view),
        status: () => store.status(),
      },
    });
    await leadership.step();
    expect(leadership.problem).toStartWith("the disk of this host is full");
    expect(log.leader.epoch).toBe(0);
  });
});
