import { hkdfSync } from "node:crypto";
import { err, ok, type Result } from "../../domain/result.ts";
import type { PrivateKey } from "../../license/documents/keys.ts";
import { seal, SEALING_KEY_LENGTH, unseal } from "../../platform/crypto/seal.ts";
import { messageOfError } from "../../platform/error-message.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { log } from "../../platform/log.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import { LogUnavailable, type HostLog } from "../../store/log/shared-log.ts";
import { SharedRevisionsFile } from "../../store/secrets/shared-revisions-file.ts";
import type { FilePublisher } from "./file-publisher.ts";
import type { LeadershipListener } from "./leadership-listeners.ts";

/** The access list, the keys for a cloud, and the settings that were edited on the page. */
const NAMES = ["access", "keys", "settings"] as const;
export type SharedFileName = (typeof NAMES)[number];

/** A file that both hosts of a pair have. */
export interface SharedFile {
  /** Runs the task while no change of the file is under way. */
  readonly exclusively: <T>(task: () => Promise<T>) => Promise<T>;
  /** What this host has; null: nothing. */
  readonly read: () => Promise<Uint8Array | null>;
  /** Replaces it in memory and on disk. Throws if this version cannot read it. */
  readonly replace: (content: Uint8Array) => Promise<void>;
}

export interface SharedFilesOptions {
  readonly log: Pick<HostLog, "id" | "readFileVersions" | "readFile" | "writeFile">;
  /** The key of the appliance, which both hosts have. */
  readonly key: PrivateKey;
  readonly revisions: FileRevisions;
}

/** A file is written as a whole, within the deadline of one statement. */
export const MAX_SHARED_BYTES = 4 * 1024 * 1024;

/** A host that begins to lead reads the files first, so this bounds no loss. */
const REFRESH_MS = 2_000;

/**
 * The files that are not in the journal, but that both hosts need: what an administrator changes on
 * the host that leads also counts on the other one. The log has them, encrypted with a key that
 * only the two hosts have. Only the host that leads writes them; each host copies what is newer.
 */
export class SharedFiles implements LeadershipListener {
  readonly #log: SharedFilesOptions["log"];
  readonly #key: Uint8Array;
  readonly #revisions: FileRevisions;
  readonly #files = new Map<SharedFileName, SharedFile>();
  /** The versions in the log that this host has. */
  readonly #versions = new Map<SharedFileName, number>();
  /** The outcome of the last write is unknown: a change would be based on an old content. */
  readonly #uncertain = new Set<SharedFileName>();
  /** Why this host does not use what the log has. */
  readonly #problems = new Map<SharedFileName, string>();
  readonly #damaged = new Set<SharedFileName>();
  #epoch: number | null = null;
  #timer: Timer | null = null;
  #isStopped = false;
  #refreshing: Promise<void> = Promise.resolve();

  constructor({ log: shared, key, revisions }: SharedFilesOptions) {
    this.#log = shared;
    this.#revisions = revisions;
    this.#key = deriveKey(key, shared.id);
  }

  add(owners: { readonly [N in SharedFileName]: { readonly sharedFile: SharedFile } }): void {
    for (const name of NAMES) this.#files.set(name, owners[name].sharedFile);
  }

  /** Why this host does not use a file of the log, by its name. */
  get problems(): ReadonlyMap<SharedFileName, string> {
    return this.#problems;
  }

  /** Call `publish` within `exclusively` of the file. */
  publisherOf(name: SharedFileName): FilePublisher {
    return {
      findRefusal: (content) => this.#findRefusal(name, content),
      publish: (content, commit) => this.#publish(name, content, commit),
    };
  }

