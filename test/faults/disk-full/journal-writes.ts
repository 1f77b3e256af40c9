// A store whose disk runs out of room at one byte or another of its journal: who hears what, what
// is left, and how it goes on when there is room again.
import type { Command } from "../../../src/domain/command.ts";
import { checkpoint } from "../../../src/store/checkpoint.ts";
import { Store } from "../../../src/store/store.ts";
import { transactCommand } from "../../support/licensed-store.ts";
import { consume, consumeFeature, register } from "../../support/scenario.ts";
import { startFromTree } from "../damage/judge.ts";
import { serializeState } from "../damage/site-history.ts";
import {
  fileBytes,
  changedFiles,
  MEMORY_FOLDER,
  isSameBytes,
  MemoryDisk,
  type Bytes,
  type FileTree,
} from "../shared/memory-disk.ts";

/** What is asked in one turn of the event loop is one batch. */
export const BATCHES: readonly (readonly Command[])[] = [
  [register("ida")],
  [register("jim"), register('ä\n\u2028"🙂'), consume(3)],
  [register("ida"), register("kai"), consumeFeature("plot", 2), register("lea")],
];

/** The same batches on a disk with room: what every other run is compared with. */
export interface ReferenceRun {
  readonly tree: FileTree;
  readonly segment: string;
  /** The newest segment after all batches. */
  readonly journal: Bytes;
  /** How long it is before any batch, and after each. */
  readonly batchEnds: readonly number[];
  /** The whole state at these points. */
  readonly states: readonly string[];
}

export async function makeReferenceRun(tree: FileTree, segment: string): Promise<ReferenceRun> {
  const { store, disk } = await openStore(tree);
  const ends = [fileBytes(disk.toTree(), segment).length];
  const states = [await readStateText(store)];
  for (const batch of BATCHES) {
    const answers = await Promise.all(batch.map((command) => transactCommand(store, command)));
    if (answers.some(({ ok }) => !ok)) throw new Error(JSON.stringify(answers));
    ends.push(fileBytes(disk.toTree(), segment).length);
    states.push(await readStateText(store));
  }
  const journal = fileBytes(disk.toTree(), segment);
  await store.close();
  return { tree, segment, journal, batchEnds: ends, states };
}

export interface OpenedStore {
  readonly store: Store;
  readonly disk: MemoryDisk;
  readonly fatalErrors: readonly Error[];
  /** Lets a second pass, or however long the store wants to wait between two looks. */
  readonly runProbe: () => Promise<void>;
  /** That long, in milliseconds. */
  readonly probeIntervalMs: number;
}

/** The clock stands still: the same commands make the same lines. */
export async function openStore(tree: FileTree): Promise<OpenedStore> {
  const disk = new MemoryDisk(tree);
  const fatal: Error[] = [];
  const {
    made: store,
    tick,
    every,
  } = await withManualTimer(() =>
    Store.open({
      disk,
      folder: MEMORY_FOLDER,
      kind: "site",
      create: false,
      clock: (mark) => mark,
      checkpoint: (folder, open) => checkpoint(disk, folder, open),
      onFatal: (error) => fatal.push(error),
      uid: 0,
    }),
  );
  const look = async (): Promise<void> => {
    tick();
    for (let turns = 0; turns < TURNS; turns += 1) await new Promise(setImmediate);
  };
  return { store, disk, fatalErrors: fatal, runProbe: look, probeIntervalMs: every };
}

/** More turns of the event loop than anything takes on a disk in memory. */
const TURNS = 20;

interface ManualTimer<T> {
  readonly made: T;
  readonly tick: () => void;
  readonly every: number;
}

/** The interval that is set meanwhile passes when it is told to: thousands of waits take no time. */
async function withManualTimer<T>(make: () => Promise<T>): Promise<ManualTimer<T>> {
  const original = globalThis.setInterval;
  let tick = (): void => {};
  let every = 0;
  const own = (callback: () => void, milliseconds: number): Timer => {
    tick = callback;
    every = milliseconds;
    return original(() => {}, FAR);
  };
  globalThis.setInterval = Object.assign(own, original);
  try {
    return { made: await make(), tick, every };
  } finally {
    globalThis.setInterval = original;
  }
}

const FAR = 1_000_000_000;

export async function readStateText(store: Store): Promise<string> {
  const read = await store.read(serializeState);
  return read.ok ? read.value : JSON.stringify(read.fault);
}

/** So many bytes fit, then none; later all there are. */
export async function tryFullJournal(
  reference: ReferenceRun,
  room: number,
): Promise<string | null> {
  const site = await openStore(reference.tree);
  const { store, disk } = site;
  disk.capacity = disk.usedBytes + room;
  try {
    const whole = await playInto(reference, store, room);
    if (typeof whole === "string") return whole;
    const wrong = await wrongWhileFull(reference, site, whole);
    if (wrong !== null) return wrong;
    disk.capacity = Infinity;
    return await goOn(reference, site, whole);
  } finally {
    disk.capacity = Infinity;
    await store.close();
  }
}

