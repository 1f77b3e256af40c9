// What a host that leads does when its disk fails, when it stops leading, and when it is stopped.
import { describe, expect, test } from "bun:test";
import type { StorageFault } from "../../../src/store/journal/storage-fault.ts";
import type { Store } from "../../../src/store/store.ts";
import { FaultyDisk, isPending, makeDiskError } from "../../support/faulty-disk.ts";
import {
  dumpStateSorted,
  listSegmentNames,
  readJournal,
  transactCommand,
  unwrap,
} from "../../support/licensed-store.ts";
import { leadPair, openPair, type PairOfSites } from "../../support/pair-of-sites.ts";
import { holdProcessClock } from "../../support/process-clock.ts";
import { register } from "../../support/scenario.ts";
import { waitUntil } from "../../support/wait-until.ts";

interface LeadingPair extends PairOfSites {
  readonly disk: FaultyDisk;
}

/** A pair in which alpha leads; `disk` is alpha's. */
async function openLeadingPair(): Promise<LeadingPair> {
  const disk = new FaultyDisk();
  const pair = await openPair({ alpha: { disk } });
  unwrap(await leadPair(pair.log, pair.alpha, "alpha"));
  // After it, no sync is under way.
  await pair.alpha.store.checkpoint();
  return { ...pair, disk };
}

const codeOf = async (store: Store, user: string): Promise<string> => {
  const result = await transactCommand(store, register(user));
  return result.ok ? "granted" : result.fault.code;
};

const seqsOf = (folder: string): number[] => readJournal(folder).map(({ line }) => line.seq);

const usersOf = (store: Store): string[] =>
  store.peek(({ licenses }) =>
    [...(licenses.get(1)?.pool.inSlotOrder() ?? [])].map(({ user }) => user),
  );

const STANDBY: StorageFault = { code: "standby" };

describe("a leader whose copy of the journal cannot be synced", () => {
  test("acknowledges no change that the log does not have", async () => {
    const { log, alpha, disk } = await openLeadingPair();
    const syncs = disk.block("syncData");
    expect(await codeOf(alpha.store, "ada")).toBe("granted");
    const gate = Promise.withResolvers<void>();
    log.appendDelay = gate.promise;
    const second = codeOf(alpha.store, "bob");
    await Bun.sleep(1);
    const third = codeOf(alpha.store, "cyd");
    await syncs.releaseOne(makeDiskError("EIO"));
    await waitUntil(() => alpha.fatalErrors.length > 0);
    gate.resolve();
    expect(await third).toBe("storage_failed");
    await second;
    const lastSeq = log.lines.at(-1)?.seq ?? 0;
    expect(seqsOf(alpha.folder).filter((seq) => seq > lastSeq)).toEqual([]);
    expect(alpha.fatalErrors).toHaveLength(1);
  });

  test("cannot lead again", async () => {
    const { log, alpha, disk } = await openLeadingPair();
    disk.beforeCall = ({ name }) => {
      if (name === "syncData") throw makeDiskError("EIO");
    };
    await codeOf(alpha.store, "ada");
    await waitUntil(() => alpha.fatalErrors.length > 0);
    expect(leadPair(log, alpha, "alpha")).rejects.toThrow("storage_failed");
    expect(await codeOf(alpha.store, "bob")).toBe("storage_failed");
  });
});

describe("a leader whose disk does not answer", () => {
  test("reports that its disk failed after 15 seconds, and not any more when it answers", async () => {
    const { alpha, disk } = await openLeadingPair();
    const clock = holdProcessClock();
    const syncs = disk.block("syncData");
    expect(await codeOf(alpha.store, "ada")).toBe("granted");
    clock.ms += 15_000;
    expect(await codeOf(alpha.store, "bob")).toBe("granted");
    expect(alpha.store.status().fault).toBeNull();
    clock.ms += 1;
    expect(alpha.store.status().fault).toEqual({ code: "storage_failed", isHanging: true });
    // The next one begins then.
    await syncs.releaseOne();
    await waitUntil(() => alpha.store.status().fault === null);
    clock.ms += 25_000;
    expect(alpha.store.status().fault).toEqual({ code: "storage_failed", isHanging: true });
    syncs.releaseAll();
    await waitUntil(() => alpha.store.status().fault === null);
    clock.ms += 60_000;
    expect(alpha.store.status().fault).toBeNull();
  });
});