  /** Copies from now on what the other host writes. */
  start(): void {
    this.#timer = setTimeout(() => {
      this.#refreshing = this.refresh()
        .catch((error: unknown) => {
          // It is tried again; the leadership reports a log that cannot be reached.
          if (error instanceof LogUnavailable) return;
          log.error("could not copy shared files", { error });
        })
        .finally(() => {
          if (!this.#isStopped) this.start();
        });
    }, REFRESH_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer ?? undefined);
    await this.#refreshing;
  }

  /**
   * For a host that begins to lead, before its first reply: uses what the host before it wrote, and
   * writes what the log does not have. Rejects if the log cannot be reached.
   */
  readonly begin = async (epoch: number): Promise<void> => {
    this.#epoch = epoch;
    const inLog = await this.#copyNewer();
    for (const [name, file] of this.#files) {
      if (inLog.has(name) && !this.#damaged.has(name)) continue;
      await file.exclusively(async () => {
        const content = await file.read();
        if (content !== null) await this.#publishFirst(name, content);
      });
    }
  };

  /** This host no longer leads. */
  readonly end = (): void => {
    this.#epoch = null;
  };

  async #publishFirst(name: SharedFileName, content: Uint8Array): Promise<void> {
    const published = await this.#publish(name, content, async () => {});
    if (published.ok) return;
    const { fault } = published;
    if (fault.code === "log_unavailable") throw new LogUnavailable(`${name} was not written`);
    if (fault.code === "shared_file_too_large") this.#note(name, "it is too large for the log");
  }

  /** Copies what the log has in a newer version than this host. */
  async refresh(): Promise<void> {
    await this.#copyNewer();
  }

  async #copyNewer(): Promise<ReadonlyMap<string, number>> {
    const inLog = await this.#log.readFileVersions();
    for (const [name, file] of this.#files) {
      const version = inLog.get(name);
      if (version === undefined) this.#uncertain.delete(name);
      else if (version !== this.#versions.get(name)) {
        await file.exclusively(() => this.#copy(name, file));
      }
    }
    return inLog;
  }

  async #copy(name: SharedFileName, file: SharedFile): Promise<void> {
    const stored = await this.#log.readFile(name);
    if (stored === null || stored.version === this.#versions.get(name)) return;
    const copy = this.#openCopy(name, stored.content);
    this.#damaged.delete(name);
    if (typeof copy === "string") {
      // A host that begins to lead writes its own content again; it never counts as empty.
      this.#damaged.add(name);
      this.#note(name, `the log's copy is ${copy}`);
    } else {
      try {
        await file.replace(copy.content);
        await this.#revisions.noteUse(name, copy.revision);
        this.#problems.delete(name);
      } catch (error) {
        this.#note(name, messageOfError(error));
        // Tried again: the disk may be full.
        if (errorCode(error) !== null) return;
      }
    }
    this.#versions.set(name, stored.version);
    this.#uncertain.delete(name);
  }

  /** Returns why this host does not use it, or its content. */
  #openCopy(name: SharedFileName, sealed: Uint8Array) {
    const opened = unseal(sealed, this.#key, this.#purposeOf(name));
    if (typeof opened === "string") return opened;
    const copy = splitRevision(opened);
    if (copy === null) return "incomplete";
    return this.#revisions.isOutdated(name, copy.revision)
      ? "older than one that this host had"
      : copy;
  }

  #findRefusal(name: SharedFileName, content: Uint8Array): StorageFault | null {
    if (this.#epoch === null) return { code: "standby" };
    if (this.#uncertain.has(name)) return { code: "log_unavailable" };
    if (content.length <= MAX_SHARED_BYTES) return null;
    return { code: "shared_file_too_large", file: name, bytes: MAX_SHARED_BYTES };
  }

  async #publish(
    name: SharedFileName,
    content: Uint8Array,
    commit: () => Promise<unknown>,
  ): Promise<Result<null, StorageFault>> {
    const epoch = this.#epoch;
    const refusal = this.#findRefusal(name, content);
    if (refusal !== null || epoch === null) return err(refusal ?? { code: "standby" });
    // Until this host has it, too: if `commit` fails, it is copied from the log.
    this.#versions.delete(name);
    let version: number | null;
    const revision = this.#revisions.next(name);
    try {
      const sealed = seal(addRevision(content, revision), this.#key, this.#purposeOf(name));
      version = await this.#log.writeFile(epoch, name, sealed);
    } catch (error) {
      if (!(error instanceof LogUnavailable)) throw error;
      this.#uncertain.add(name);
      return err({ code: "log_unavailable" });
    }
    if (version === null) return err({ code: "standby" });
    await commit();
    await this.#revisions.noteUse(name, revision);
    this.#versions.set(name, version);
    this.#damaged.delete(name);
    this.#problems.delete(name);
    return ok(null);
  }

  #note(name: SharedFileName, problem: string): void {
    if (this.#problems.get(name) === problem) return;
    this.#problems.set(name, problem);
    log.warn("a file of the pair is not used", { file: name, problem });
  }

  #purposeOf(name: SharedFileName): string {
    return `shared file ${this.#log.id} ${name}`;
  }
}

/** The files of a host whose data folder this is. */
export const createSharedFiles = (
  shared: SharedFilesOptions["log"],
  key: PrivateKey,
  disk: Disk,
  folder: string,
): SharedFiles => {
  const revisions = new FileRevisions(new SharedRevisionsFile(disk, folder, shared.id));
  return new SharedFiles({ log: shared, key, revisions });
};

/** The database gets neither the key of the appliance nor this one. */
function deriveKey({ d }: PrivateKey, logId: string): Uint8Array {
  const info = Buffer.from("berth shared files");
  const salt = Buffer.from(logId);
  return new Uint8Array(
    hkdfSync("sha256", Buffer.from(d, "base64url"), salt, info, SEALING_KEY_LENGTH),
  );
}

const REVISION_BYTES = 8;

/** The content of a shared file with its revision, which is encrypted with it. */
function addRevision(content: Uint8Array, revision: number): Uint8Array {
  const prefix = Buffer.alloc(REVISION_BYTES);
  prefix.writeBigUInt64BE(BigInt(revision));
  return Buffer.concat([prefix, content]);
}

/** Null: it is too short. */
function splitRevision(
  bytes: Uint8Array,
): { readonly revision: number; readonly content: Uint8Array } | null {
  if (bytes.length < REVISION_BYTES) return null;
  const revision = Number(Buffer.from(bytes).readBigUInt64BE());
  return { revision, content: bytes.subarray(REVISION_BYTES) };
}

/**
 * Counts the changes of each shared file. The version in the database does not: everyone who can
 * write there can put back an older row, for example with a token that was revoked since.
 */
class FileRevisions {
  readonly #file: SharedRevisionsFile;
  readonly #used: Map<string, number>;
  /** Also of writes whose outcome is not known. */
  readonly #issued = new Map<string, number>();

  constructor(file: SharedRevisionsFile) {
    this.#file = file;
    this.#used = file.read();
  }

  isOutdated(name: string, revision: number): boolean {
    return revision < (this.#used.get(name) ?? 0);
  }

  next(name: string): number {
    const last = Math.max(this.#used.get(name) ?? 0, this.#issued.get(name) ?? 0);
    this.#issued.set(name, last + 1);
    return last + 1;
  }

  /** This host uses it from now on. */
  async noteUse(name: string, revision: number): Promise<void> {
    if (this.#used.get(name) === revision) return;
    this.#used.set(name, revision);
    try {
      await this.#file.write(this.#used);
    } catch (error) {
      // The file itself is in use already; the next change writes this again.
      log.warn("could not record the revision of a shared file", { file: name, error });
    }
  }
}
