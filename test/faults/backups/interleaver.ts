// Interleaves a command and a checkpoint at chosen steps of their work: one process is stopped
// there with SIGSTOP until the other has passed. No source of the product has to know of it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../../../src/platform/files/system-error.ts";
import { PATIENCE } from "../../support/patience.ts";
import { BackupViolation } from "./request-cut.ts";
import { FolderWatcher } from "./folder-watcher.ts";
import { atEnd } from "../../support/suite-harness.ts";

export interface InterleavingPlan {
  readonly command: "backup" | "verify";
  /** The step at which a checkpoint waits for the command; null: it does not wait. */
  readonly pauseCheckpointAt: "started" | "audit log written" | null;
  /** The step at which the command waits for checkpoints to end; null: it does not wait. */
  readonly pauseCommandAt: "state read" | "state copied" | null;
  /** How many checkpoints the command waits for. */
  readonly checkpointsToPass: number;
  readonly commandCount: number;
}

type Child = Pick<Bun.Subprocess, "pid" | "exitCode" | "exited">;

export class Interleaver {
  readonly #folder: string;
  readonly #onCheckpointStep: () => void;
  readonly #folderEvents: FolderWatcher;
  readonly #auditLogEvents: FolderWatcher;
  readonly #stoppedPids = new Set<number>();
  /** How often each event was seen since the beginning. */
  readonly #counts = { rotations: 0, stateOpens: 0, stateReplacements: 0, auditLogWrites: 0 };

  /** `onCheckpointStep` is called after a checkpoint has started or ended. */
  constructor(folder: string, onCheckpointStep: () => void) {
    this.#folder = folder;
    this.#onCheckpointStep = onCheckpointStep;
    this.#folderEvents = new FolderWatcher(folder, ["opened", "renamed", "created"]);
    this.#auditLogEvents = new FolderWatcher(join(folder, "history"), ["changed"]);
    atEnd(() => {
      for (const pid of this.#stoppedPids) sendSignal(pid, "SIGKILL");
    });
  }

  /** The number of checkpoints that were completed so far. */
  get completedCheckpoints(): number {
    this.#countEvents();
    return this.#counts.stateReplacements;
  }

  /** Starts the commands when a checkpoint starts; returns when they have exited. */
  async runPlan(
    { pauseCheckpointAt, pauseCommandAt, checkpointsToPass }: InterleavingPlan,
    start: () => readonly Child[],
  ): Promise<void> {
    const checkpointPid = await this.#awaitCheckpoint(pauseCheckpointAt);
    const { stateOpens } = this.#counts;
    const children = start();
    const hasAnyExited = (): boolean => children.some(({ exitCode }) => exitCode !== null);
    if (pauseCommandAt !== null) {
      // While the checkpoint is stopped, only the command opens state.json.
      const opens = pauseCommandAt === "state read" ? 1 : 2;
      await this.#waitUntil(
        `the command to reach "${pauseCommandAt}"`,
        () => this.#counts.stateOpens >= stateOpens + opens || hasAnyExited(),
      );
      for (const { pid } of children) this.#stop(pid);
      const { stateReplacements } = this.#counts;
      if (checkpointPid !== null) this.#continue(checkpointPid);
      await this.#waitUntil(
        `${checkpointsToPass} checkpoints to end`,
        () =>
          this.#counts.stateReplacements >= stateReplacements + checkpointsToPass || hasAnyExited(),
        Bun.sleep,
      );
      for (const { pid } of children) this.#continue(pid);
    }
    await Promise.all(children.map(({ exited }) => exited));
    if (checkpointPid !== null) this.#continue(checkpointPid);
  }

  /** Waits for a checkpoint and stops it at a step; returns its pid, or null if `at` is null. */
  async #awaitCheckpoint(at: InterleavingPlan["pauseCheckpointAt"]): Promise<number | null> {
    for (;;) {
      this.#countEvents();
      const { rotations } = this.#counts;
      const hasRotated = (): boolean => this.#counts.rotations > rotations;
      await this.#waitUntil("a journal rotation", hasRotated, Bun.sleep);
      if (at === null) return null;
      const { stateReplacements, auditLogWrites } = this.#counts;
      let pid: number | null = null;
      await this.#waitUntil("a checkpoint", () => {
        if (at === "audit log written" && this.#counts.auditLogWrites === auditLogWrites) {
          return false;
        }
        pid = this.#readLockHolder();
        return pid !== null || this.#counts.stateReplacements > stateReplacements;
      });
      if (pid === null) continue;
      this.#stop(pid);
      this.#countEvents();
      // It may have completed before it was stopped; then the next checkpoint is awaited.
      if (this.#counts.stateReplacements === stateReplacements) return pid;
      this.#continue(pid);
    }
  }

  /** The process that makes a checkpoint writes its pid into the lock file. */
  #readLockHolder(): number | null {
    const text = readFileSync(join(this.#folder, "checkpoint.lock"), "utf8");
    return /^\d+$/.test(text) ? Number(text) : null;
  }

  #stop(pid: number): void {
    this.#stoppedPids.add(pid);
    sendSignal(pid, "SIGSTOP");
  }

  #continue(pid: number): void {
    sendSignal(pid, "SIGCONT");
    this.#stoppedPids.delete(pid);
  }

  #countEvents(): void {
    const { rotations, stateReplacements } = this.#counts;
    for (const { kind, name } of this.#folderEvents.takeEvents()) {
      if (kind === "created" && name.startsWith("journal-")) this.#counts.rotations += 1;
      if (kind === "opened" && name === "state.json") this.#counts.stateOpens += 1;
      if (kind === "renamed" && name === "state.json") this.#counts.stateReplacements += 1;
    }
    this.#counts.auditLogWrites += this.#auditLogEvents.takeEvents().length;
    const hasStep =
      this.#counts.rotations > rotations || this.#counts.stateReplacements > stateReplacements;
    if (hasStep) this.#onCheckpointStep();
  }

  /** `pause`: a step after which a process is stopped must be seen at once; others need not. */
  async #waitUntil(
    event: string,
    hasHappened: () => boolean,
    pause: (milliseconds: number) => Promise<void> = () => new Promise(setImmediate),
  ): Promise<void> {
    const deadline = performance.now() + PATIENCE;
    for (this.#countEvents(); !hasHappened(); this.#countEvents()) {
      if (performance.now() > deadline)
        throw new BackupViolation("served", `timed out while waiting for ${event}`);
      await pause(2);
    }
  }
}

function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error;
  }
}
