import { ok, type Result } from "../../domain/result.ts";
import type { PreparedFile } from "../../platform/files/files.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";

/** Makes a change of a file known to the other host of a pair, before it counts on this one. */
export interface FilePublisher {
  /** Why this content would not be published now; null: it would. */
  readonly findRefusal: (content: Uint8Array) => StorageFault | null;
  /**
   * Publishes the content, and then calls `commit`, which makes it durable on this host. A fault:
   * `commit` was not called. Rejects as `commit` does.
   */
  readonly publish: (
    content: Uint8Array,
    commit: () => Promise<unknown>,
  ) => Promise<Result<null, StorageFault>>;
}

/** Without a log. `findRefusal`: why the files of this folder may not be changed. */
export const createLocalPublisher = (findRefusal: () => StorageFault | null): FilePublisher => ({
  findRefusal,
  async publish(_content, commit) {
    await commit();
    return ok(null);
  },
});

/** For a host that is alone. */
export const LOCAL_PUBLISHER = createLocalPublisher(() => null);

/** New content of a file, which is beside the old one already. */
interface RecordedFile<F> {
  readonly content: Uint8Array;
  readonly prepared: PreparedFile;
  /** Writes the change to the audit log. */
  readonly record: () => Promise<Result<unknown, F>>;
}

/**
 * Writes the audit log, publishes the file and renames it. The audit log is first: it may name a
 * change that then failed, but no change is missing from it.
 */
export async function commitRecorded<F>(
  publisher: FilePublisher,
  { content, prepared, record }: RecordedFile<F>,
): Promise<Result<null, F | StorageFault>> {
  const recorded = await record();
  const result = recorded.ok ? await publisher.publish(content, () => prepared.commit()) : recorded;
  if (result.ok) return ok(null);
  prepared.discard();
  return result;
}
