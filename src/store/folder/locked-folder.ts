import { join } from "node:path";
import { messageOfError } from "../../platform/error-message.ts";
import type { Disk, FileIdentity, OpenFile } from "../../platform/files/disk.ts";
import { prepareFile } from "../../platform/files/files.ts";
import {
  FOLDER_LOCK_FILE,
  listGenerations,
  segmentName,
  STATE_FILE,
  type NumberedFile,
} from "./files.ts";
import { FolderChanged } from "./folder-changed.ts";
import { StorageError } from "../journal/storage-fault.ts";
import type { FolderLock } from "./lock.ts";
import { createSegment } from "../journal/rotation.ts";

const ONLY_BERTH = "only berth may remove or replace files in a data folder";

/** How much of the journal is durable: needed to report what a removed segment costs. */
export interface JournalProgress {
  /** Durable bytes of the open segment. */
  readonly durableBytes: number;
  /** The last line that `state.json` covers. */
  readonly covers: number;
  /** Whether segments between that line and the open one are not covered by any state yet. */
  readonly hasUncheckpointedSegments: boolean;
}

/**
 * The folder as a store holds it open: the folder itself, its lock file and the journal's open
 * segment. Each is opened by name again and again, and the name may have been given to something
 * else. Data written to a removed file is lost, and data written into another folder damages that
 * one.
 */
export class LockedFolder {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #lock: FolderLock;
  #segment: (NumberedFile & { readonly file: OpenFile }) | null = null;
  readonly #notes: string[] = [];
  #isStateMissing = false;
  /** Why the store stopped using the folder. */
  #change: FolderChanged | null = null;

  constructor(disk: Disk, folder: string, lock: FolderLock) {
    this.#disk = disk;
    this.#folder = folder;
    this.#lock = lock;
  }

  /** What was repaired. */
  get notes(): readonly string[] {
    return this.#notes;
  }

  get change(): FolderChanged | null {
    return this.#change;
  }

  /** Whether `state.json` was removed, and nothing can take its place. */
  get isStateMissing(): boolean {
    return this.#isStateMissing;
  }

  get segmentPath(): string {
    return this.#segment?.path ?? "";
  }

  get segmentNumber(): number {
    return this.#segment?.number ?? 0;
  }

  /** Opens the segment that new lines are appended to. */
  openSegment({ number, path }: NumberedFile): OpenFile {
    const file = this.#disk.open(path);
    this.#segment = { number, path, file };
    return file;
  }

