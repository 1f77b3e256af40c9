import { log } from "../../platform/log.ts";
import type { SharedRevisionsFile } from "../../store/secrets/shared-revisions-file.ts";

const REVISION_BYTES = 8;

/** The content of a shared file with its revision, which is encrypted with it. */
export function addRevision(content: Uint8Array, revision: number): Uint8Array {
  const prefix = Buffer.alloc(REVISION_BYTES);
  prefix.writeBigUInt64BE(BigInt(revision));
  return Buffer.concat([prefix, content]);
}

/** Null: it is too short. */
export function splitRevision(
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
export class FileRevisions {
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
