// A store on a real folder, opened as the server does, except that checkpoints run in this process:
// the child process is covered by the tests of the binary.
import { expect, onTestFinished } from "bun:test";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Command, OutcomeOf } from "../../src/domain/decide.ts";
import type { Fault } from "../../src/domain/model/fault.ts";
import type { Result } from "../../src/domain/result.ts";
import type { State } from "../../src/domain/model/state.ts";
import type { Instant } from "../../src/domain/time.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { checkpoint } from "../../src/store/checkpoint/checkpoint.ts";
import { generationName, listSegments } from "../../src/store/folder/files.ts";
import { openFolder, type FolderOptions } from "../../src/store/folder/folder.ts";
import type { StorageFault } from "../../src/store/journal/storage-fault.ts";
import { decodeLine, genesisHead, type JournalLine } from "../../src/store/journal/journal.ts";
import { FolderRefused } from "../../src/store/folder/refusal.ts";
import { emptyAuditLogEnd } from "../../src/store/state/snapshot.ts";
import { encodeSnapshot } from "../../src/store/state/state-rows.ts";
import { StateFile } from "../../src/store/state/state-file.ts";
import type { StoreOptions } from "../../src/store/store-options.ts";
import { Store } from "../../src/store/store.ts";
import { FaultyDisk } from "./faulty-disk.ts";
import { createSteppingClock } from "./manual-clock.ts";
import { makeNewSite } from "./new-site.ts";
import { consumptionTerms, dumpState, featureTerms, install, MONDAY } from "./scenario.ts";
import { tempFolder } from "./temp-folder.ts";

export interface OpenSite {
  readonly folder: string;
  readonly store: Store;
  readonly clock: { now: Instant };
  /** The errors that stopped the store. */
  readonly fatalErrors: readonly Error[];
  /** Stops the store cleanly; called after the test at the latest. */
  readonly stop: () => Promise<void>;
}

export async function openSite(differing: Partial<StoreOptions> = {}): Promise<OpenSite> {
  const clock = { now: MONDAY };
  const fatalErrors: Error[] = [];
  const options: StoreOptions = {
    disk: realDisk,
    folder: differing.folder ?? join(tempFolder(), "data"),
    kind: "site",
    create: true,
    clock: () => clock.now,
    monotonicMs: createSteppingClock(),
    checkpoint: (folder, open) => checkpoint(realDisk, folder, open),
    onFatal: (error) => fatalErrors.push(error),
    ...differing,
  };
  const isNew = realDisk.stat(options.folder) === null;
  if (isNew) await prepareFolder(options.folder);
  const store = await Store.open(options);
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => (stopping ??= store.close());
  onTestFinished(async () => {
    if (options.disk instanceof FaultyDisk) options.disk.clearFaults();
    await stop();
    if (options.disk instanceof FaultyDisk) expect(options.disk.misuses).toEqual([]);
  });
  return { folder: options.folder, store, clock, fatalErrors, stop };
}

/**
 * Creates a folder with a trusted vendor and open requests but without journal lines, so that a
 * test counts only its own lines.
 */
async function prepareFolder(folder: string): Promise<void> {
  await openAndCloseFolder(folder);
  const snapshot = encodeSnapshot(makeNewSite(), genesisHead, emptyAuditLogEnd);
  await new StateFile(realDisk, folder).write(snapshot, null);
  await new StateFile(realDisk, folder, generationName(0)).write(snapshot, null);
}

/** License 1 for `cad`: fifty slots, none to borrow, counted use, and two features. */
export const INSTALL_CAD = install(1, {
  // Without borrowing, a test may set the clock back without a vendor's time document.
  borrowHours: null,
  slots: 50,
  consumption: consumptionTerms({ max: null }),
  features: [
    featureTerms("view", { floating: { slots: 9, timeoutMinutes: 30 } }),
    featureTerms("plot", { consumption: consumptionTerms({ max: null }) }),
  ],
});

export async function openLicensedSite(differing: Partial<StoreOptions> = {}): Promise<OpenSite> {
  const site = await openSite(differing);
  await transactOrThrow(site.store, INSTALL_CAD);
  return site;
}

/** Executes a command and returns its result. */
export const transactCommand = <C extends Command>(
  store: Store,
  command: C,
): Promise<Result<OutcomeOf<C>, Fault | StorageFault>> =>
  store.transact(command, (_state, outcome) => outcome);

/** Executes a command that must succeed. */
export async function transactOrThrow<C extends Command>(
  store: Store,
  command: C,
): Promise<OutcomeOf<C>> {
  return unwrap(await transactCommand(store, command));
}

/** Executes commands in one turn of the event loop: one batch. Heartbeats in it share a line. */
export async function transactInOneBatch(
  store: Store,
  ...commands: readonly Command[]
): Promise<void> {
  await Promise.all(commands.map((command) => transactOrThrow(store, command)));
}

export function unwrap<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.fault)}`);
  return result.value;
}

export type StateDump = ReturnType<typeof dumpStateSorted>;

/** The whole state as plain data; licenses by id, because their order does not matter. */
export const dumpStateSorted = (state: State) => {
  const { licenses, ...rest } = dumpState(state);
  return { ...rest, licenses: licenses.toSorted(([a], [b]) => Number(a) - Number(b)) };
};

export const readState = async (store: Store): Promise<StateDump> =>
  unwrap(await store.read(dumpStateSorted));

export interface FolderContents {
  readonly state: StateDump;
  readonly seq: number;
  readonly notes: readonly string[];
}

/** Opens a folder as a starting server does, reads it and releases its lock. */
export async function openAndCloseFolder(
  folder: string,
  differing: Partial<FolderOptions> = {},
): Promise<FolderContents> {
  const { state, head, notes, lock } = await openFolder({
    disk: realDisk,
    folder,
    kind: "site",
    create: true,
    uid: process.getuid?.() ?? 0,
    now: () => MONDAY,
    identify: async () => "",
    ...differing,
  });
  lock.release();
  return { state: dumpStateSorted(state), seq: head.seq, notes };
}

export async function catchFolderRefusal(
  folder: string,
  differing: Partial<FolderOptions> = {},
): Promise<FolderRefused> {
  try {
    await openAndCloseFolder(folder, differing);
  } catch (error) {
    if (error instanceof FolderRefused) return error;
    throw error;
  }
  throw new Error(`${folder} was not refused`);
}

export interface RawLine {
  readonly line: JournalLine;
  readonly raw: Buffer;
  readonly offset: number;
}

/** The lines of a journal or audit log file, each with its line feed. */
export function readLines(path: string): RawLine[] {
  const bytes = readFileSync(path);
  const lines: RawLine[] = [];
  for (let offset = 0; offset < bytes.length;) {
    const end = bytes.indexOf(10, offset) + 1;
    if (end === 0) throw new Error(`${path} does not end with a line`);
    const line = decodeLine(new Uint8Array(bytes.subarray(offset, end - 1)));
    if (line === null) throw new Error(`${path} has a bad line at ${offset}`);
    lines.push({ line, raw: bytes.subarray(offset, end), offset });
    offset = end;
  }
  return lines;
}

/** The journal files of a folder by name, oldest first. */
export const listSegmentNames = (folder: string): string[] =>
  listSegments(realDisk, folder).map(({ path }) => basename(path));

/** Every line that is still in the journal. */
export const readJournal = (folder: string): RawLine[] =>
  listSegments(realDisk, folder).flatMap(({ path }) => readLines(path));
