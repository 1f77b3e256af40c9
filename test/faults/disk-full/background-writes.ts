// Fills the disk while no client waits for an answer: while a checkpoint writes the state or the
// audit log, at a start, in a rotation, at a stop, and while credentials are changed.
import { errorCode } from "../../../src/platform/files/system-error.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import { SealedFile } from "../../../src/store/secrets/sealed-file.ts";
import { transactCommand } from "../../support/licensed-store.ts";
import { consume } from "../../support/scenario.ts";
import { startFromTree, startOnDisk } from "../damage/judge.ts";
import { CREDENTIALS, type PendingCheckpoint } from "../damage/site-history.ts";
import { openStore, readStateText } from "./journal-writes.ts";
import {
  fileBytes,
  changedFiles,
  MEMORY_FOLDER,
  replaceInode,
  MemoryDisk,
  type FileTree,
} from "../shared/memory-disk.ts";

/** Null if the work succeeded, `ENOSPC` if the disk was full; any other error is rethrown. */
async function catchDiskFull(work: () => Promise<unknown>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (errorCode(error) === "ENOSPC") return "ENOSPC";
    throw error;
  }
}

/**
 * A checkpoint with this much free space, although the disk claims to have enough. It must succeed
 * or leave nothing behind, and the next checkpoint must write what is missing.
 */
export async function tryCheckpoint(
  { tree, openSegment }: PendingCheckpoint,
  clean: FileTree,
  state: string,
  freeBytes: number,
): Promise<string | null> {
  const disk = new MemoryDisk(tree);
  const before = disk.usedBytes;
  disk.capacity = before + freeBytes;
  disk.claimedFreeBytes = Infinity;
  const failure = await catchDiskFull(() => checkpoint(disk, MEMORY_FOLDER, openSegment));
  const restarted = await startFromTree(disk.toTree());
  if (restarted.state !== state) return `a restart finds ${restarted.refusal ?? "another state"}`;
  if (failure !== null && changedFiles(tree, disk.toTree()).includes("state.json")) {
    return "the checkpoint failed, but replaced the state";
  }
  const leftBytes = disk.usedBytes - before;
  if (failure !== null && leftBytes > LOCK_NOTE_BYTES) {
    return `the checkpoint failed and left ${leftBytes} bytes behind`;
  }
  disk.capacity = Infinity;
  await checkpoint(disk, MEMORY_FOLDER, openSegment);
  const differences = changedFiles(clean, disk.toTree());
  return differences.length === 0
    ? null
    : `with free space again the checkpoint wrote another ${differences.join(", ")}`;
}

/** The pid that a checkpoint leaves in its lock file. */
const LOCK_NOTE_BYTES = 10;

/** A checkpoint that does not fit, on a disk that says so: it must not start. */
export async function tryRefusedCheckpoint(
  { tree, openSegment }: PendingCheckpoint,
  freeBytes: number,
): Promise<string | null> {
  const disk = new MemoryDisk(tree);
  disk.capacity = disk.usedBytes + freeBytes;
  const failure = await catchDiskFull(() => checkpoint(disk, MEMORY_FOLDER, openSegment));
  if (failure === null) return "the checkpoint succeeded without enough free space";
  if (disk.writtenBytes > 0) return `the checkpoint started and wrote ${disk.writtenBytes} bytes`;
  const changed = changedFiles(tree, disk.toTree());
  return changed.length === 0
    ? null
    : `the checkpoint should not start, but changed ${changed.join()}`;
}

/** A start with a torn tail: it must not be cut before its copy is durable. */
export async function tryStartWithTornTail(
  tree: FileTree,
  state: string,
  freeBytes: number,
): Promise<string | null> {
  const disk = new MemoryDisk(tree);
  disk.capacity = disk.usedBytes + freeBytes;
  const failure = await catchDiskFull(() => startOnDisk(disk));
  const changed = changedFiles(tree, disk.toTree()).filter((name) => !name.endsWith(".torn"));
  if (failure !== null && changed.length > 0)
    return `the start failed, but changed ${changed.join()}`;
  disk.capacity = Infinity;
  const restarted = await startOnDisk(disk);
  const noteCount = failure === null ? 0 : 1;
  if (restarted.state === state && restarted.notes.length === noteCount) return null;
  const notes = restarted.notes.join("; ");
  return `with free space again a start finds ${restarted.refusal?.message ?? `another state, or notes ${notes}`}`;
}

