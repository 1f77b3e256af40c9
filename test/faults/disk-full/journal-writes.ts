// Fills the disk of a store at a chosen byte of its journal. Checks what each caller is answered,
// what remains on the disk, and how the store continues when there is free space again.
import type { Command } from "../../../src/domain/decide.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
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

/** Commands sent in one turn of the event loop are one batch. */
export const BATCHES: readonly (readonly Command[])[] = [
  [register("ida")],
  [register("jim"), register('ä\n\u2028"🙂'), consume(3)],
  [register("ida"), register("kai"), consumeFeature("plot", 2), register("lea")],
];

/** The same batches on a large disk, to compare every other run with. */
export interface ReferenceRun {
  readonly tree: FileTree;
  readonly segment: string;
  /** The newest segment after all batches. */
  readonly journal: Bytes;
  /** The length of the segment before the first batch and after each. */
  readonly batchEnds: readonly number[];
  /** The complete state before the first batch and after each. */
  readonly states: readonly string[];
}

export async function makeReferenceRun(tree: FileTree, segment: string): Promise<ReferenceRun> {
  const { store, disk } = await openStore(tree);
  const batchEnds = [fileBytes(disk.toTree(), segment).length];
  const states = [await readStateText(store)];
  for (const batch of BATCHES) {
    const answers = await Promise.all(batch.map((command) => transactCommand(store, command)));
    if (answers.some(({ ok }) => !ok)) throw new Error(JSON.stringify(answers));
    batchEnds.push(fileBytes(disk.toTree(), segment).length);
    states.push(await readStateText(store));
  }
  const journal = fileBytes(disk.toTree(), segment);
  await store.close();
  return { tree, segment, journal, batchEnds, states };
}

export interface OpenedStore {
  readonly store: Store;
  readonly disk: MemoryDisk;
  readonly fatalErrors: readonly Error[];
  /** Runs the store's next check for free space without waiting for its interval. */
  readonly runProbe: () => Promise<void>;
  /** The interval between two checks, in milliseconds. */
  readonly probeIntervalMs: number;
}

/** Opens a store with a clock that stands still, so that the same commands write the same lines. */
export async function openStore(tree: FileTree): Promise<OpenedStore> {
  const disk = new MemoryDisk(tree);
  const fatalErrors: Error[] = [];
  const {
    result: store,
    tick,
    intervalMs,
  } = await withManualTimer(() =>
    Store.open({
      disk,
      folder: MEMORY_FOLDER,
      kind: "site",
      create: false,
      clock: (mark) => mark,
      checkpoint: (folder, openSegment) => checkpoint(disk, folder, openSegment),
      onFatal: (error) => fatalErrors.push(error),
      uid: 0,
    }),
  );
  const runProbe = async (): Promise<void> => {
    tick();
    for (let turns = 0; turns < EVENT_LOOP_TURNS; turns += 1) await new Promise(setImmediate);
  };
  return { store, disk, fatalErrors, runProbe, probeIntervalMs: intervalMs };
}

/** More turns of the event loop than a check needs on a disk in memory. */
const EVENT_LOOP_TURNS = 20;

interface ManualTimer<T> {
  readonly result: T;
  readonly tick: () => void;
  readonly intervalMs: number;
}

/**
 * Replaces the interval that `work` sets by a manual `tick`, so that thousands of waits take no
 * time.
 */
async function withManualTimer<T>(work: () => Promise<T>): Promise<ManualTimer<T>> {
  const original = globalThis.setInterval;
  let tick = (): void => {};
  let intervalMs = 0;
  const replacement = (callback: () => void, milliseconds: number): Timer => {
    tick = callback;
    intervalMs = milliseconds;
    return original(() => {}, NEVER_MS);
  };
  globalThis.setInterval = Object.assign(replacement, original);
  try {
    return { result: await work(), tick, intervalMs };
  } finally {
    globalThis.setInterval = original;
  }
}

const NEVER_MS = 1_000_000_000;

export async function readStateText(store: Store): Promise<string> {
  const read = await store.read(serializeState);
  return read.ok ? read.value : JSON.stringify(read.fault);
}

/**
 * The journal can grow by `freeBytes`; then the disk is full, and later it has free space again.
 */
export async function tryFullJournal(
  reference: ReferenceRun,
  freeBytes: number,
): Promise<string | null> {
  const site = await openStore(reference.tree);
  const { store, disk } = site;
  disk.capacity = disk.usedBytes + freeBytes;
  try {
    const grantedBatches = await sendBatches(reference, store, freeBytes);
    if (typeof grantedBatches === "string") return grantedBatches;
    const violation = await checkWhileFull(reference, site, grantedBatches);
    if (violation !== null) return violation;
    disk.capacity = Infinity;
    return await checkRecovery(reference, site, grantedBatches);
  } finally {
    disk.capacity = Infinity;
    await store.close();
  }
}

const FULL = "storage_full";

/** The longest time from free space to the next granted change. */
const RECOVERY_LIMIT_MS = 5_000;