const FULL = "storage_full";

/** From room to the next change. */
const RECOVERY_LIMIT_MS = 5_000;

/** False when the time ran out first. */
export async function waitWithin(
  milliseconds: number,
  condition: () => boolean | Promise<boolean>,
): Promise<boolean> {
  const end = performance.now() + milliseconds;
  while (!(await condition())) {
    if (performance.now() > end) return false;
    await Bun.sleep(10);
  }
  return true;
}

/** How many batches were granted; a text for anything but those that fit, and none after. */
async function playInto(
  { batchEnds, states }: ReferenceRun,
  store: Store,
  room: number,
): Promise<number | string> {
  const fits = batchEnds.slice(1).filter((end) => end - (batchEnds[0] ?? 0) <= room).length;
  for (const [place, batch] of BATCHES.entries()) {
    const waiting = batch.map((command) => transactCommand(store, command));
    const reading = store.read(serializeState);
    const answers = await Promise.all(waiting);
    const read = await reading;
    const heard = answers.map((answer) => (answer.ok ? "ok" : answer.fault.code));
    const wanted = place < fits ? "ok" : FULL;
    if (heard.some((word) => word !== wanted)) {
      return `batch ${place} heard ${heard.join(", ")}, not ${wanted}`;
    }
    const seen = states[Math.min(place + 1, fits)];
    if (read.ok && read.value !== seen) return `a read beside batch ${place} saw what was refused`;
  }
  return fits;
}

/** The disk holds what was granted and no byte more; so does memory, and so would a restart. */
async function wrongWhileFull(
  { segment, journal, batchEnds, states }: ReferenceRun,
  { store, disk, fatalErrors }: OpenedStore,
  whole: number,
): Promise<string | null> {
  const state = states[whole];
  const fault = store.health().fault?.code ?? null;
  if (fault !== (whole < BATCHES.length ? FULL : null)) return `health says ${fault}`;
  if ((await readStateText(store)) !== state) return `reads show other than ${whole} batches`;
  if (!isSameBytes(fileBytes(disk.toTree(), segment), journal.slice(0, batchEnds[whole]))) {
    return `the journal does not end with batch ${whole}`;
  }
  const restarted = await startFromTree(disk.toTree());
  if (restarted.state !== state || restarted.notes.length > 0) {
    const notes = restarted.notes.join("; ");
    return `a restart finds ${restarted.refusal?.message ?? `another state, or says ${notes}`}`;
  }
  return fatalErrors.length > 0 ? `it gave up: ${String(fatalErrors[0])}` : null;
}

/** What was refused is asked again: in the end the journal is the one of a larger disk. */
async function goOn(
  { segment, journal, states }: ReferenceRun,
  { store, disk, runProbe, probeIntervalMs }: OpenedStore,
  whole: number,
): Promise<string | null> {
  await runProbe();
  if (store.health().fault !== null || probeIntervalMs > RECOVERY_LIMIT_MS / 2) {
    return `there is room, and after one look in ${probeIntervalMs} ms it is still full`;
  }
  for (const batch of BATCHES.slice(whole)) {
    const answers = await Promise.all(batch.map((command) => transactCommand(store, command)));
    if (answers.some(({ ok }) => !ok)) return `with room it says ${JSON.stringify(answers)}`;
  }
  const tree = disk.toTree();
  if (!isSameBytes(fileBytes(tree, segment), journal))
    return "it is not the journal of a larger disk";
  const { state } = await startFromTree(tree);
  if (state !== states.at(-1)) return "a restart finds another state";
  return tree.has("probe") ? "the probe was left behind" : null;
}

/** Full, then so much room for whoever looks for it. */
export async function tryProbe(reference: ReferenceRun, room: number): Promise<string | null> {
  const { store, disk, runProbe } = await openStore(reference.tree);
  try {
    disk.capacity = disk.usedBytes;
    await transactCommand(store, register("ida"));
    const before = disk.toTree();
    disk.capacity = disk.usedBytes + room;
    for (let looks = 0; looks < 3; looks += 1) await runProbe();
    const left = changedFiles(before, disk.toTree());
    if (left.length > 0) return `it left ${left.join()} behind`;
    const fault = store.health().fault?.code ?? null;
    if (room === 0) return fault === FULL ? null : "there is no room, and it says there is";
    return fault === null || room < PLENTY ? null : "there is room, and it does not notice";
  } finally {
    disk.capacity = Infinity;
    await store.close();
  }
}

const PLENTY = 1024 * 1024;
