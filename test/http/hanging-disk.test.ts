// A disk whose syncs do not return: the test decides when they do, and what time it is meanwhile.
import { describe, expect, onTestFinished, test } from "bun:test";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  type Appliance,
  type ApiResponse,
} from "../support/appliance.ts";
import { FaultyDisk, isPending, type BlockedCalls } from "../support/faulty-disk.ts";
import { holdProcessClock } from "../support/process-clock.ts";
import { STREAM_PATH } from "../support/status-stream.ts";
import { waitUntil } from "../support/wait-until.ts";

const HEALTH = "/api/v4/health";

interface HangingSite<T = null> {
  readonly site: Appliance;
  readonly disk: FaultyDisk;
  readonly clock: { ms: number };
  readonly syncs: BlockedCalls;
  /** The registration of a user, whose sync hangs. */
  readonly waiting: Promise<ApiResponse<unknown>>;
  /** What was opened before. */
  readonly opened: T;
}

/** A site with the user `zoe`, whose disk does not answer any more. */
async function openHangingSite<T = null>(
  open: (site: Appliance) => T | Promise<T> = () => null as T,
): Promise<HangingSite<Awaited<T>>> {
  const disk = new FaultyDisk();
  // Before the appliance is stopped, which waits for the disk.
  onTestFinished(() => disk.clearFaults());
  const site = await openAppliance({ disk });
  expectOk(await site.register({ user: "zoe" }));
  const opened = await open(site);
  const clock = holdProcessClock();
  const syncs = disk.block("syncData");
  const waiting = site.register({ user: "ada" });
  await waitUntil(() => syncs.count === 1);
  return { site, disk, clock, syncs, waiting, opened };
}

/** Lets the sync hang for longer than the server waits, until it has answered its callers. */
async function exceedLimit({
  clock,
  waiting,
}: Pick<HangingSite, "clock" | "waiting">): Promise<void> {
  clock.ms += 15_001;
  await waiting;
}

/** Resolves with all of a status stream when it has ended. */
async function openStatusStream(site: Appliance): Promise<{ readonly text: Promise<string> }> {
  const headers = { host: "127.0.0.1" };
  const stream = await site.app.handle(new Request(`http://appliance${STREAM_PATH}`, { headers }));
  expect(stream.status).toBe(200);
  return { text: stream.text() };
}

describe("a disk that does not answer", () => {
  test("makes health degraded after 1 second", async () => {
    const { site, clock, syncs, waiting } = await openHangingSite();
    clock.ms += 999;
    expect(expectOk(await site.get(HEALTH))).toEqual({ status: "ok" });
    clock.ms += 1;
    expect(expectOk(await site.get(HEALTH))).toEqual({
      status: "degraded",
      warnings: ["disk_slow"],
    });
    expect(await isPending(waiting)).toBe(true);
    syncs.releaseAll();
    expectOk(await waiting);
    // It took 1 second, which is reported for a while.
    expect(expectOk(await site.get(HEALTH))).toMatchObject({ warnings: ["disk_slow"] });
  });

  test("is 503 storage_failed after 15 seconds, for those who wait and for all others", async () => {
    const { site, clock, waiting, opened } = await openHangingSite(openStatusStream);
    const read = site.license();
    const command = site.addConsumption({});
    // Both slots are in use.
    const queued = site.register({ user: "bob" }, { prefer: "wait=1" });
    clock.ms += 15_000;
    expect(expectOk(await site.get(HEALTH))).toMatchObject({ warnings: ["disk_slow"] });
    clock.ms += 1;
    const message = expectRefusal(await site.get(HEALTH), 503, "storage_failed");
    expect(message).toBe("the disk does not answer: the outcome is unknown; try again");
    for (const reply of [waiting, read, command, queued]) {
      expect(expectRefusal(await reply, 503, "storage_failed")).toBe(message);
    }
    // A page that connects again is told why.
    expect(await opened.text).toInclude('"status":');
    expectRefusal(await site.get(STREAM_PATH), 503, "storage_failed");
    const seq = site.lastSeq();
    expectRefusal(await site.register({ user: "bob" }), 503, "storage_failed");
    expectRefusal(await site.license(), 503, "storage_failed");
    expect(site.lastSeq()).toBe(seq);
  });

  test("is in the metrics: how long its sync has not returned, and that nothing is written", async () => {
    const { site, clock } = await openHangingSite();
    const names = [
      "berth_journal_unfinished_sync_seconds",
      "berth_read_only",
      'berth_storage_warning{warning="disk_slow"}',
    ];
    const read = async (): Promise<unknown[]> => {
      const lines = expectOk(await site.get<string>("/metrics")).split("\n");
      return names.map((name) => lines.find((line) => line.startsWith(`${name} `))?.split(" ")[1]);
    };
    clock.ms += 2_500;
    expect(await read()).toEqual(["2.5", "0", "1"]);
    clock.ms += 15_000;
    expect(await read()).toEqual(["17.5", "1", "1"]);
  });

  test("loses nothing and counts nothing twice when it answers again", async () => {
    const hanging = await openHangingSite();
    const { site, syncs } = hanging;
    const key = { "idempotency-key": "one" };
    const counting = site.addConsumption({}, key);
    await exceedLimit(hanging);
    expectRefusal(await counting, 503, "storage_failed");
    syncs.releaseAll();
    await waitUntil(() => site.applianceStatus.storageStatus().fault === null);
    expect(expectOk(await site.addConsumption({}, key))).toMatchObject({ total_consumptions: 1 });
    expect(await site.listHolders()).toEqual(["zoe", "ada"]);
    expectOk(await site.register({ user: "ada" }));
    expect(await site.listHolders()).toEqual(["zoe", "ada"]);
    await site.stop();
    const again = await openAppliance({ folder: site.folder, licenses: {} });
    expect(await again.listHolders()).toEqual(["zoe", "ada"]);
    expect(expectOk(await again.license())).toMatchObject({ total_consumptions: 1 });
  });

  test("is not trusted if the sync fails after all", async () => {
    const hanging = await openHangingSite();
    const { site, clock, syncs } = hanging;
    await exceedLimit(hanging);
    clock.ms += 60_000;
    await syncs.releaseOne(Object.assign(new Error("EIO"), { code: "EIO" }));
    syncs.releaseAll();
    await waitUntil(() => site.applianceStatus.storageStatus().fault?.code === "storage_failed");
    const message = expectRefusal(await site.register({ user: "bob" }), 503, "storage_failed");
    expect(message).toBe("the disk failed: the outcome is unknown; try again");
  });
});
