// A disk that runs out of room where no client waits: while a state or the record is written, at a
// start, in a rotation, at a stop, and while credentials are changed.
import { errorCode } from "../../../src/platform/disk.ts";
import { checkpoint } from "../../../src/store/checkpoint.ts";
import { SealedFile } from "../../../src/store/sealed-file.ts";
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

/** Null when it was done, a text when it failed for want of room; anything else is thrown on. */
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
 * A fold that finds this much room, and less than it was told: all of it or nothing, without a byte
 * left behind, and the next one makes up for it.
 */
export async function tryCheckpoint(
  { tree, openSegment }: PendingCheckpoint,
  clean: FileTree,
  state: string,
  room: number,
): Promise<string | null> {
  const disk = new MemoryDisk(tree);
  const before = disk.usedBytes;
  disk.capacity = before + room;
  disk.claimedFreeBytes = Infinity;
  const failed = await catchDiskFull(() => checkpoint(disk, MEMORY_FOLDER, openSegment));
  const between = await startFromTree(disk.toTree());
  if (between.state !== state) return `a restart finds ${between.refusal ?? "another state"}`;
  if (failed !== null && changedFiles(tree, disk.toTree()).includes("state.json")) {
    return "it failed, and the state was replaced";
  }
  const left = disk.usedBytes - before;
  if (failed !== null && left > LOCK_NOTE) return `it failed, and left ${left} bytes behind`;
  disk.capacity = Infinity;
  await checkpoint(disk, MEMORY_FOLDER, openSegment);
  const wrong = changedFiles(clean, disk.toTree());
  return wrong.length === 0 ? null : `with room again it made another ${wrong.join(", ")}`;
}

/** A pid, in the lock that it held. */
const LOCK_NOTE = 10;

/** A fold that would not fit and is told so: it is not begun. */
export async function tryRefusedCheckpoint(
  { tree, openSegment }: PendingCheckpoint,
  room: number,
): Promise<string | null> {
  const disk = new MemoryDisk(tree);
  disk.capacity = disk.usedBytes + room;
  const failed = await catchDiskFull(() => checkpoint(disk, MEMORY_FOLDER, openSegment));
  if (failed === null) return "it was made without room for it";
  if (disk.writtenBytes > 0) return `it was begun: ${disk.writtenBytes} bytes were written`;
  const changed = changedFiles(tree, disk.toTree());
  return changed.length === 0 ? null : `it was not to be begun, and changed ${changed.join()}`;
}

/** A start that has a torn tail to put aside: nothing is cut before its copy is safe. */
export async function tryStartWithTornTail(
  tree: FileTree,
  state: string,
  room: number,
): Promise<string | null> {
  const disk = new MemoryDisk(tree);
  disk.capacity = disk.usedBytes + room;
  const failed = await catchDiskFull(() => startOnDisk(disk));
  const changed = changedFiles(tree, disk.toTree()).filter((name) => !name.endsWith(".torn"));
  if (failed !== null && changed.length > 0) return `it failed, and changed ${changed.join()}`;
  disk.capacity = Infinity;
  const again = await startOnDisk(disk);
  const told = failed === null ? 0 : 1;
  if (again.state === state && again.notes.length === told) return null;
  const notes = again.notes.join("; ");
  return `with room again it finds ${again.refusal?.message ?? `another state, or says ${notes}`}`;
}

/** A first start: begun again when there is room, as the same appliance. */
export async function tryFirstStart(room: number): Promise<string | null> {
  const disk = new MemoryDisk(new Map());
  disk.capacity = room;
  await catchDiskFull(() => startOnDisk(disk));
  const key = disk.toTree().get("identity.jwk")?.bytes;
  disk.capacity = Infinity;
  const { seq, refusal } = await startOnDisk(disk);
  if (seq !== 1) return `with room again it is not begun again: ${refusal ?? seq}`;
  const changed = key !== undefined && fileBytes(disk.toTree(), "identity.jwk") !== key;
  return changed && Buffer.compare(key, fileBytes(disk.toTree(), "identity.jwk")) !== 0
    ? "it became another appliance"
    : null;
}

/** A pair of credentials is replaced, or the old one stays. */
export async function tryCredentialsChange(tree: FileTree, room: number): Promise<string | null> {
  const disk = new MemoryDisk(tree);
  disk.capacity = disk.usedBytes + room;
  const fresh = { apiKey: "another api key", sharedKey: "another shared key" };
  const failed = await catchDiskFull(() => new SealedFile(disk, MEMORY_FOLDER).change(fresh));
  disk.capacity = Infinity;
  const { apiKey, sharedKey } = await new SealedFile(disk, MEMORY_FOLDER).read();
  const wanted = failed === null ? fresh : CREDENTIALS;
  const same = apiKey === wanted.apiKey && sharedKey === wanted.sharedKey;
  return same ? null : `${failed ?? "changed"}, and it finds ${apiKey}, ${sharedKey}`;
}

/** No room for a new segment: the one in use goes on. */
export async function tryRotationWithoutNewFiles(tree: FileTree): Promise<string | null> {
  const { store, disk, fatalErrors } = await openStore(tree);
  disk.canCreateFiles = false;
  await store.checkpoint();
  const complaint = store.health().checkpointError;
  const went = await transactCommand(store, consume(1));
  const state = await readStateText(store);
  const restarted = await startFromTree(disk.toTree());
  disk.canCreateFiles = true;
  await store.checkpoint();
  const after = store.health().checkpointError;
  await store.close();
  if (complaint?.includes("ENOSPC") !== true) return `health says ${complaint}`;
  if (!went.ok || fatalErrors.length > 0) return `changes did not go on: ${JSON.stringify(went)}`;
  if (restarted.state !== state) return "a restart finds another state";
  return after === null ? null : `with room again it says ${after}`;
}

/** A stop with this much room: what could not be folded is found by the next start. */
export async function tryStop(tree: FileTree, room: number): Promise<string | null> {
  const { store, disk } = await openStore(tree);
  const went = await transactCommand(store, consume(1));
  const state = await readStateText(store);
  disk.capacity = disk.usedBytes + room;
  disk.claimedFreeBytes = Infinity;
  await store.close();
  const restarted = await startFromTree(disk.toTree());
  if (went.ok && restarted.state === state) return null;
  return `a restart finds ${restarted.refusal ?? "another state"}`;
}

/** The newest segment with the last line of its last batch but half there, and then some. */
export function tearSegment(tree: FileTree, segment: string): FileTree {
  const bytes = fileBytes(tree, segment);
  return replaceInode(tree, segment, bytes.slice(0, bytes.length - 100));
}
