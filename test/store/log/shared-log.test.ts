import { describe, expect, test } from "bun:test";
import type { Store } from "../../../src/store/store.ts";
import {
  dumpStateSorted,
  openSite,
  readJournal,
  transactCommand,
  unwrap,
  type OpenSite,
} from "../../support/licensed-store.ts";
import { leadPair, openPair } from "../../support/pair-of-sites.ts";
import { register } from "../../support/scenario.ts";
import { testLogContract } from "./log-contract.ts";
import { SimulatedLog } from "../../support/simulated-log.ts";

/** Makes this host the leader. */
const lead = async (log: SimulatedLog, site: OpenSite, host: string): Promise<void> =>
  void unwrap(await leadPair(log, site, host));

const codeOf = async (store: Store, user: string): Promise<string> => {
  const result = await transactCommand(store, register(user));
  return result.ok ? "granted" : result.fault.code;
};

const dump = ({ store }: OpenSite) => store.peek(dumpStateSorted);

describe("two stores with a shared log", () => {
  test("refuse changes and reads until one leads", async () => {
    const { alpha, beta } = await openPair();
    for (const { store } of [alpha, beta]) {
      expect(await codeOf(store, "ada")).toBe("standby");
      expect(await store.read(() => 1)).toEqual({ ok: false, fault: { code: "standby" } });
    }
  });

  test("have the same state and the same journal after the second followed", async () => {
    const { log, alpha, beta } = await openPair();
    await lead(log, alpha, "alpha");
    for (const user of ["ada", "bob", "cyd"])
      expect(await codeOf(alpha.store, user)).toBe("granted");
    await beta.store.follow();
    expect(dump(beta)).toEqual(dump(alpha));
    expect(readJournal(beta.folder)).toEqual(readJournal(alpha.folder));
  });

  test("refuse the write of a leader whose epoch is over, and continue with the other's", async () => {
    const { log, alpha, beta } = await openPair();
    await lead(log, alpha, "alpha");
    expect(await codeOf(alpha.store, "ada")).toBe("granted");
    await lead(log, beta, "beta");
    expect(await codeOf(beta.store, "bob")).toBe("granted");
    expect(await codeOf(alpha.store, "cyd")).toBe("standby");
    await alpha.store.follow();
    expect(dump(alpha)).toEqual(dump(beta));
    await lead(log, alpha, "alpha");
    expect(await codeOf(alpha.store, "dee")).toBe("granted");
    await beta.store.follow();
    expect(dump(beta)).toEqual(dump(alpha));
    expect(readJournal(beta.folder)).toEqual(readJournal(alpha.folder));
  });

  for (const fault of ["lost", "answer lost"] as const) {
    test(`agree with the log after an append whose outcome is unknown: ${fault}`, async () => {
      const { log, alpha, beta } = await openPair();
      await lead(log, alpha, "alpha");
      log.fault = fault;
      expect(await codeOf(alpha.store, "ada")).toBe("log_unavailable");
      await lead(log, alpha, "alpha");
      await beta.store.follow();
      expect(dump(beta)).toEqual(dump(alpha));
      const users = alpha.store.peek(({ licenses }) =>
        [...(licenses.get(1)?.pool.inSlotOrder() ?? [])].map(({ user }) => user),
      );
      expect(users).toEqual(fault === "lost" ? [] : ["ada"]);
    });
  }
});

describe("a store whose journal is not a beginning of the log", () => {
  test("is refused if the log lost lines", async () => {
    const { log, alpha } = await openPair();
    await lead(log, alpha, "alpha");
    await codeOf(alpha.store, "ada");
    await alpha.stop();
    const shorter = new SimulatedLog({ seq: 1, sum: "a".repeat(64) });
    expect(
      openSite({ folder: alpha.folder, openLog: async () => shorter.connect("alpha") }),
    ).rejects.toThrow("lost lines");
  });
});

testLogContract("the simulated log", async (end) => {
  const log = new SimulatedLog(end);
  return {
    alpha: log.connect("alpha"),
    beta: log.connect("beta"),
    restartedAlpha: log.connect("alpha", "restarted"),
  };
});
