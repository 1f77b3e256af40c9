import { describe, expect, test } from "bun:test";
import { chooseSuccessor, RecentProgress } from "../../../src/operations/pair/hand-over.ts";
import type { HostRow } from "../../../src/store/log/shared-log.ts";
import { transactCommand } from "../../support/licensed-store.ts";
import { HARDWARE_ID } from "../../support/new-site.ts";
import { answers, openHosts, type HostsOfPair } from "../../support/pair-leaderships.ts";
import { register } from "../../support/scenario.ts";

/** Alpha leads, and beta said that it follows. */
async function openLedPair(): Promise<HostsOfPair> {
  const hosts = await openHosts();
  await hosts.alpha.leadership.step();
  await hosts.beta.leadership.step();
  const { head, coveredSeq: covered } = hosts.beta.store.status();
  const names = { host: "beta", hardwareId: HARDWARE_ID, url: null, version: "1.0.0" };
  await hosts.log.connect("beta").reportHost({ ...names, head, covered, systemTime: 0 });
  return hosts;
}

const REFUSED = { ok: false, fault: { code: "hand_over_refused", host: "beta" } };

describe("a hand-over", () => {
  test("lets the other host lead at once, and then resolves", async () => {
    const hosts = await openLedPair();
    let isDone = false;
    const handingOver = hosts.alpha.leadership.handOver().finally(() => (isDone = true));
    while (hosts.log.leader.holder !== null) await Bun.sleep(1);
    expect(answers(hosts)).toEqual({ alpha: false, beta: false });
    // Only the successor may lead now.
    await hosts.alpha.leadership.step();
    expect(answers(hosts)).toEqual({ alpha: false, beta: false });
    expect(isDone).toBe(false);
    // A term alone is not enough: beta has written nothing yet.
    await hosts.log.connect("beta").claimTerm(10_000);
    await Bun.sleep(120);
    expect(isDone).toBe(false);
    await hosts.beta.leadership.step();
    expect(await handingOver).toEqual({ ok: true, value: { leader: "beta" } });
    expect(answers(hosts)).toEqual({ alpha: false, beta: true });
  });

  test("is refused on a standby", async () => {
    const { beta } = await openLedPair();
    expect(await beta.leadership.handOver()).toEqual({ ok: false, fault: { code: "standby" } });
  });

  test("is refused as on a standby while another one is under way", async () => {
    const hosts = await openLedPair();
    const first = hosts.alpha.leadership.handOver();
    const second = hosts.alpha.leadership.handOver();
    expect(await second).toEqual({ ok: false, fault: { code: "standby" } });
    await hosts.beta.leadership.step();
    expect(await first).toEqual({ ok: true, value: { leader: "beta" } });
  });

  test("is refused if the other host has not reported", async () => {
    const hosts = await openLedPair();
    hosts.log.now += 7_000;
    expect(await hosts.alpha.leadership.handOver()).toMatchObject(REFUSED);
    expect(answers(hosts)).toEqual({ alpha: true, beta: false });
  });

  test("fails if the other host does not take over, and this host leads again", async () => {
    const hosts = await openLedPair();
    const handingOver = hosts.alpha.leadership.handOver();
    while (hosts.log.leader.holder !== null) await Bun.sleep(1);
    hosts.log.now += 5_100;
    expect(await handingOver).toMatchObject({ ok: false, fault: { reason: "not_taken" } });
    await hosts.alpha.leadership.step();
    expect(answers(hosts)).toEqual({ alpha: true, beta: false });
    expect(hosts.alpha.leadership.mayAccept()).toBe(true);
  });

  test("lets the leader write what is only in memory first", async () => {
    const hosts = await openLedPair();
    const results: boolean[] = [];
    hosts.alpha.leadership.addListener({
      finish: async () => {
        results.push((await transactCommand(hosts.alpha.store, register("ada"))).ok);
      },
    });
    const handingOver = hosts.alpha.leadership.handOver();
    while (hosts.log.leader.holder !== null) await Bun.sleep(1);
    await hosts.beta.leadership.step();
    await handingOver;
    expect(results).toEqual([true]);
  });
});

describe("the host that can take over", () => {
  const NOW = 100_000;
  const row = (host: string, changes: Partial<HostRow> = {}): HostRow => ({
    host,
    hardwareId: "hardware",
    url: null,
    version: "1.0.0",
    head: { seq: 50, sum: "sum" },
    covered: 0,
    systemTime: 0,
    ageMs: 1_000,
    clockAheadMs: 0,
    ...changes,
  });
  const progress = new RecentProgress();
  for (const [at, seq] of [
    [NOW - 5_000, 40],
    [NOW - 4_000, 50],
    [NOW - 3_000, 60],
    [NOW, 90],
  ] as const) {
    progress.add({ at, seq });
  }
  const choose = (other: Partial<HostRow>, own: Partial<HostRow> = {}) =>
    chooseSuccessor({
      host: "alpha",
      members: ["alpha", "beta"],
      hosts: [row("alpha", own), row("beta", other)],
      progress,
      readAt: NOW,
    });

  test("is one that reported lately, has read the lines of then, and has the same time", () => {
    expect(choose({})).toEqual({ successor: "beta" });
  });

  for (const [title, other, reason] of [
    ["is not one that reported 6 seconds ago", { ageMs: 6_001 }, "silent"],
    ["is not one that lacks lines of three seconds before its report", { head: 49 }, "behind"],
    ["is not one whose clock is more than 10 seconds ahead", { clockAheadMs: 10_001 }, "skew"],
    ["is not one whose clock is more than 10 seconds behind", { clockAheadMs: -10_001 }, "skew"],
  ] as const) {
    test(title, () => {
      const changes = "head" in other ? { head: { seq: other.head, sum: "" } } : other;
      expect(choose(changes)).toEqual({ code: "hand_over_refused", reason, host: "beta" });
    });
  }

  test("is compared with the clock of this host, not with that of the log", () => {
    expect(choose({ clockAheadMs: 60_000 }, { clockAheadMs: 55_000 })).toEqual({
      successor: "beta",
    });
  });

  test("does not exist in a pair of one host", () => {
    const facts = { host: "alpha", hosts: [row("alpha")], progress, readAt: NOW };
    expect(chooseSuccessor({ ...facts, members: ["alpha"] })).toEqual({
      code: "hand_over_refused",
      reason: "alone",
      host: null,
    });
  });

  test("is not one that was admitted and never reported", () => {
    const facts = { host: "alpha", hosts: [row("alpha")], progress, readAt: NOW };
    expect(chooseSuccessor({ ...facts, members: ["alpha", "beta"] })).toMatchObject({
      reason: "silent",
    });
  });
});