/** An interrupted first start is repeated when there is free space, as the same appliance. */
export async function tryFirstStart(freeBytes: number): Promise<string | null> {
  const disk = new MemoryDisk(new Map());
  disk.capacity = freeBytes;
  await catchDiskFull(() => startOnDisk(disk));
  const key = disk.toTree().get("identity.jwk")?.bytes;
  disk.capacity = Infinity;
  const { seq, refusal } = await startOnDisk(disk);
  if (seq !== 1) return `with free space again the first start is not repeated: ${refusal ?? seq}`;
  const isReplaced = key !== undefined && fileBytes(disk.toTree(), "identity.jwk") !== key;
  return isReplaced && Buffer.compare(key, fileBytes(disk.toTree(), "identity.jwk")) !== 0
    ? "the folder became another appliance"
    : null;
}

/** Changing credentials replaces both of them, or neither. */
export async function tryCredentialsChange(
  tree: FileTree,
  freeBytes: number,
): Promise<string | null> {
  const disk = new MemoryDisk(tree);
  disk.capacity = disk.usedBytes + freeBytes;
  const newCredentials = { apiKey: "another api key", sharedKey: "another shared key" };
  const failure = await catchDiskFull(() =>
    new SealedFile(disk, MEMORY_FOLDER).change(newCredentials),
  );
  disk.capacity = Infinity;
  const { apiKey, sharedKey } = await new SealedFile(disk, MEMORY_FOLDER).read();
  const expected = failure === null ? newCredentials : CREDENTIALS;
  const isExpected = apiKey === expected.apiKey && sharedKey === expected.sharedKey;
  return isExpected
    ? null
    : `the change ${failure === null ? "succeeded" : `failed with ${failure}`}, but the credentials are ${apiKey}, ${sharedKey}`;
}

/** If a new segment cannot be created, the store continues with the current one. */
export async function tryRotationWithoutNewFiles(tree: FileTree): Promise<string | null> {
  const { store, disk, fatalErrors } = await openStore(tree);
  disk.canCreateFiles = false;
  await store.checkpoint();
  const errorWhileFull = store.status().checkpointError;
  const result = await transactCommand(store, consume(1));
  const state = await readStateText(store);
  const restarted = await startFromTree(disk.toTree());
  disk.canCreateFiles = true;
  await store.checkpoint();
  const errorAfter = store.status().checkpointError;
  await store.close();
  if (errorWhileFull?.includes("ENOSPC") !== true) {
    return `the checkpoint error is ${errorWhileFull}, not ENOSPC`;
  }
  if (!result.ok || fatalErrors.length > 0) {
    return `a change after the failed rotation got ${JSON.stringify(result)}`;
  }
  if (restarted.state !== state) return "a restart finds another state";
  return errorAfter === null ? null : `with free space again the checkpoint error is ${errorAfter}`;
}

/** A stop with this much free space: if its checkpoint fails, the next start reads the journal. */
export async function tryStop(tree: FileTree, freeBytes: number): Promise<string | null> {
  const { store, disk } = await openStore(tree);
  const result = await transactCommand(store, consume(1));
  const state = await readStateText(store);
  disk.capacity = disk.usedBytes + freeBytes;
  disk.claimedFreeBytes = Infinity;
  await store.close();
  const restarted = await startFromTree(disk.toTree());
  if (result.ok && restarted.state === state) return null;
  return `a restart finds ${restarted.refusal ?? "another state"}`;
}

/** Cuts the last 100 bytes of a segment, so that its last line is torn. */
export function tearSegment(tree: FileTree, segment: string): FileTree {
  const bytes = fileBytes(tree, segment);
  return replaceInode(tree, segment, bytes.slice(0, bytes.length - 100));
}
