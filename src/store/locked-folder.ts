import { join } from "node:path";
import type { Disk, FileIdentity, OpenFile } from "../platform/disk.ts";
import { prepareFile } from "../platform/files.ts";
import { FOLDER_LOCK_FILE, segmentName, type NumberedFile } from "./files.ts";
import { FolderChanged } from "./folder-changed.ts";
import { StorageError } from "./group-commit.ts";
import type { FolderLock } from "./lock.ts";
import { createSegment } from "./rotation.ts";

const ONLY_BERTH = "only berth may remove or replace files in a data folder";

/** How far a journal is safe: what can be said of a segment that was removed. */
export interface JournalProgress {
  /** Of the open segment. */
  readonly durableBytes: number;
  /** The last line that is in `state.json`. */
  readonly covers: number;
  /** Whether segments between that line and the open one are in no state yet. */
  readonly unfolded: boolean;
}

/**
 * The folder as a store holds it open: the folder itself, its lock file and the journal's open
 * segment. Each is found by its name time and again, and somebody may have given that name to
 * something else: what is written to a removed file is lost with it, and what is written into
 * another folder damages that one.
 */
export class LockedFolder {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #lock: FolderLock;
  #segment: (NumberedFile & { readonly file: OpenFile }) | null = null;
  #notes: readonly string[] = [];
  /** Why the folder was given up. */
  #change: FolderChanged | null = null;

  constructor(disk: Disk, folder: string, lock: FolderLock) {
    this.#disk = disk;
    this.#folder = folder;
    this.#lock = lock;
  }

  /** What was put right. */
  get notes(): readonly string[] {
    return this.#notes;
  }

  get change(): FolderChanged | null {
    return this.#change;
  }

  get segmentPath(): string {
    return this.#segment?.path ?? "";
  }

  get segmentNumber(): number {
    return this.#segment?.number ?? 0;
  }

  /** From now on new lines go there. */
  openSegment({ number, path }: NumberedFile): OpenFile {
    const file = this.#disk.open(path);
    this.#segment = { number, path, file };
    return file;
  }

  /**
   * A new segment, with its name on disk; never in a folder that is not this store's. Null: it is
   * the open one, to which nothing was written yet.
   */
  async startSegment(firstSeq: number): Promise<OpenFile | null> {
    this.check();
    if (firstSeq === this.segmentNumber) return null;
    const path = join(this.#folder, segmentName(firstSeq));
    const file = await createSegment(this.#disk, path);
    this.#segment = { number: firstSeq, path, file };
    return file;
  }

  /** Throws when something is not this store's any more. */
  check(): void {
    const failure = this.findChange();
    if (failure !== null) throw failure;
  }

  /** What is not this store's any more; null: nothing, or the disk does not say. */
  findChange(): StorageError | null {
    const changed =
      ignoreErrors(() => this.#findFolderChange()) ??
      ignoreErrors(() => this.#findLockChange()) ??
      ignoreErrors(() => this.#findSegmentChange());
    return changed && new StorageError({ code: "storage_failed" }, changed);
  }

  /** The error to end with. A segment that has lost its name gets it back first, if it can. */
  async handleFailure(error: StorageError, progress: JournalProgress): Promise<Error> {
    if (!(error.cause instanceof FolderChanged)) return error;
    const isSegment = error.cause.path === this.segmentPath;
    this.#change = isSegment ? await this.#rewriteSegment(error.cause, progress) : error.cause;
    return this.#change;
  }

  release(): void {
    this.#lock.release();
  }

  #findFolderChange(): FolderChanged | null {
    const how = this.#compareIdentity(this.#folder, this.#lock.folderIdentity);
    if (how === null) return null;
    const what = how === "removed" ? "removed or renamed" : "replaced by another folder";
    return new FolderChanged(
      this.#folder,
      `${this.#folder} was ${what} while the server was running`,
      "all acknowledged changes are in the original folder: put it back, then start the server again; nothing was written anywhere else",
    );
  }

  /** The folder itself is locked, so that a lock file can be made again, unless it was taken. */
  #findLockChange(): FolderChanged | null {
    const path = join(this.#folder, FOLDER_LOCK_FILE);
    if (this.#compareIdentity(path, this.#lock.fileIdentity) === null) return null;
    const other = this.#lock.reacquireFile();
    if (other !== null) {
      return new FolderChanged(
        path,
        `${path} was removed or replaced, and ${other} now uses the folder too`,
        `stop that process, then run berth verify; ${ONLY_BERTH}`,
      );
    }
    this.#notes = [`${path} was removed or replaced, and was created again`];
    return null;
  }

  #findSegmentChange(): FolderChanged | null {
    if (this.#segment === null) return null;
    const { path, file } = this.#segment;
    const how = this.#compareIdentity(path, file.identity());
    return (
      how && new FolderChanged(path, `${path} was ${how} while the server was running`, ONLY_BERTH)
    );
  }

  #compareIdentity(path: string, held: FileIdentity): "removed" | "replaced" | null {
    if (held === null) return null;
    const found = this.#disk.stat(path);
    if (found === null) return "removed";
    return found.identity === held ? null : "replaced";
  }

  /**
   * The folder is still this store's, so nobody else writes there: what the open file holds is
   * written under its name again, and whatever took that name is kept under another.
   */
  async #rewriteSegment(
    { path, message }: FolderChanged,
    { durableBytes, covers, unfolded }: JournalProgress,
  ): Promise<FolderChanged> {
    try {
      const bytes = this.#segment?.file.readBack(durableBytes);
      if (bytes?.length !== durableBytes) throw new Error("its content can no longer be read");
      const prepared = await prepareFile(this.#disk, path, bytes);
      const kept = this.#disk.stat(path) === null ? null : `${path}.replaced`;
      if (kept !== null) this.#disk.rename(path, kept);
      await prepared.commit();
      const beside = kept === null ? "" : `, and the replacement is kept as ${kept}`;
      const rest = unfolded
        ? "check the rest of the journal with berth verify"
        : "no acknowledged change is lost";
      return new FolderChanged(
        path,
        `${message}; it was written again${beside}`,
        `start the server again: ${rest}; ${ONLY_BERTH}`,
      );
    } catch (error) {
      // What did not fit takes room that somebody may need.
      ignoreErrors(() => this.#disk.remove(`${path}.new`));
      const why = error instanceof Error ? error.message : String(error);
      return new FolderChanged(
        path,
        `${message} and cannot be written again (${why}): changes acknowledged after line ${covers} are lost`,
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
