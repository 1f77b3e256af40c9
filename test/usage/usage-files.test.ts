import { describe, expect, onTestFinished, spyOn, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  mkdirSync,
  rmdirSync,
} from "node:fs";
import { join } from "node:path";
import { later, DAY, HOUR, type Instant } from "../../src/domain/time.ts";
import { findUsageLag, findUsageProblem } from "../../src/operations/usage/check-usage-files.ts";
import { checkpointWithUsage } from "../../src/operations/usage/checkpoint-with-usage.ts";
import { readSiteRecord } from "../../src/operations/usage/read-site-record.ts";
import { openHistory } from "../../src/operations/usage/site-history.ts";
import { readPosition } from "../../src/operations/usage/usage-position.ts";
import { UsageReader } from "../../src/operations/usage/usage-reader.ts";
import { UsageUpdates } from "../../src/operations/usage/usage-updates.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { log } from "../../src/platform/log.ts";
import { findRangeSteps, makeSeries, type UsageRange } from "../../src/usage/usage-series.ts";
import { FaultyDisk } from "../support/faulty-disk.ts";
import {
  openLicensedSite,
  openSite,
  transactOrThrow,
  unwrap,
  type OpenSite,
} from "../support/licensed-store.ts";
import { hoursLater, install, MONDAY, register, renew, unregister } from "../support/scenario.ts";

const checkpoint = (folder: string, open: number) => checkpointWithUsage(realDisk, folder, open);

const openUsageSite = (): Promise<OpenSite> => openLicensedSite({ checkpoint });

const usagePath = ({ folder }: OpenSite, name: string): string => join(folder, "usage", name);

async function holdSlot(site: OpenSite, from: Instant, minutes: number): Promise<void> {
  site.clock.now = from;
  await transactOrThrow(site.store, register("ada"));
  site.clock.now = later(from, minutes * 60_000);
  await transactOrThrow(site.store, unregister("ada"));
}

async function readSeries(site: OpenSite, range: UsageRange) {
  const span = findRangeSteps(range, site.clock.now);
  const { table } = unwrap(await new UsageReader(site.store).read(span));
  const { pools } = makeSeries(table, span, ({ feature }) => feature === null);
  const sum = (values: readonly (number | null)[] = []): number =>
    values.reduce<number>((all, value) => all + (value ?? 0), 0);
  const figures = pools[0]?.figures;
  return { slotTime: sum(figures?.slotTime), peak: Math.max(...(figures?.peak ?? []).map(Number)) };
}

