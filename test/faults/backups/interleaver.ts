// Makes a command and a checkpoint meet at a chosen place of the work of both: one is stopped there
// (SIGSTOP) until the other has passed, and nobody's sources know of it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../../../src/platform/disk.ts";
import { PATIENCE } from "../../support/patience.ts";
import { BackupViolation } from "./request-cut.ts";
import { FolderWatcher } from "./folder-watcher.ts";
import { atEnd } from "../../support/suite-harness.ts";

export interface InterleavingPlan {
  readonly command: "backup" | "verify";
  /** Where a checkpoint waits for the command; null: it does not. */
  readonly pauseCheckpointAt: "begun" | "recording" | null;
  /** Where the command waits for checkpoints to end; null: it does not. */
  readonly pauseCommandAt: "state read" | "state copied" | null;
  /** How many. */
  readonly checkpointsToPass: number;
  readonly commandCount: number;
}

type Child = Pick<Bun.Subprocess, "pid" | "exitCode" | "exited">;

export class Interleaver {
  readonly #folder: string;
  readonly #events: FolderWatcher;
  readonly #record: FolderWatcher;
  readonly #stopped = new Set<number>();
  /** How often since the beginning. */
  readonly #seen = { rotated: 0, opened: 0, replaced: 0, recorded: 0 };

  constructor(folder: string) {
    this.#folder = folder;
    this.#events = new FolderWatcher(folder, ["opened", "arrived", "made"]);
    this.#record = new FolderWatcher(join(folder, "history"), ["changed"]);
    atEnd(() => {
      for (const pid of this.#stopped) signal(pid, "SIGKILL");
    });
  }

  /** Checkpoints that ended so far. */
  get completedCheckpoints(): number {
    this.#look();
    return this.#seen.replaced;
  }

  /** Starts commands when a checkpoint begins, and ends when they do. */
  async runPlan(
    { pauseCheckpointAt, pauseCommandAt, checkpointsToPass }: InterleavingPlan,
    start: () => readonly Child[],
  ): Promise<void> {
    const checkpoint = await this.#checkpoint(pauseCheckpointAt);
    const { opened } = this.#seen;
    const children = start();
    const ended = (): boolean => children.some(({ exitCode }) => exitCode !== null);
    if (pauseCommandAt !== null) {
      // The only one to open it: the checkpoint is stopped.
      const times = pauseCommandAt === "state read" ? 1 : 2;
      await this.#until("the command", () => this.#seen.opened >= opened + times || ended());
      for (const { pid } of children) this.#stop(pid);
      const { replaced } = this.#seen;
      if (checkpoint !== null) this.#goOn(checkpoint);
      await this.#until(
        "checkpoints",
        () => this.#seen.replaced >= replaced + checkpointsToPass || ended(),
      );
      for (const { pid } of children) this.#goOn(pid);
    }
    await Promise.all(children.map(({ exited }) => exited));
    if (checkpoint !== null) this.#goOn(checkpoint);
  }

  /** The pid of a checkpoint that is stopped there; null: it was not to be stopped. */
  async #checkpoint(at: InterleavingPlan["pauseCheckpointAt"]): Promise<number | null> {
    for (;;) {
      this.#look();
      const { rotated } = this.#seen;
      await this.#until("a rotation", () => this.#seen.rotated > rotated);
      if (at === null) return null;
      const { replaced, recorded } = this.#seen;
      let pid: number | null = null;
      await this.#until("a checkpoint", () => {
        if (at === "recording" && this.#seen.recorded === recorded) return false;
        pid = this.#holder();
        return pid !== null || this.#seen.replaced > replaced;
      });
      if (pid === null) continue;
      this.#stop(pid);
      this.#look();
      // It may have been done already; then the next one.
      if (this.#seen.replaced === replaced) return pid;
      this.#goOn(pid);
    }
  }

  /** Who makes a checkpoint notes its pid in the lock it holds. */
  #holder(): number | null {
    const text = readFileSync(join(this.#folder, "checkpoint.lock"), "utf8");
    return /^\d+$/.test(text) ? Number(text) : null;
  }

  #stop(pid: number): void {
    this.#stopped.add(pid);
    signal(pid, "SIGSTOP");
  }

  #goOn(pid: number): void {
    signal(pid, "SIGCONT");
    this.#stopped.delete(pid);
  }

  #look(): void {
    for (const { kind, name } of this.#events.takeEvents()) {
      if (kind === "made" && name.startsWith("journal-")) this.#seen.rotated += 1;
      if (kind === "opened" && name === "state.json") this.#seen.opened += 1;
      if (kind === "arrived" && name === "state.json") this.#seen.replaced += 1;
    }
    this.#seen.recorded += this.#record.takeEvents().length;
  }

  async #until(what: string, is: () => boolean): Promise<void> {
    const end = performance.now() + PATIENCE;
    for (this.#look(); !is(); this.#look()) {
      if (performance.now() > end)
        throw new BackupViolation("served", `waited for ${what} in vain`);
      await new Promise(setImmediate);
    }
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error;
  }
}
