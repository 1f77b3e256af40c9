// Cuts the power of a disk with a real ext4 under a real server: at a write, before or after a
// flush, under load, and while the server stops, starts, creates its folder or makes a checkpoint.
// The disk loses a part of the unflushed data; everything answered must be there after the restart.
// Runs in namespaces of its own, in the folder of its first argument, and prints its result as JSON.
// With `probe` as its second argument it only tries the disk, and prints why that is not possible.
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildBinary } from "../../support/binary.ts";
import {
  compileDiskProgram,
  PowerCutDisk,
  type PowerCut,
  type Ext4Options,
  type LossMode,
  type LossReport,
} from "./power-cut-disk.ts";
import { FirstStartScenario } from "./first-start.ts";
import { KillResults } from "../kill/results.ts";
import { CLIENTS } from "../kill/site-load.ts";
import {
  PowerSite,
  type CheckpointStep,
  type PowerPromise,
  type PowerViolation,
  type Workload,
} from "./power-site.ts";
import { makeFolderTemplates } from "./folder-templates.ts";
import {
  createRandom,
  isSoak,
  seed,
  chooseSize,
  isDetectionRun,
} from "../../support/suite-harness.ts";

export interface PowerResult {
  /** What a synced and an unsynced file contained after a cut of the test disk. */
  readonly diskCheck: readonly (string | false)[];
  readonly violations: readonly { readonly promise: PowerPromise; readonly detail: string }[];
  readonly figures: string;
}

/** With a planted bug the cuts go on until one of them shows it. */
const CUTS = isDetectionRun ? 600 : chooseSize(40, 2_000);
const COMMIT_SECONDS = [1, 5, 60];

/** Number of cuts on one file system, before a new one is made. */
const CUTS_PER_SITE = chooseSize(6, 10);
const FIRST_STARTS = chooseSize(3, 4);

/** The highest number of writes or flushes before a cut. */
const CUT_RANGE = { load: 60, stop: 24, start: 8, firstStart: 44, checkpoint: 30 };

/** More writes than ever happen, so that the cut comes when all calls are done. */
const NEVER_REACHED = 1_000_000;

const [, , folder = "", mode] = process.argv;
const program = compileDiskProgram(folder);
if (mode === "probe") {
  await probeDisk();
  process.exit(0);
}
const disk = await PowerCutDisk.attach(folder, program);
const diskCheck = await checkDisk();
const evidence = join(folder, "evidence");
buildBinary();
const templates = await makeFolderTemplates(folder);

const random = createRandom(seed);
const totals = { cuts: 0, lost: 0, unflushed: 0, torn: 0, stops: 0, rotations: 0, startCuts: 0 };
const siteResults: KillResults[] = [];
const violations: { readonly promise: PowerPromise; readonly detail: string }[] = [];
const firstStarts = new FirstStartScenario(disk, evidence);

for (let round = 0; shouldContinue(); round += 1) {
  const system: Ext4Options = {
    commitSeconds: COMMIT_SECONDS[round % COMMIT_SECONDS.length] ?? 5,
    hasMetadataChecksums: round % 4 < 2,
    isWriteback: round % 2 === 1,
  };
  await runLoadRound(system);
  for (let n = 0; n < FIRST_STARTS && shouldContinue(); n += 1) {
    // The first two cuts come when all calls are done; in the first there are no calls at all.
    const cut = randomCut(n < 2 ? Infinity : CUT_RANGE.firstStart, system);
    const keyPairs = n === 0 ? 0 : 1 + Math.floor(random() * 3);
    const { loss, violations } = await firstStarts.runWithCut(cut, system, keyPairs);
    recordCut("first start", system, cut, loss, violations);
  }
  if (shouldContinue()) await runRotationRound(system);
}
const { starts, ready, keys } = firstStarts.figures;
const result: PowerResult = {
  diskCheck,
  violations,
  figures: JSON.stringify({
    ...totals,
    ...KillResults.sum(siteResults).counts,
    firstStarts: starts,
    ready,
    keys,
  }),
};
await Bun.write(Bun.stdout, JSON.stringify(result));
process.exit(0);

/** Formats, mounts and unmounts a disk; prints why that is not possible. */
async function probeDisk(): Promise<void> {
  try {
    const probed = await PowerCutDisk.attach(folder, program);
    const system = { commitSeconds: 5, hasMetadataChecksums: true, isWriteback: false };
    probed.format(null, system);
    probed.mount(system);
    await probed.unmount();
  } catch (error) {
    await Bun.write(Bun.stdout, String(error));
  }
}

/**
 * What the disk keeps of synced and of unsynced data: all other checks rely on it.
 */
async function checkDisk(): Promise<PowerResult["diskCheck"]> {
  const system = { commitSeconds: 60, hasMetadataChecksums: true, isWriteback: false };
  const [safe, unsafe] = [join(disk.path, "safe"), join(disk.path, "unsafe")];
  disk.format(null, system);
  disk.mount(system);
  writeFileSync(safe, "safe", { flush: true });
  writeFileSync(unsafe, "unsafe");
  disk.cutNow();
  await disk.waitUntilCut();
  await disk.unmount();
  disk.mount(system);
  const found = [safe, unsafe].map((path) => existsSync(path) && readFileSync(path, "utf8"));
  await disk.unmount();
  return found;
}

