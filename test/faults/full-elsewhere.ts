// A disk that runs out of room where no client waits: while a state or the record is written, at a
// start, in a rotation, at a stop, and while credentials are changed.
import { errorCode } from "../../src/platform/disk.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { SealedFile } from "../../src/store/sealed-file.ts";
import { asked } from "../support/licensed-store.ts";
import { consume } from "../support/scenario.ts";
import { start, startOn } from "./damage-judge.ts";
import { CREDENTIALS, type Foldable } from "./damage-moments.ts";
import { opened, stateOf } from "./full-writes.ts";
import { bytesOf, differences, FOLDER, inPlace, TreeDisk, type Tree } from "./tree.ts";

/** Null when it was done, a text when it failed for want of room; anything else is thrown on. */
async function roomFor(work: () => Promise<unknown>): Promise<string | null> {
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
export async function foldWith(
  { tree, open }: Foldable,
  clean: Tree,
  state: string,
  room: number,
): Promise<string | null> {
  const disk = new TreeDisk(tree);
  const before = disk.used;
  disk.capacity = before + room;
  disk.claims = Infinity;
  const failed = await roomFor(() => checkpoint(disk, FOLDER, open));
  const between = await start(disk.tree());
  if (between.state !== state) return `a restart finds ${between.refusal ?? "another state"}`;
  if (failed !== null && differences(tree, disk.tree()).includes("state.json")) {
    return "it failed, and the state was replaced";
  }
  const left = disk.used - before;
  if (failed !== null && left > LOCK_NOTE) return `it failed, and left ${left} bytes behind`;
  disk.capacity = Infinity;
  await checkpoint(disk, FOLDER, open);
  const wrong = differences(clean, disk.tree());
  return wrong.length === 0 ? null : `with room again it made another ${wrong.join(", ")}`;
}

/** A pid, in the lock that it held. */
const LOCK_NOTE = 10;

/** A fold that would not fit and is told so: it is not begun. */
export async function foldTold({ tree, open }: Foldable, room: number): Promise<string | null> {
  const disk = new TreeDisk(tree);
  disk.capacity = disk.used + room;
  const failed = await roomFor(() => checkpoint(disk, FOLDER, open));
  if (failed === null) return "it was made without room for it";
  if (disk.written > 0) return `it was begun: ${disk.written} bytes were written`;
  const changed = differences(tree, disk.tree());
  return changed.length === 0 ? null : `it was not to be begun, and changed ${changed.join()}`;
}

/** A start that has a torn tail to put aside: nothing is cut before its copy is safe. */
export async function startTorn(tree: Tree, state: string, room: number): Promise<string | null> {
  const disk = new TreeDisk(tree);
  disk.capacity = disk.used + room;
  const failed = await roomFor(() => startOn(disk));
  const changed = differences(tree, disk.tree()).filter((name) => !name.endsWith(".torn"));
  if (failed !== null && changed.length > 0) return `it failed, and changed ${changed.join()}`;
  disk.capacity = Infinity;
  const again = await startOn(disk);
  const told = failed === null ? 0 : 1;
  if (again.state === state && again.notes.length === told) return null;
  const notes = again.notes.join("; ");
  return `with room again it finds ${again.refusal?.message ?? `another state, or says ${notes}`}`;
}

/** A first start: begun again when there is room, as the same appliance. */
export async function firstStart(room: number): Promise<string | null> {
  const disk = new TreeDisk(new Map());
  disk.capacity = room;
  await roomFor(() => startOn(disk));
  const key = disk.tree().get("identity.jwk")?.bytes;
  disk.capacity = Infinity;
  const { seq, refusal } = await startOn(disk);
  if (seq !== 1) return `with room again it is not begun again: ${refusal ?? seq}`;
  const changed = key !== undefined && bytesOf(disk.tree(), "identity.jwk") !== key;
  return changed && Buffer.compare(key, bytesOf(disk.tree(), "identity.jwk")) !== 0
    ? "it became another appliance"
    : null;
}

/** A pair of credentials is replaced, or the old one stays. */
export async function sealWith(tree: Tree, room: number): Promise<string | null> {
  const disk = new TreeDisk(tree);
  disk.capacity = disk.used + room;
  const fresh = { apiKey: "another api key", sharedKey: "another shared key" };
  const failed = await roomFor(() => new SealedFile(disk, FOLDER).change(fresh));
  disk.capacity = Infinity;
  const { apiKey, sharedKey } = await new SealedFile(disk, FOLDER).read();
  const wanted = failed === null ? fresh : CREDENTIALS;
  const same = apiKey === wanted.apiKey && sharedKey === wanted.sharedKey;
  return same ? null : `${failed ?? "changed"}, and it finds ${apiKey}, ${sharedKey}`;
}

/** No room for a new segment: the one in use goes on. */
export async function rotateWithoutNames(tree: Tree): Promise<string | null> {
  const { store, disk, fatal } = await opened(tree);
  disk.takesNames = false;
  await store.checkpoint();
  const complaint = store.health().checkpointError;
  const went = await asked(store, consume(1));
  const state = await stateOf(store);
  const restarted = await start(disk.tree());
  disk.takesNames = true;
  await store.checkpoint();
  const after = store.health().checkpointError;
  await store.close();
  if (complaint?.includes("ENOSPC") !== true) return `health says ${complaint}`;
  if (!went.ok || fatal.length > 0) return `changes did not go on: ${JSON.stringify(went)}`;
  if (restarted.state !== state) return "a restart finds another state";
  return after === null ? null : `with room again it says ${after}`;
}

/** A stop with this much room: what could not be folded is found by the next start. */
export async function stopWith(tree: Tree, room: number): Promise<string | null> {
  const { store, disk } = await opened(tree);
  const went = await asked(store, consume(1));
  const state = await stateOf(store);
  disk.capacity = disk.used + room;
  disk.claims = Infinity;
  await store.close();
  const restarted = await start(disk.tree());
  if (went.ok && restarted.state === state) return null;
  return `a restart finds ${restarted.refusal ?? "another state"}`;
}

/** The newest segment with the last line of its last batch but half there, and then some. */
export function torn(tree: Tree, segment: string): Tree {
  const bytes = bytesOf(tree, segment);
  return inPlace(tree, segment, bytes.slice(0, bytes.length - 100));
}
