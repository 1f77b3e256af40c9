import { describe, expect, test } from "bun:test";
import { readPairStatus } from "../../../src/operations/pair/pair-status.ts";
import { LogUnavailable } from "../../../src/store/log/shared-log.ts";
import { openLicensedSite } from "../../support/licensed-store.ts";
import { leadershipOf } from "../../support/pair-leaderships.ts";
import { openPair } from "../../support/pair-of-sites.ts";
import { waitUntil } from "../../support/wait-until.ts";

describe("the status of a pair", () => {
  test("is null for a host that is alone", async () => {
    const { store } = await openLicensedSite();
    expect(readPairStatus(store, { host: null, leadership: null })).toBeNull();
  });

  test("names the hosts, but no role, if no server runs", async () => {
    const { alpha } = await openPair();
    const status = readPairStatus(alpha.store, { host: null, leadership: null });
    expect(status).toMatchObject({ host: null, role: null, leader: null });
    expect(status?.hosts.map(({ name, role }) => [name, role])).toEqual([
      ["alpha", null],
      ["beta", null],
    ]);
  });

  test("names the leader on both hosts", async () => {
    const { log, alpha, beta } = await openPair();
    const sides = {
      alpha: leadershipOf(log, alpha, "alpha"),
      beta: leadershipOf(log, beta, "beta"),
    };
    await sides.alpha.step();
    await sides.beta.step();
    const ofAlpha = readPairStatus(alpha.store, { host: "alpha", leadership: sides.alpha });
    const ofBeta = readPairStatus(beta.store, { host: "beta", leadership: sides.beta });
    expect(ofAlpha).toMatchObject({ host: "alpha", role: "leader", leader: "alpha", epoch: 1 });
    expect(ofBeta).toMatchObject({ host: "beta", role: "standby", leader: "alpha" });
    expect(ofBeta?.hosts.map(({ name, role }) => [name, role])).toEqual([
      ["alpha", "leader"],
      ["beta", "standby"],
    ]);
  });

  test("says which files of the pair this host does not use", async () => {
    const { log, alpha } = await openPair();
    const leadership = leadershipOf(log, alpha, "alpha");
    const problems = new Map([["keys", "ENOSPC"]] as const);
    const side = { host: "alpha", leadership, sharedFiles: { problems } };
    expect(readPairStatus(alpha.store, side)?.fileProblems).toEqual(problems);
  });

  test("joins what the hosts reported with what the state has", async () => {
    const { log, alpha } = await openPair();
    const leadership = leadershipOf(log, alpha, "alpha");
    await leadership.step();
    const report = { hardwareId: "bb", url: "https://beta:8443", version: "0.3.0", covered: 0 };
    const head = { seq: 1, sum: "a" };
    await log.connect("beta").reportHost({ ...report, host: "beta", head, systemTime: log.now });
    leadership.start();
    await waitUntil(() => leadership.status().hosts.length === 2);
    const status = readPairStatus(alpha.store, { host: "alpha", leadership });
    const { seq } = alpha.store.status();
    await leadership.stop();
    expect(status?.hosts[1]).toMatchObject({
      name: "beta",
      role: "standby",
      url: "https://beta:8443",
      version: "0.3.0",
      linesBehind: seq - 1,
    });
    expect(status?.hosts[0]).toMatchObject({ name: "alpha", role: "leader", linesBehind: 0 });
    expect(status).toMatchObject({ problem: null, isLogAway: false });
  });

  test.each([
    ["the log is away", new LogUnavailable("connection refused"), true],
    ["something else is wrong", new Error("line 7 of the log is damaged"), false],
  ])("says that %s", async (_title, error, isLogAway) => {
    const { log, alpha } = await openPair();
    const broken = Object.assign(log.connect("alpha"), { claimTerm: () => Promise.reject(error) });
    const leadership = leadershipOf(log, alpha, "alpha", { log: broken });
    await leadership.step();
    expect(readPairStatus(alpha.store, { host: "alpha", leadership })).toMatchObject({
      problem: error.message,
      isLogAway,
    });
  });
});