  /**
   * Creates a new segment whose name is durable; never in a folder that is not this store's. Null:
   * it is already the open segment, and empty.
   */
  async startSegment(firstSeq: number): Promise<OpenFile | null> {
    this.check();
    if (firstSeq === this.segmentNumber) return null;
    const path = join(this.#folder, segmentName(firstSeq));
    const file = await createSegment(this.#disk, path);
    this.#segment = { number: firstSeq, path, file };
    return file;
  }

  /** Throws if the folder, the lock file or the segment was removed or replaced. */
  check(): void {
    const failure = this.findChange();
    if (failure !== null) throw failure;
  }

  /**
   * The change of the folder, the lock file or the segment; null: none, or the disk does not report
   * it.
   */
  findChange(): StorageError | null {
    const folderChange =
      ignoreErrors(() => this.#findFolderChange()) ??
      ignoreErrors(() => this.#findLockChange()) ??
      ignoreErrors(() => this.#findSegmentChange());
    return folderChange && new StorageError({ code: "storage_failed" }, folderChange);
  }

  /**
   * Returns the error to end with. A segment that was removed or replaced is written again first,
   * if possible.
   */
  async handleFailure(error: StorageError, progress: JournalProgress): Promise<Error> {
    if (!(error.cause instanceof FolderChanged)) return error;
    const isSegment = error.cause.path === this.segmentPath;
    this.#change = isSegment ? await this.#rewriteSegment(error.cause, progress) : error.cause;
    return this.#change;
  }

  /**
   * If `state.json` was removed, the newest older state takes its place: the journal since then is
   * kept with it. Returns the last line that it covers; null: nothing was done. Nothing of the
   * running server depends on the file, so an error of the disk is left to the next attempt.
   */
  async restoreState(): Promise<number | null> {
    const path = join(this.#folder, STATE_FILE);
    try {
      this.#isStateMissing = this.#disk.stat(path) === null;
      if (!this.#isStateMissing) return null;
      const newest = listGenerations(this.#disk, this.#folder).at(-1);
      if (newest === undefined) return null;
      this.#disk.link(newest.path, path);
      await this.#disk.syncFolder(this.#folder);
      this.#isStateMissing = false;
      this.#addNote(`${path} was removed, and was made again from ${newest.path} and the journal`);
      return newest.number;
    } catch {
      return null;
    }
  }

  release(): void {
    this.#lock.release();
  }

  #addNote(note: string): void {
    if (!this.#notes.includes(note)) this.#notes.push(note);
  }

  #findFolderChange(): FolderChanged | null {
    const change = this.#compareIdentity(this.#folder, this.#lock.folderIdentity);
    if (change === null) return null;
    if (this.#lock.isFolderRemoved) {
      return new FolderChanged(
        this.#folder,
        `${this.#folder} was removed while the server was running`,
        `restore a backup with berth restore FILE; ${ONLY_BERTH}`,
      );
    }
    const description = change === "removed" ? "removed or renamed" : "replaced by another folder";
    return new FolderChanged(
      this.#folder,
      `${this.#folder} was ${description} while the server was running`,
      "all acknowledged changes are in the original folder: put it back, then start the server again; nothing was written anywhere else",
    );
  }

  /**
   * The folder itself is locked, so a lock file can be created again, unless another process locked
   * it.
   */
  #findLockChange(): FolderChanged | null {
    const path = join(this.#folder, FOLDER_LOCK_FILE);
    if (this.#compareIdentity(path, this.#lock.fileIdentity) === null) return null;
    const otherProcess = this.#lock.reacquireFile();
    if (otherProcess !== null) {
      return new FolderChanged(
        path,
        `${path} was removed or replaced, and ${otherProcess} now uses the folder too`,
        `stop that process, then run berth verify; ${ONLY_BERTH}`,
      );
    }
    this.#addNote(`${path} was removed or replaced, and was created again`);
    return null;
  }

  #findSegmentChange(): FolderChanged | null {
    if (this.#segment === null) return null;
    const { path, file } = this.#segment;
    const change = this.#compareIdentity(path, file.identity());
    return (
      change &&
      new FolderChanged(path, `${path} was ${change} while the server was running`, ONLY_BERTH)
    );
  }

  #compareIdentity(path: string, expected: FileIdentity): "removed" | "replaced" | null {
    if (expected === null) return null;
    const stat = this.#disk.stat(path);
    if (stat === null) return "removed";
    return stat.identity === expected ? null : "replaced";
  }

  /**
   * The folder is still this store's, so no other process writes to it. The contents of the open
   * file are written under its name again, and a file that replaced it is kept under another name.
   */
  async #rewriteSegment(
    { path, message }: FolderChanged,
    { durableBytes, covers, hasUncheckpointedSegments }: JournalProgress,
  ): Promise<FolderChanged> {
    try {
      const bytes = this.#segment?.file.readBack(durableBytes);
      if (bytes?.length !== durableBytes) throw new Error("its content can no longer be read");
      const prepared = await prepareFile(this.#disk, path, bytes);
      const keptPath = this.#disk.stat(path) === null ? null : `${path}.replaced`;
      if (keptPath !== null) this.#disk.rename(path, keptPath);
      await prepared.commit();
      const keptNote = keptPath === null ? "" : `, and the replacement is kept as ${keptPath}`;
      const advice = hasUncheckpointedSegments
        ? "check the rest of the journal with berth verify"
        : "no acknowledged change is lost";
      return new FolderChanged(
        path,
        `${message}; it was written again${keptNote}`,
        `start the server again: ${advice}; ${ONLY_BERTH}`,
      );
    } catch (error) {
      // A partly written file takes disk space.
      ignoreErrors(() => this.#disk.remove(`${path}.new`));
      const reason = messageOfError(error);
      return new FolderChanged(
        path,
        `${message} and cannot be written again (${reason}): changes acknowledged after line ${covers} are lost`,
        `restore a backup with berth restore FILE; ${ONLY_BERTH}`,
      );
    }
  }
}

function ignoreErrors<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}
