// How a host that starts or follows reads the log, also a slow one.
import { describe, expect, test } from "bun:test";
import { LogUnavailable } from "../../../src/store/log/shared-log.ts";
import {
  dumpStateSorted,
  openSite,
  transactOrThrow,
  unwrap,
} from "../../support/licensed-store.ts";
import { leadPair, openPair } from "../../support/pair-of-sites.ts";
import { register } from "../../support/scenario.ts";

const isUnavailable = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => false,
    (error: unknown) => error instanceof LogUnavailable,
  );

test("a host that has all lines no longer says that the log is away", async () => {
  const { log, alpha } = await openPair();
  unwrap(await leadPair(log, alpha, "alpha"));
  await alpha.store.stopLeading({ code: "log_unavailable" });
  expect(alpha.store.status().fault).toEqual({ code: "log_unavailable" });
  await alpha.store.follow();
  expect(alpha.store.status().fault).toEqual({ code: "standby" });
});

describe("a host that starts", () => {
  const openWithFailures = async (failures: number) => {
    const { log, beta } = await openPair();
    await beta.stop();
    let left = failures;
    const delayed = log.connect("beta");
    const readLeader = (): ReturnType<typeof delayed.readLeader> => {
      left -= 1;
      if (left >= 0) throw new LogUnavailable("no answer within 5000 ms");
      return log.connect("beta").readLeader();
    };
    const openLog = async () => Object.assign(delayed, { readLeader });
    return openSite({ folder: beta.folder, openLog });
  };

  test("repeats a read of the log that got no answer in time", async () => {
    const { store } = await openWithFailures(4);
    expect(store.status().fault).toEqual({ code: "standby" });
  });

  test("gives up if the log does not answer at all", async () => {
    expect(await isUnavailable(openWithFailures(Infinity))).toBe(true);
  });
});

describe("a host that reads many lines", () => {
  test("ends early if it is about to stop, and continues later", async () => {
    const stopping = new AbortController();
    const observer = { applied() {}, durable() {}, followed: () => stopping.abort() };
    const { log, alpha, beta } = await openPair({ beta: { observer } });
    unwrap(await leadPair(log, alpha, "alpha"));
    for (let count = 0; count < 600; count += 1)
      await transactOrThrow(alpha.store, register("ada"));
    await beta.store.follow(stopping.signal);
    expect(beta.store.status().seq).toBeLessThan(log.leader.seq);
    await beta.store.follow();
    expect(beta.store.peek(dumpStateSorted)).toEqual(alpha.store.peek(dumpStateSorted));
  });

  test("reads fewer lines at a time after a read that took too long", async () => {
    const { log, alpha, beta } = await openPair();
    const limits: number[] = [];
    const shared = log.connect("beta");
    const slow = Object.assign(log.connect("beta"), {
      readLines(after: number, limit: number) {
        limits.push(limit);
        if (limit > 40) throw new LogUnavailable("no answer within 5000 ms");
        return shared.readLines(after, limit);
      },
    });
    unwrap(await leadPair(log, alpha, "alpha"));
    for (let count = 0; count < 100; count += 1)
      await transactOrThrow(alpha.store, register("ada"));
    await beta.stop();
    const again = await openSite({ folder: beta.folder, openLog: async () => slow });
    limits.length = 0;
    for (let attempt = 0; attempt < 5; attempt += 1) await isUnavailable(again.store.follow());
    expect(limits.slice(0, 3)).toEqual([500, 125, 31]);
    expect(again.store.peek(dumpStateSorted)).toEqual(alpha.store.peek(dumpStateSorted));
  });
});
