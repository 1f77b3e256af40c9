import { describe, expect, test } from "bun:test";
import { readPairStatus } from "../../../src/operations/pair/pair-status.ts";
import { openLicensedSite } from "../../support/licensed-store.ts";
import { leadershipOf } from "../../support/pair-leaderships.ts";
import { openPair } from "../../support/pair-of-sites.ts";

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
});
