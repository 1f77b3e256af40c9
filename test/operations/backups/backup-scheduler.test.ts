import { describe, expect, test } from "bun:test";
import { parseBackupSchedule } from "../../../src/domain/backups/backup-schedule.ts";
import { err, ok, type Result } from "../../../src/domain/result.ts";
import { DAY, HOUR, later, MINUTE, SECOND, type Instant } from "../../../src/domain/time.ts";
import type { MaintenanceFault } from "../../../src/faults/fault-types.ts";
import type { StoredBackup } from "../../../src/operations/backups/backup-folder.ts";
import { BackupScheduler } from "../../../src/operations/backups/backup-scheduler.ts";
import { utc } from "../../support/scenario.ts";

const NOON = utc("2026-11-17T12:00:00Z");

/** A scheduler with a clock and a backup folder of the test. Time passes only in `pass`. */
class Site {
  wallClock = NOON;
  monotonicMs = 0;
  since = NOON;
  schedule = "daily 02:30";
  directory = "/backups";
  backups: StoredBackup[] = [];
  fault: MaintenanceFault | null = null;
  /** When each attempt began, by the system clock. */
  readonly attempts: string[] = [];
  readonly scheduler: BackupScheduler;

  constructor(differing: Partial<Pick<Site, "since" | "schedule" | "backups">> = {}) {
    Object.assign(this, differing);
    this.scheduler = new BackupScheduler({
      settings: () => ({ schedule: this.#parseSchedule(), keep: 7, directory: this.directory }),
      jobs: {
        list: async () => ok({ backups: this.backups, isSameDisk: true }),
        make: async () => this.#make(),
        verify: async () => ok("it is damaged"),
      },
      since: this.since,
      timeZone: () => "UTC",
      wallClock: () => this.wallClock,
      monotonicMs: () => this.monotonicMs,
    });
  }

  #parseSchedule() {
    const schedule = parseBackupSchedule(this.schedule);
    return schedule.ok ? schedule.value : null;
  }

  #make(): Result<
    {
      newName: string;
      removalFault: null;
      backups: StoredBackup[];
      isSameDisk: boolean;
    },
    MaintenanceFault
  > {
    this.attempts.push(new Date(this.wallClock).toISOString().slice(0, 16));
    if (this.fault !== null) return err(this.fault);
    const backup = makeBackup(this.wallClock);
    this.backups = [backup, ...this.backups];
    return ok({
      newName: backup.name,
      removalFault: null,
      backups: this.backups,
      isSameDisk: true,
    });
  }

  /** Lets time pass, with a tick each minute. */
  async pass(milliseconds: number): Promise<void> {
    for (let passed = 0; passed < milliseconds; passed += MINUTE) {
      await this.scheduler.tick();
      this.wallClock = later(this.wallClock, MINUTE);
      this.monotonicMs += MINUTE;
    }
    await this.scheduler.tick();
  }
}

const makeBackup = (madeAt: Instant): StoredBackup => ({
  name: `backup of ${new Date(madeAt).toISOString()}`,
  madeAt,
  size: 1_000,
  seq: 1,
  finding: null,
});

describe("the backup scheduler", () => {
  test("makes one backup at each time of the schedule", async () => {
    const site = new Site();
    await site.pass(3 * DAY);
    expect(site.attempts).toEqual(["2026-11-18T02:30", "2026-11-19T02:30", "2026-11-20T02:30"]);
  });

  test("makes a backup every hour", async () => {
    const site = new Site({ schedule: "hourly" });
    await site.pass(3 * HOUR);
    expect(site.attempts).toEqual(["2026-11-17T13:00", "2026-11-17T14:00", "2026-11-17T15:00"]);
  });

  test("makes none while the schedule is off", async () => {
    const site = new Site({ schedule: "off", since: later(NOON, -9 * DAY) });
    await site.pass(2 * DAY);
    expect(site.attempts).toEqual([]);
    expect(site.scheduler.status()).toMatchObject({ schedule: null, nextAt: null });
  });

  test("makes up missed backups by one, soon after the start", async () => {
    const backups = [makeBackup(later(NOON, -9 * DAY))];
    const site = new Site({ backups });
    await site.pass(HOUR);
    expect(site.attempts).toEqual(["2026-11-17T12:00"]);
  });

  test("makes the first backup of an old folder without backups soon after the start", async () => {
    const site = new Site({ since: later(NOON, -400 * DAY) });
    await site.pass(HOUR);
    expect(site.attempts).toEqual(["2026-11-17T12:00"]);
  });

  test("waits for the first time of the schedule after a folder was created", async () => {
    const site = new Site({ since: NOON });
    await site.pass(12 * HOUR);
    expect(site.attempts).toEqual([]);
    expect(site.scheduler.status().nextAt).toBe(utc("2026-11-18T02:30:00Z"));
  });

  test("waits ten seconds after a start, so that requests come first", async () => {
    const site = new Site({ since: later(NOON, -9 * DAY) });
    site.scheduler.start();
    site.scheduler.stop();
    // Lets the first look at the folder end.
    await Bun.sleep(0);
    for (const [seconds, count] of [
      [9, 0],
      [2, 1],
    ] as const) {
      site.monotonicMs += seconds * SECOND;
      await site.scheduler.tick();
      expect(site.attempts.length).toBe(count);
    }
  });

  test("counts a backup on request as the newest one", async () => {
    const site = new Site({ schedule: "hourly" });
    await site.pass(30 * MINUTE);
    expect((await site.scheduler.make()).ok).toBe(true);
    await site.pass(2 * HOUR);
    expect(site.attempts).toEqual(["2026-11-17T12:30", "2026-11-17T13:00", "2026-11-17T14:00"]);
  });

  test("follows a schedule and a folder that are changed while it runs", async () => {
    const site = new Site();
    await site.pass(10 * MINUTE);
    site.schedule = "daily 12:20";
    await site.pass(20 * MINUTE);
    expect(site.attempts).toEqual(["2026-11-17T12:20"]);
    site.directory = "/elsewhere";
    expect(site.scheduler.status()).toMatchObject({ directory: "/elsewhere", newestAt: null });
    site.backups = [];
    await site.pass(DAY);
    // The new folder has no backup of today.
    expect(site.attempts).toEqual(["2026-11-17T12:20", "2026-11-17T12:50", "2026-11-18T12:20"]);
    site.schedule = "off";
    await site.pass(2 * DAY);
    expect(site.attempts.length).toBe(3);
  });
});

describe("a system clock that changes", () => {
  test("forward by years makes one backup, and back makes at most one more", async () => {
    const site = new Site();
    await site.pass(DAY);
    site.wallClock = later(site.wallClock, 4_000 * DAY);
    await site.pass(HOUR);
    expect(site.attempts.length).toBe(2);
    site.wallClock = later(site.wallClock, -4_000 * DAY);
    await site.pass(12 * HOUR);
    expect(site.attempts.length).toBe(2);
    await site.pass(DAY);
    expect(site.attempts.length).toBe(3);
  });

  test("back by a day does not repeat a backup at once, nor put off the next one for long", async () => {
    const site = new Site();
    await site.pass(15 * HOUR);
    expect(site.attempts).toEqual(["2026-11-18T02:30"]);
    site.wallClock = later(site.wallClock, -DAY);
    await site.pass(2 * DAY);
    expect(site.attempts).toEqual(["2026-11-18T02:30", "2026-11-19T02:30"]);
  });

  test("to and fro every minute makes no more than two backups an hour", async () => {
    const site = new Site({ schedule: "hourly" });
    for (let minute = 0; minute < 240; minute += 1) {
      await site.pass(MINUTE);
      site.wallClock = later(site.wallClock, minute % 2 === 0 ? 400 * DAY : -400 * DAY);
    }
    expect(site.attempts.length).toBeGreaterThan(2);
    expect(site.attempts.length).toBeLessThanOrEqual(9);
  });

  test("back by minutes right after a backup makes no second one", async () => {
    const site = new Site();
    await site.pass(14 * HOUR + 31 * MINUTE);
    expect(site.attempts).toEqual(["2026-11-18T02:30"]);
    site.wallClock = later(site.wallClock, -10 * MINUTE);
    await site.pass(12 * HOUR);
    expect(site.attempts.length).toBe(1);
  });
});

describe("a backup that fails", () => {
  const FAULT: MaintenanceFault = { code: "maintenance_failed", reason: "the share is away" };

  test("is tried again after longer and longer pauses, and reported until one succeeds", async () => {
    const site = new Site({ since: later(NOON, -2 * DAY) });
    site.fault = FAULT;
    await site.pass(2 * HOUR);
    expect(site.attempts.map((time) => time.slice(11))).toEqual([
      "12:00",
      "12:05",
      "12:15",
      "12:35",
      "13:15",
    ]);
    expect(site.scheduler.status()).toMatchObject({
      newestAt: null,
      nextAt: utc("2026-11-16T02:30:00Z"),
      lastFault: {
        at: utc("2026-11-17T13:15:00Z"),
        message: "the operation failed: the share is away",
      },
    });
    await site.pass(10 * DAY);
    expect(site.attempts.length).toBeLessThan(50);
    site.fault = null;
    await site.pass(6 * HOUR);
    expect(site.scheduler.status()).toMatchObject({ lastFault: null, newestSize: 1_000 });
  });

  test("on request is refused with its reason, and reported", async () => {
    const site = new Site();
    site.fault = FAULT;
    expect(await site.scheduler.make()).toEqual(err(FAULT));
    expect(site.scheduler.status().lastFault?.message).toContain("the share is away");
    site.fault = null;
    expect((await site.scheduler.make()).ok).toBe(true);
    expect(site.scheduler.status().lastFault).toBeNull();
  });

  test("because the server stops is not reported", async () => {
    const site = new Site();
    site.fault = { code: "request_cancelled" };
    await site.scheduler.make();
    expect(site.scheduler.status().lastFault).toBeNull();
  });
});

test("a request waits for the backup that is being made instead of making another one", async () => {
  const site = new Site({ since: later(NOON, -2 * DAY) });
  const tick = site.scheduler.tick();
  await Promise.resolve();
  const [first, second] = await Promise.all([site.scheduler.make(), site.scheduler.make()]);
  await tick;
  expect(site.attempts.length).toBe(1);
  expect(first).toEqual(second);
  expect(site.scheduler.status().runningSince).toBeNull();
});

test("a backup in which a later check finds damage is not the newest any more", async () => {
  const newest = makeBackup(NOON);
  const older = makeBackup(later(NOON, -DAY));
  const site = new Site({ backups: [newest, older], schedule: "off" });
  await site.pass(MINUTE);
  expect(site.scheduler.status().newestAt).toBe(newest.madeAt);
  const verified = await site.scheduler.verify(newest.name);
  expect(verified).toEqual(ok({ ...newest, finding: "it is damaged" }));
  expect(site.scheduler.status().newestAt).toBe(older.madeAt);
  expect(await site.scheduler.verify("another name")).toBeNull();
  expect(site.scheduler.findPath("../identity.jwk")).toBeNull();
});