function shouldContinue(): boolean {
  if (isSoak && totals.cuts % 200 === 0) process.stderr.write(`${totals.cuts} of ${CUTS} cuts\n`);
  return totals.cuts < CUTS && !(isDetectionRun && violations.length > 0);
}

/** Cuts the power of one file system and data folder several times. */
async function runLoadRound(system: Ext4Options): Promise<void> {
  const site = new PowerSite(disk, system, evidence, forkRandom());
  let found = await site.startFrom(templates.small);
  recordViolations({ scenario: "start before the first cut", system }, found);
  for (let n = 0; n < CUTS_PER_SITE && shouldContinue() && found.length === 0; n += 1) {
    const isStop = random() < 0.3;
    // Some stops end before the cut.
    const range = random() < 0.3 ? Infinity : CUT_RANGE.stop;
    const cut = randomCut(isStop ? range : CUT_RANGE.load, system);
    const result = isStop
      ? await site.cutDuringStop(cut, randomWorkload())
      : { loss: await site.cutUnderLoad(cut, randomWorkload()), violations: [] };
    found = [...result.violations];
    while (random() < 0.15) {
      const startCut = randomCut(CUT_RANGE.start, system);
      recordCut("start", system, startCut, await site.cutDuringStart(startCut), []);
      totals.startCuts += 1;
    }
    found.push(...(await site.restartAndCheck()));
    recordCut(isStop ? "stop" : "load", system, cut, result.loss, found);
  }
  await stopSite(site, system);
}

/** Cuts the power during the checkpoint of a server under load, whose segment is nearly full. */
async function runRotationRound(system: Ext4Options): Promise<void> {
  const site = new PowerSite(disk, system, evidence, forkRandom());
  const startViolations = await site.startFrom(templates.large);
  const cut = randomCut(CUT_RANGE.checkpoint, system);
  const step = pick<CheckpointStep>(["started", "written", "kept"]);
  const workload = { ...randomWorkload(), usesLongTexts: true };
  const loss = await site.cutDuringRotation(cut, workload, step);
  totals.rotations += 1;
  recordCut(`checkpoint ${step}`, system, cut, loss, [
    ...startViolations,
    ...(await site.restartAndCheck()),
  ]);
  await stopSite(site, system);
}

async function stopSite(site: PowerSite, system: Ext4Options): Promise<void> {
  recordViolations({ scenario: "stop after the last cut", system }, await site.stopAndCheck());
  totals.torn += site.figures.torn;
  totals.stops += site.figures.stops;
  siteResults.push(site.results);
}

/** A generator whose use does not change the other choices. */
function forkRandom(): () => number {
  return createRandom(Math.floor(random() * 2 ** 31));
}

function randomWorkload(): Workload {
  // Some calls are so long that a batch fills several disk blocks.
  return { clients: 1 + Math.floor(random() * CLIENTS), usesLongTexts: random() < 0.3 };
}

function randomCut(range: number, { hasMetadataChecksums }: Ext4Options): PowerCut {
  return {
    trigger: pick(["w", "w", "f", "f", "d"]),
    count: range === Infinity ? NEVER_REACHED : 1 + Math.floor(random() * range),
    lossMode: pick<LossMode>(
      hasMetadataChecksums ? ["a", "z", "o", "b", "b", "b"] : ["z", "o", "b", "s", "s", "s"],
    ),
    seed: Math.floor(random() * 2 ** 31),
  };
}

function pick<T>(from: readonly [T, ...T[]]): T {
  return from[Math.floor(random() * from.length)] ?? from[0];
}

function recordCut(
  scenario: string,
  system: Ext4Options,
  cut: PowerCut,
  loss: LossReport,
  found: readonly PowerViolation[],
): void {
  totals.cuts += 1;
  totals.lost += loss.lostSectors;
  totals.unflushed += loss.unflushedSectors;
  recordViolations({ scenario, system, cut, loss }, found);
}

function recordViolations(context: object, found: readonly PowerViolation[]): void {
  if (found.length === 0) return;
  const position = `SEED=${seed}, cut ${totals.cuts}: ${JSON.stringify(context)}`;
  const evidenceNote = isDetectionRun ? "" : keepEvidence();
  for (const { promise, detail } of found) {
    violations.push({ promise, detail: `${position}${evidenceNote}: ${JSON.stringify(detail)}` });
  }
}

/** Copies the data folder as the last cut left it, because a cut cannot be repeated exactly. */
function keepEvidence(): string {
  const copy = join(tmpdir(), `berth-power-${seed}-${totals.cuts}`);
  cpSync(evidence, copy, { recursive: true });
  return `, data folder copied to ${copy}`;
}
