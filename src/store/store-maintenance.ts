import type { CheckpointRunner } from "./checkpoint/checkpoint-runner.ts";
import type { LockedFolder } from "./folder/locked-folder.ts";
import type { RotationSchedule } from "./journal/rotation.ts";
import type { LiveState } from "./live-state.ts";
import type { RecoverableJournal } from "./recoverable-journal.ts";
import type { StateFormat } from "./state/state-format.ts";

const TICK_INTERVAL = 1_000;

interface MaintainedParts {
  readonly live: LiveState;
  readonly lockedFolder: LockedFolder;
  readonly checkpoints: CheckpointRunner;
  readonly rotation: RotationSchedule;
  readonly journal: RecoverableJournal;
  readonly format: StateFormat;
}

/** What an open store does each second: looks at its disk, and makes checkpoints when due. */
export class StoreMaintenance {
  readonly #parts: MaintainedParts;
  #timer: Timer | null = null;

  constructor(parts: MaintainedParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#tick(), TICK_INTERVAL);
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  /** Starts a new segment and makes a checkpoint of the closed ones. */
  checkpoint(): Promise<void> {
    return this.#parts.checkpoints.runCheckpoint(() => this.#rotate());
  }

  /** Puts an older state in the place of one that was removed, and brings it up to date. */
  async restoreState(): Promise<void> {
    const { checkpoints, lockedFolder } = this.#parts;
    const coveredSeq = await lockedFolder.restoreState();
    if (coveredSeq === null) return;
    checkpoints.coveredSeq = coveredSeq;
    await this.checkpoint();
  }

  /** Returns the first line of the new open segment. */
  async #rotate(): Promise<number> {
    const { journal, format, live, lockedFolder, rotation } = this.#parts;
    // A recovery is about to close the current file, so it is waited for first: nothing may start
    // between this check and the switch.
    while (journal.recovering !== null) await journal.recovering;
    if (format.isOld) await format.migrate();
    let open = 0;
    await journal.switchSegment(async () => {
      open = journal.commit.pendingBatchSeq ?? live.lastSeq + 1;
      return lockedFolder.startSegment(open);
    });
    rotation.restart();
    return open;
  }

  async #tick(): Promise<void> {
    const { journal, format, checkpoints, lockedFolder, rotation } = this.#parts;
    journal.giveUpHangingSync();
    await journal.failIfFolderChanged();
    if (journal.fault?.code === "storage_full") return journal.probeDiskSpace();
    if (checkpoints.currentRun !== null || !journal.canCopyLines || format.isOld) return;
    await this.restoreState();
    if (rotation.isRotationDue(journal.commit.durableBytes)) await this.checkpoint();
    else if (checkpoints.isRetryDue)
      await checkpoints.runCheckpoint(async () => lockedFolder.segmentNumber);
  }
}
