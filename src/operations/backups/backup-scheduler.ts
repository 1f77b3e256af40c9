import {
  computeRetryDelay,
  findDueTime,
  formatBackupSchedule,
  isFromFuture,
  type BackupSchedule,
} from "../../domain/backups/backup-schedule.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { HOUR, later, latest, MINUTE, SECOND, type Instant } from "../../domain/time.ts";
import { messageOf } from "../../faults/catalog.ts";
import type { MaintenanceFault } from "../../faults/fault-types.ts";
import { messageOfError } from "../../platform/error-message.ts";
import { log } from "../../platform/log.ts";
import type { BackupFolderReport, StoredBackup } from "./backup-folder.ts";
import type { BackupStatus } from "./backup-status.ts";

export interface BackupSettings {
  readonly schedule: BackupSchedule;
  readonly keep: number;
  readonly directory: string;
}

type Outcome<T> = Promise<Result<T, MaintenanceFault>>;

/** What is done outside of the serving process, because the folder may be on a slow disk. */
export interface BackupJobs {
  readonly list: (directory: string) => Outcome<BackupFolderReport>;
  /** Makes a backup and removes those that are too many. */
  readonly make: (directory: string, keep: number) => Outcome<MadeBackup>;
  /** The finding, or null if it is intact. */
  readonly verify: (path: string) => Outcome<string | null>;
}

export interface MadeBackup extends BackupFolderReport {
  /** The name of the new one. */
  readonly newName: string;
  /** Why older ones that are too many are still there; null: they are not. */
  readonly removalFault: string | null;
}

export interface SchedulerOptions {
  /** Read at each use: an operator may change them while the server runs. */
  readonly settings: () => BackupSettings;
  readonly jobs: BackupJobs;
  /** When the data folder was created: no backup before that was missed. */
  readonly since: Instant;
  readonly timeZone: () => string;
  /** The system clock: a schedule is in local time. */
  readonly wallClock: () => Instant;
  /** Milliseconds that no correction of the system clock changes. */
  readonly monotonicMs: () => number;
}

const TICK = 5 * SECOND;
/** After a start, requests come first. */
const START_DELAY = 10 * SECOND;
/** How often the folder is listed without a reason: an operator may have removed files. */
const LIST_INTERVAL = HOUR;
/** However often the system clock is changed. */
const MIN_INTERVAL = 30 * MINUTE;