describe("a leader that makes a checkpoint", () => {
  test("finishes the syncs of the old segment before the new one exists", async () => {
    const { alpha, disk } = await openLeadingPair();
    const before = listSegmentNames(alpha.folder);
    const syncs = disk.block("syncData");
    expect(await codeOf(alpha.store, "ada")).toBe("granted");
    expect(await codeOf(alpha.store, "bob")).toBe("granted");
    const checkpoint = alpha.store.checkpoint();
    expect(await isPending(checkpoint)).toBe(true);
    expect(listSegmentNames(alpha.folder)).toEqual(before);
    // The second sync covers what was written after the first one began.
    await syncs.releaseOne();
    expect(await isPending(checkpoint)).toBe(true);
    expect(listSegmentNames(alpha.folder)).toEqual(before);
    await syncs.releaseOne();
    await checkpoint;
    expect(alpha.store.status().checkpointError).toBeNull();
    expect(disk.misuses).toEqual([]);
  });

  test("closes no file while it is synced, neither at a stop nor when it stops leading", async () => {
    const { log, alpha, beta, disk } = await openLeadingPair();
    const syncs = disk.block("syncData");
    expect(await codeOf(alpha.store, "ada")).toBe("granted");
    unwrap(await leadPair(log, beta, "beta"));
    expect(await codeOf(alpha.store, "bob")).toBe("standby");
    const following = alpha.store.follow();
    expect(await isPending(following)).toBe(true);
    syncs.releaseAll();
    await following;
    unwrap(await leadPair(log, alpha, "alpha"));
    const later = disk.block("syncData");
    expect(await codeOf(alpha.store, "cyd")).toBe("granted");
    const stopping = alpha.stop();
    expect(await isPending(stopping)).toBe(true);
    later.releaseAll();
    await stopping;
    expect([disk.misuses, alpha.fatalErrors]).toEqual([[], []]);
  });
});

describe("a leader that stops leading", () => {
  test("finishes the batch under way as its own, and refuses what comes later", async () => {
    const { log, alpha, beta } = await openLeadingPair();
    const gate = Promise.withResolvers<void>();
    log.appendDelay = gate.promise;
    const first = codeOf(alpha.store, "ada");
    await Bun.sleep(1);
    const second = codeOf(alpha.store, "bob");
    const stops = [alpha.store.stopLeading(STANDBY), alpha.store.follow()];
    expect(await isPending(Promise.race(stops))).toBe(true);
    expect(await codeOf(alpha.store, "cyd")).toBe("standby");
    gate.resolve();
    expect([await first, await second]).toEqual(["granted", "granted"]);
    await Promise.all(stops);
    expect(log.lines.at(-1)?.seq).toBe(alpha.store.status().seq);
    await beta.store.follow();
    expect(usersOf(beta.store)).toEqual(["ada", "bob"]);
    expect(beta.store.peek(dumpStateSorted)).toEqual(alpha.store.peek(dumpStateSorted));
  });

  test("refuses changes if its first command is refused", async () => {
    const { log, alpha } = await openLeadingPair();
    await alpha.store.follow();
    log.now += 100_000;
    const epoch = (await log.connect("alpha").claimTerm(1_000))?.epoch ?? NaN;
    const led = await alpha.store.lead(epoch, register("ada", { product: "unknown" }));
    expect(led.ok).toBe(false);
    expect(alpha.store.status().fault).toEqual(STANDBY);
    expect(await codeOf(alpha.store, "bob")).toBe("standby");
  });

  test("does not begin again if the other host claimed the leadership meanwhile", async () => {
    const { log, alpha, beta } = await openLeadingPair();
    log.now += 100_000;
    const epoch = (await log.connect("alpha").claimTerm(0))?.epoch ?? NaN;
    unwrap(await leadPair(log, beta, "beta"));
    expect(await codeOf(beta.store, "ada")).toBe("granted");
    const led = await alpha.store.lead(epoch, register("bob"));
    expect(led).toEqual({ ok: false, fault: STANDBY });
    expect(alpha.store.status().followProblem).toBeNull();
  });
});

describe("a leader whose disk is full", () => {
  test("refuses changes and reads, also when there is space again, until it leads again", async () => {
    const { log, alpha, beta, disk } = await openLeadingPair();
    disk.bytesLeft = 20;
    // The log has it, so it would be wrong to say that nothing was changed.
    expect(await codeOf(alpha.store, "ada")).toBe("granted");
    expect(await codeOf(alpha.store, "eve")).toBe("storage_full");
    const { fault } = alpha.store.status();
    expect(fault).toEqual({ code: "storage_full" });
    expect(await alpha.store.read(() => 1)).toEqual({ ok: false, fault: fault ?? STANDBY });
    disk.bytesLeft = Infinity;
    await waitUntil(() => alpha.store.status().fault?.code !== "storage_full");
    expect(await codeOf(alpha.store, "bob")).toBe("standby");
    // This host could not copy the first change, and nothing is left of the second one.
    unwrap(await leadPair(log, alpha, "alpha"));
    expect(usersOf(alpha.store)).toEqual(["ada"]);
    await beta.store.follow();
    expect(beta.store.peek(dumpStateSorted)).toEqual(alpha.store.peek(dumpStateSorted));
  });

  test("refuses changes also after it began a new file because of a size limit", async () => {
    const { log, alpha, disk } = await openLeadingPair();
    disk.maxFileSize = 3_000;
    let code = "granted";
    for (let count = 0; code === "granted"; count += 1)
      code = await codeOf(alpha.store, `u${count}`);
    expect(code).toBe("storage_full");
    await alpha.store.follow();
    expect(alpha.store.status().fault).toEqual(STANDBY);
    expect(await codeOf(alpha.store, "ada")).toBe("standby");
    unwrap(await leadPair(log, alpha, "alpha"));
    expect(await codeOf(alpha.store, "ada")).toBe("granted");
  });
});