describe("usage files", () => {
  test("are readable by their owner only", async () => {
    const site = await openUsageSite();
    await holdSlot(site, MONDAY, 10);
    await site.store.checkpoint();
    const names = realDisk.list(join(site.folder, "usage"));
    expect(names.length).toBeGreaterThan(2);
    for (const name of names) expect(statSync(usagePath(site, name)).mode & 0o077).toBe(0);
    expect(statSync(join(site.folder, "usage")).mode & 0o077).toBe(0);
  });

  test("do not count what an interrupted update left behind their end", async () => {
    const site = await openUsageSite();
    await holdSlot(site, MONDAY, 10);
    await site.store.checkpoint();
    const name = readPosition(realDisk, site.folder)?.files[0]?.name ?? "";
    const lines = readFileSync(usagePath(site, name), "utf8").split("\n");
    // The update was killed before it replaced the position: its lines are written again.
    appendFileSync(usagePath(site, name), `${lines[1]}\n${lines[1]?.slice(0, 20)}`);
    expect(await readSeries(site, "day")).toEqual({ slotTime: 600_000, peak: 1 });
    await holdSlot(site, hoursLater(1), 10);
    await site.store.checkpoint();
    expect(await readSeries(site, "day")).toEqual({ slotTime: 1_200_000, peak: 1 });
  });

  test("with a damaged line or of an unknown format are written anew", async () => {
    const site = await openUsageSite();
    await holdSlot(site, MONDAY, 10);
    await site.store.checkpoint();
    const { files = [] } = readPosition(realDisk, site.folder) ?? {};
    const path = usagePath(site, files[0]?.name ?? "");
    const text = readFileSync(path, "utf8");
    for (const damaged of [text.replace('"hour":', '"hour":x'), text.replace(":1,", ":2,")]) {
      writeFileSync(path, damaged);
      expect(await readSeries(site, "day")).toEqual({ slotTime: 600_000, peak: 1 });
    }
    const position = usagePath(site, "position.json");
    writeFileSync(position, readFileSync(position, "utf8").replace('"format":1', '"format":9'));
    await holdSlot(site, hoursLater(1), 10);
    await site.store.checkpoint();
    expect(readPosition(realDisk, site.folder)?.format).toBe(1);
    expect(await readSeries(site, "day")).toEqual({ slotTime: 1_200_000, peak: 1 });
  });

  test("of another history are not continued", async () => {
    const [site, other] = [await openUsageSite(), await openUsageSite()];
    for (const { clock } of [site, other]) clock.now = MONDAY;
    await holdSlot(site, MONDAY, 10);
    await site.store.checkpoint();
    await holdSlot(other, MONDAY, 20);
    await holdSlot(other, hoursLater(1), 20);
    await other.store.checkpoint();
    // As after a restore of a backup, which does not contain these files.
    for (const name of realDisk.list(join(site.folder, "usage")))
      writeFileSync(usagePath(other, name), readFileSync(usagePath(site, name)));
    expect(await readSeries(other, "day")).toEqual({ slotTime: 2_400_000, peak: 1 });
    await holdSlot(other, hoursLater(2), 20);
    await other.store.checkpoint();
    expect(await readSeries(other, "day")).toEqual({ slotTime: 3_600_000, peak: 1 });
  });

  test("are merged when a month is over, folded after 90 days, removed after 18 months", async () => {
    const site = await openUsageSite();
    const readKinds = () =>
      readPosition(realDisk, site.folder)?.files.map(({ name, kind }) => [name.slice(0, 7), kind]);
    await holdSlot(site, MONDAY, 10);
    await site.store.checkpoint();
    await holdSlot(site, later(MONDAY, 20 * 60_000), 10);
    await site.store.checkpoint();
    expect(readKinds()).toEqual([["2026-03", "steps"]]);
    await holdSlot(site, hoursLater(24 * 35), 10);
    await site.store.checkpoint();
    expect(readKinds()).toEqual([
      ["2026-03", "merged"],
      ["2026-04", "steps"],
    ]);
    const merged = readPosition(realDisk, site.folder)?.files[0]?.name ?? "";
    expect(readFileSync(usagePath(site, merged), "utf8").match(/"hour"/g)?.length).toBe(1);
    await holdSlot(site, hoursLater(24 * 130), 10);
    await site.store.checkpoint();
    expect(readKinds()?.slice(0, 2)).toEqual([
      ["2026-03", "hours"],
      ["2026-04", "merged"],
    ]);
    expect(await readSeries(site, "year")).toEqual({ slotTime: 2_400_000, peak: 1 });
    expect(existsSync(usagePath(site, merged))).toBe(false);
    await holdSlot(site, later(MONDAY, 600 * DAY), 10);
    await site.store.checkpoint();
    expect(readKinds()?.[0]?.[0]).toBe("2026-04");
  });

  test("keep the limit before a renewal", async () => {
    const site = await openSite({ checkpoint });
    await transactOrThrow(site.store, install(1, { slots: 2 }));
    await holdSlot(site, hoursLater(1), 10);
    await site.store.checkpoint();
    site.clock.now = hoursLater(3);
    await transactOrThrow(site.store, renew(1, 3, { slots: 5 }));
    site.clock.now = hoursLater(5);
    const readLimits = async () => {
      const span = { from: MONDAY, to: hoursLater(5), step: HOUR };
      const { table } = unwrap(await new UsageReader(site.store).read(span));
      return makeSeries(table, span).pools[0]?.limit;
    };
    expect(await readLimits()).toEqual([2, 2, 2, 5, 5]);
    await site.store.checkpoint();
    expect(await readLimits()).toEqual([2, 2, 2, 5, 5]);
  });

  test("that are computed again keep what is older than the audit log", async () => {
    const site = await openUsageSite();
    await holdSlot(site, MONDAY, 10);
    await holdSlot(site, hoursLater(24 * 35), 10);
    await site.store.checkpoint();
    const [oldest = ""] = realDisk.list(join(site.folder, "history")).toSorted();
    realDisk.remove(join(site.folder, "history", oldest));
    unwrap(await new UsageReader(site.store).rebuild());
    expect(await readSeries(site, "quarter")).toEqual({ slotTime: 1_200_000, peak: 1 });
    expect(existsSync(usagePath(site, "rebuild"))).toBe(false);
  });

  test.each([
    ["the first", false],
    ["a later", true],
  ])(
    "count everything once if %s update is killed at any of its calls",
    async (_which, isLater) => {
      const disk = new FaultyDisk();
      // Between the checkpoint and the update: the first call for the folder is not made.
      let [callsLeft, isUpdating] = [Infinity, false];
      disk.beforeCall = ({ path }) => {
        isUpdating ||= path.includes("/usage");
        if (isUpdating) callsLeft -= 1;
        if (callsLeft < 0) throw new Error("killed");
      };
      const site = await openLicensedSite({
        checkpoint: (folder, open) => checkpointWithUsage(disk, folder, open),
      });
      site.clock.now = MONDAY;
      if (isLater) await site.store.checkpoint();
      let round = 0;
      for (let isKilled = true; isKilled; round += 1) {
        [callsLeft, isUpdating] = [round, false];
        await holdSlot(site, hoursLater(round), 10);
        await site.store.checkpoint();
        expect(site.store.status().checkpointError).toBeNull();
        isKilled = callsLeft < 0;
        callsLeft = Infinity;
        const series = await readSeries(site, "week");
        expect([round, series]).toEqual([round, { slotTime: (round + 1) * 600_000, peak: 1 }]);
        const record = unwrap(await readSiteRecord(openHistory(site.store), null));
        expect([round, record.sessions.length]).toEqual([round, round + 1]);
      }
      // It locks the folder, reads the audit log, appends, syncs, and replaces the position.
      expect(round).toBeGreaterThan(15);
      expect(readPosition(realDisk, site.folder)?.audit_seq).toBe(site.store.status().auditSeq);
      const { auditSeq } = site.store.status();
      expect(findUsageProblem(realDisk, site.folder, auditSeq)).toBeNull();
    },
  );

  test("that cannot be updated are reported until an update succeeds, and leave no progress", async () => {
    const disk = new FaultyDisk();
    const updates = new UsageUpdates();
    const site = await openLicensedSite({
      checkpoint: (folder, open) =>
        checkpointWithUsage(disk, folder, open, { onUsageUpdate: updates.record }),
    });
    const logged = spyOn(log, "warn").mockImplementation(() => {});
    onTestFinished(() => logged.mockRestore());
    await holdSlot(site, MONDAY, 10);
    await site.store.checkpoint();
    expect(updates.error).toBeNull();
    disk.beforeCall = ({ name, path }) => {
      if (name !== "rename" || !path.endsWith("position.json")) return;
      writeFileSync(usagePath(site, "progress"), "...");
      throw new Error("no space left");
    };
    await holdSlot(site, hoursLater(1), 10);
    await site.store.checkpoint();
    expect([updates.error, site.store.status().checkpointError]).toEqual(["no space left", null]);
    expect(logged.mock.calls).toEqual([
      ["could not update the usage files", { error: "no space left" }],
    ]);
    expect(existsSync(usagePath(site, "progress"))).toBe(false);
    const auditSeq = site.store.status().auditSeq;
    const lag = findUsageLag(realDisk, site.folder);
    expect(lag).toMatch(/^the usage files end at line/);
    expect(findUsageProblem(realDisk, site.folder, auditSeq)).toBe(lag);
    // The next start knows it, too.
    expect(new UsageUpdates(lag).error).toBe(lag);
    const reader = new UsageReader(site.store, updates);
    expect(await reader.rebuild()).toMatchObject({ fault: { reason: "no space left" } });
    disk.clearFaults();
    rmSync(usagePath(site, "rebuild"));
    mkdirSync(usagePath(site, "rebuild"));
    expect(await reader.rebuild()).toMatchObject({ fault: { code: "maintenance_failed" } });
    rmdirSync(usagePath(site, "rebuild"));
    await site.store.checkpoint();
    expect(updates.error).toBeNull();
    expect(findUsageProblem(realDisk, site.folder, auditSeq)).toBeNull();
    expect(findUsageLag(realDisk, site.folder)).toBeNull();
  });

  test("that are missing or damaged are found", async () => {
    const site = await openUsageSite();
    await holdSlot(site, MONDAY, 10);
    await site.store.checkpoint();
    const auditSeq = site.store.status().auditSeq;
    const find = () => findUsageProblem(realDisk, site.folder, auditSeq);
    expect(find()).toBeNull();
    const path = usagePath(site, readPosition(realDisk, site.folder)?.files[0]?.name ?? "");
    writeFileSync(path, readFileSync(path, "utf8").replace('"hour":', '"hour":x'));
    expect(find()).toBe(`${path} is damaged`);
    writeFileSync(path, readFileSync(path, "utf8").replace('"hour":x', '"hour":'));
    const rows = usagePath(site, readPosition(realDisk, site.folder)?.lines[0]?.name ?? "");
    writeFileSync(rows, readFileSync(rows, "utf8").replace("ada", "bob"));
    expect(find()).toBe(`${rows} is damaged`);
    writeFileSync(usagePath(site, "position.json"), "{");
    expect(find()).toBe(`${usagePath(site, "position.json")} is missing or cannot be read`);
    rmSync(usagePath(site, "position.json"));
    mkdirSync(usagePath(site, "position.json"));
    expect(find()).toMatch(/^the usage files cannot be read: EISDIR/);
    rmSync(join(site.folder, "usage"), { recursive: true });
    expect(find()).toBe("the usage files do not exist");
    expect(findUsageProblem(realDisk, site.folder, 0)).toBeNull();
  });

  test("repeat no line of the audit log that was removed with its month", async () => {
    let keepMonths = 0;
    const site = await openLicensedSite({
      checkpoint: (folder, open) => checkpointWithUsage(realDisk, folder, open, { keepMonths }),
    });
    const readMonths = () =>
      readPosition(realDisk, site.folder)?.lines.map(({ name }) => name.slice(0, 13));
    for (const day of [0, 35, 65]) await holdSlot(site, later(MONDAY, day * DAY), 10);
    await site.store.checkpoint();
    expect(readMonths()).toEqual(["lines-2026-03", "lines-2026-04", "lines-2026-05"]);
    keepMonths = 1;
    // The month is removed with the checkpoint after the one that begins without it.
    for (const day of [66, 67]) {
      await holdSlot(site, later(MONDAY, day * DAY), 10);
      await site.store.checkpoint();
    }
    expect(readMonths()).toEqual(["lines-2026-04", "lines-2026-05"]);
    const names = realDisk.list(join(site.folder, "usage"));
    expect(names.filter((name) => name.startsWith("lines-2026-03"))).toEqual([]);
    const record = unwrap(await readSiteRecord(openHistory(site.store), null));
    expect(record.sessions).toHaveLength(4);
  });

  test("are kept for as many months as the setting says", async () => {
    let usageMonths = 2;
    const site = await openLicensedSite({
      checkpoint: (folder, open) => checkpointWithUsage(realDisk, folder, open, { usageMonths }),
    });
    const readMonths = () =>
      readPosition(realDisk, site.folder)?.files.map(({ name }) => name.slice(0, 7));
    for (const day of [0, 35, 65]) await holdSlot(site, later(MONDAY, day * DAY), 10);
    await site.store.checkpoint();
    expect(readMonths()).toEqual(["2026-03", "2026-04", "2026-05"]);
    usageMonths = 1;
    await holdSlot(site, later(MONDAY, 66 * DAY), 10);
    await site.store.checkpoint();
    expect(readMonths()).toEqual(["2026-04", "2026-05"]);
  });
});