/** Waits for a condition; false if the time ran out first. */
export async function waitWithin(
  milliseconds: number,
  condition: () => boolean | Promise<boolean>,
): Promise<boolean> {
  const deadline = performance.now() + milliseconds;
  while (!(await condition())) {
    if (performance.now() > deadline) return false;
    await Bun.sleep(10);
  }
  return true;
}

/**
 * Returns the number of granted batches, or a violation unless exactly those that fit are granted.
 */
async function sendBatches(
  { batchEnds, states }: ReferenceRun,
  store: Store,
  freeBytes: number,
): Promise<number | string> {
  const fittingBatches = batchEnds
    .slice(1)
    .filter((end) => end - (batchEnds[0] ?? 0) <= freeBytes).length;
  for (const [index, batch] of BATCHES.entries()) {
    const calls = batch.map((command) => transactCommand(store, command));
    const reading = store.read(serializeState);
    const answers = await Promise.all(calls);
    const read = await reading;
    const outcomes = answers.map((answer) => (answer.ok ? "ok" : answer.fault.code));
    const expected = index < fittingBatches ? "ok" : FULL;
    if (outcomes.some((outcome) => outcome !== expected)) {
      return `batch ${index} was answered with ${outcomes.join(", ")}, not ${expected}`;
    }
    const expectedState = states[Math.min(index + 1, fittingBatches)];
    if (read.ok && read.value !== expectedState) {
      return `a read during batch ${index} showed a refused change`;
    }
  }
  return fittingBatches;
}

/** The disk, reads and a restart all show what was granted, and not a byte more. */
async function checkWhileFull(
  { segment, journal, batchEnds, states }: ReferenceRun,
  { store, disk, fatalErrors }: OpenedStore,
  grantedBatches: number,
): Promise<string | null> {
  const state = states[grantedBatches];
  const fault = store.status().fault?.code ?? null;
  if (fault !== (grantedBatches < BATCHES.length ? FULL : null)) {
    return `the fault in the store health is ${fault}`;
  }
  if ((await readStateText(store)) !== state)
    return `reads do not show exactly ${grantedBatches} batches`;
  if (
    !isSameBytes(fileBytes(disk.toTree(), segment), journal.slice(0, batchEnds[grantedBatches]))
  ) {
    return `the journal does not end with batch ${grantedBatches}`;
  }
  const restarted = await startFromTree(disk.toTree());
  if (restarted.state !== state || restarted.notes.length > 0) {
    const notes = restarted.notes.join("; ");
    return `a restart finds ${restarted.refusal?.message ?? `another state, or notes ${notes}`}`;
  }
  return fatalErrors.length > 0
    ? `the store reported a fatal error: ${String(fatalErrors[0])}`
    : null;
}

/** Sends the refused batches again: in the end the journal is the one of a large disk. */
async function checkRecovery(
  { segment, journal, states }: ReferenceRun,
  { store, disk, runProbe, probeIntervalMs }: OpenedStore,
  grantedBatches: number,
): Promise<string | null> {
  await runProbe();
  if (store.status().fault !== null || probeIntervalMs > RECOVERY_LIMIT_MS / 2) {
    return `the store is still full after one check for free space, with ${probeIntervalMs} ms between checks`;
  }
  for (const batch of BATCHES.slice(grantedBatches)) {
    const answers = await Promise.all(batch.map((command) => transactCommand(store, command)));
    if (answers.some(({ ok }) => !ok)) {
      return `with free space again a batch was answered with ${JSON.stringify(answers)}`;
    }
  }
  const tree = disk.toTree();
  if (!isSameBytes(fileBytes(tree, segment), journal))
    return "the journal differs from the one of a large disk";
  const { state } = await startFromTree(tree);
  if (state !== states.at(-1)) return "a restart finds another state";
  return tree.has("probe") ? "the probe file was left behind" : null;
}

/** Fills the disk, then frees this much space and runs the check for free space. */
export async function tryProbe(reference: ReferenceRun, freeBytes: number): Promise<string | null> {
  const { store, disk, runProbe } = await openStore(reference.tree);
  try {
    disk.capacity = disk.usedBytes;
    await transactCommand(store, register("ida"));
    const before = disk.toTree();
    disk.capacity = disk.usedBytes + freeBytes;
    for (let probes = 0; probes < 3; probes += 1) await runProbe();
    const leftovers = changedFiles(before, disk.toTree());
    if (leftovers.length > 0) return `the check for free space left ${leftovers.join()} behind`;
    const fault = store.status().fault?.code ?? null;
    if (freeBytes === 0)
      return fault === FULL ? null : "the store reports free space on a full disk";
    return fault === null || freeBytes < AMPLE_BYTES
      ? null
      : `the store does not notice ${freeBytes} bytes of free space`;
  } finally {
    disk.capacity = Infinity;
    await store.close();
  }
}

/** With this much free space the store must accept changes again. */
const AMPLE_BYTES = 1024 * 1024;