/** Makes backups by a schedule, one at a time, and knows what there is. */
export class BackupScheduler {
  readonly #options: SchedulerOptions;
  #timer: Timer | null = null;
  #isTicking = false;
  /** Null: not listed yet, or of another folder than now. */
  #report: (BackupFolderReport & { readonly directory: string }) | null = null;
  #listedAtMs = -Infinity;
  /** What a later check found; by name. */
  readonly #findings = new Map<string, string>();
  #running: { readonly since: Instant; readonly outcome: Outcome<StoredBackup> } | null = null;
  #lastFault: BackupStatus["lastFault"] = null;
  #failures = 0;
  /** No scheduled attempt before this time, by the monotonic clock and by the system clock. */
  #notBefore: { readonly ms: number; readonly at: Instant } | null = null;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#wait(START_DELAY);
    void this.tick();
    this.#timer = setInterval(() => void this.tick(), TICK);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Does what is due; settles when it is done. */
  async tick(): Promise<void> {
    if (this.#isTicking || this.#running !== null) return;
    this.#isTicking = true;
    try {
      const now = this.#options.monotonicMs();
      const isListed = this.#report?.directory === this.#options.settings().directory;
      if (!isListed || now - this.#listedAtMs >= LIST_INTERVAL) await this.#refresh();
      // A request may have begun one while the folder was listed.
      if (this.#running !== null || this.#isWaiting() || !this.#isDue()) return;
      await this.#attempt();
    } finally {
      this.#isTicking = false;
    }
  }

  status(): BackupStatus {
    const { schedule, directory } = this.#options.settings();
    const newest = this.#findNewest();
    return {
      schedule: schedule && formatBackupSchedule(schedule),
      directory,
      newestAt: newest?.madeAt ?? null,
      newestSize: newest?.size ?? null,
      nextAt: this.#findNextTime(),
      runningSince: this.#running?.since ?? null,
      lastFault: this.#lastFault,
      isSameDisk: this.#report?.isSameDisk ?? true,
    };
  }

  /** Lists the folder again: other programs may have changed it. */
  async list(): Outcome<BackupFolderReport> {
    const listed = await this.#refresh();
    return listed.ok ? ok({ ...listed.value, backups: this.#listKnown() }) : listed;
  }

  /** Makes a backup now, whatever the schedule is; or waits for the one that is being made. */
  async make(): Outcome<StoredBackup> {
    return this.#running?.outcome ?? this.#attempt();
  }

  /** The path of a backup; null: there is none of that name. */
  findPath(name: string): string | null {
    const { directory } = this.#options.settings();
    return this.#listKnown().some((backup) => backup.name === name) ? `${directory}/${name}` : null;
  }

  /** Reads all of it again; null: there is none of that name. */
  async verify(name: string): Promise<Result<StoredBackup, MaintenanceFault> | null> {
    const path = this.findPath(name);
    if (path === null) return null;
    const finding = await this.#options.jobs.verify(path);
    if (!finding.ok) return finding;
    if (finding.value === null) this.#findings.delete(name);
    else this.#findings.set(name, finding.value);
    const backup = this.#listKnown().find((known) => known.name === name);
    return backup === undefined ? null : ok(backup);
  }

  #listKnown(): StoredBackup[] {
    const { directory } = this.#options.settings();
    const backups = this.#report?.directory === directory ? this.#report.backups : [];
    return backups.map((backup) => ({
      ...backup,
      finding: backup.finding ?? this.#findings.get(backup.name) ?? null,
    }));
  }

  /** The newest that can be restored; null: there is none, or the folder is not listed yet. */
  #findNewest(): StoredBackup | null {
    const now = this.#options.wallClock();
    return this.#listUsable().find(({ madeAt }) => !isFromFuture(madeAt, now)) ?? null;
  }

  #listUsable(): StoredBackup[] {
    return this.#listKnown().filter(({ finding }) => finding === null);
  }

  /** Null: backups are off, or it is not known yet which there are. */
  #findDueTime(): Instant | null {
    const { settings, since, wallClock, timeZone } = this.#options;
    const { schedule, directory } = settings();
    if (schedule === null || this.#report?.directory !== directory) return null;
    const times = this.#listUsable().map(({ madeAt }) => madeAt);
    return findDueTime(schedule, times, since, wallClock(), timeZone());
  }

  /** A missed one that is about to be made up is not overdue; one that failed is. */
  #findNextTime(): Instant | null {
    const due = this.#findDueTime();
    if (due === null || this.#failures > 0 || !this.#isWaiting()) return due;
    return latest(due, this.#notBefore?.at ?? due);
  }

  #wait(milliseconds: number): void {
    const { wallClock, monotonicMs } = this.#options;
    this.#notBefore = { ms: monotonicMs() + milliseconds, at: later(wallClock(), milliseconds) };
  }

  #isWaiting(): boolean {
    return this.#notBefore !== null && this.#options.monotonicMs() < this.#notBefore.ms;
  }

  #isDue(): boolean {
    const { schedule, directory } = this.#options.settings();
    if (schedule === null) return false;
    // A folder that cannot be listed: the attempt reports why.
    if (this.#report?.directory !== directory) return true;
    const due = this.#findDueTime();
    return due !== null && due <= this.#options.wallClock();
  }

  async #refresh(): Outcome<BackupFolderReport> {
    const { jobs, settings, monotonicMs } = this.#options;
    const { directory } = settings();
    const listed = await withoutExceptions(() => jobs.list(directory));
    this.#listedAtMs = monotonicMs();
    if (listed.ok) this.#report = { ...listed.value, directory };
    return listed;
  }

  #attempt(): Outcome<StoredBackup> {
    const outcome = this.#makeBackup().finally(() => (this.#running = null));
    this.#running = { since: this.#options.wallClock(), outcome };
    return outcome;
  }

  async #makeBackup(): Outcome<StoredBackup> {
    const { jobs, settings } = this.#options;
    const { directory, keep } = settings();
    const outcome = await withoutExceptions(() => jobs.make(directory, keep));
    if (!outcome.ok) return this.#fail(outcome.fault);
    const { newName, removalFault, ...report } = outcome.value;
    this.#report = { ...report, directory };
    const backup = report.backups.find(({ name }) => name === newName);
    if (backup === undefined) {
      return this.#fail({ code: "maintenance_failed", reason: `${newName} was removed` });
    }
    this.#lastFault = null;
    this.#failures = 0;
    this.#wait(MIN_INTERVAL);
    log.info("backup made and verified", { directory, name: newName, bytes: backup.size });
    if (removalFault !== null) {
      log.warn("older backups cannot be deleted", { directory, reason: removalFault });
    }
    return ok(backup);
  }

  /** A later attempt follows, after longer and longer pauses. */
  #fail(fault: MaintenanceFault): Result<never, MaintenanceFault> {
    // The server stops.
    if (fault.code === "request_cancelled") return err(fault);
    const { wallClock, settings } = this.#options;
    const message = messageOf(fault);
    this.#failures += 1;
    const delay = computeRetryDelay(this.#failures);
    this.#wait(delay);
    this.#lastFault = { at: wallClock(), message };
    log.error("backup failed; older backups are kept", {
      directory: settings().directory,
      reason: message,
      retry_in_minutes: delay / MINUTE,
    });
    return err(fault);
  }
}

/** A bug in a job must not end the server. */
async function withoutExceptions<T>(job: () => Outcome<T>): Outcome<T> {
  try {
    return await job();
  } catch (error) {
    log.error("a backup job failed", { error });
    return err({ code: "maintenance_failed", reason: messageOfError(error) });
  }
}
