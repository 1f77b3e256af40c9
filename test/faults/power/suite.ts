// Cuts the power of a disk with a real ext4 under a real server: at a write, before or after a
// flush, under load, and while the server stops, starts, creates its folder or makes a checkpoint.
// The disk loses a part of the unflushed data; everything answered must be there after the restart.
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
import { enterNamespaces } from "./namespaces.ts";
import { FirstStartScenario } from "./first-start.ts";
import type { PowerViolation, PowerPromise } from "./expected-state.ts";
import { PowerSite, USERS, type CheckpointStep, type Workload } from "./power-site.ts";
import { makeFolderTemplates } from "./folder-templates.ts";
import {
  check,
  finish,
  createRandom,
  requirePackages,
  reportProgress,
  seed,
  chooseSize,
  skip,
} from "../../support/suite-harness.ts";

const CUTS = chooseSize(60, 2_000);
const COMMIT_SECONDS = [1, 5, 60];

/** Number of cuts on one file system, before a new one is made. */
const CUTS_PER_SITE = 10;
const FIRST_STARTS = 4;

/** The highest number of writes or flushes before a cut. */
const CUT_RANGE = { load: 60, stop: 24, start: 8, firstStart: 44, checkpoint: 30 };

/** More writes than ever happen, so that the cut comes when all calls are done. */
const NEVER_REACHED = 1_000_000;

const isFailFast = process.argv.includes("--fail-fast");

const namespaces = await enterNamespaces();
if ("reason" in namespaces) {
  skip("the server loses nothing in a power cut", namespaces.reason);
  finish();
}
requirePackages({
  fuse3: "fusermount3",
  "libfuse3-dev": "/usr/include/fuse3/fuse.h",
  gcc: "gcc",
  "libc6-dev": "/usr/include/stdio.h",
  e2fsprogs: "/sbin/mkfs.ext4",
});
const disk = await attachDisk(namespaces.folder);
await checkDisk();
const evidence = join(namespaces.folder, "evidence");
buildBinary();
const templates = await makeFolderTemplates(namespaces.folder);

const random = createRandom(seed);
const totals = { cuts: 0, lost: 0, unflushed: 0, torn: 0, stops: 0, rotations: 0, startCuts: 0 };
const clientTotals = { answered: 0, unanswered: 0, reads: 0, repeated: 0 };
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
report();

async function attachDisk(folder: string): Promise<PowerCutDisk> {
  const program = compileDiskProgram(folder);
  try {
    const disk = await PowerCutDisk.attach(folder, program);
    const system = { commitSeconds: 5, hasMetadataChecksums: true, isWriteback: false };
    disk.format(null, system);
    disk.mount(system);
    await disk.unmount();
    return disk;
  } catch (error) {
    skip("the server loses nothing in a power cut", String(error));
    return finish();
  }
}

/**
 * Checks that the disk keeps synced data and loses unsynced data, which all other checks rely on.
 */
async function checkDisk(): Promise<void> {
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
  const expected = ["safe", false];
  check(
    "a power cut of the test disk keeps a synced file and loses an unsynced file",
    Bun.deepEquals(found, expected),
    found,
  );
}

function shouldContinue(): boolean {
  reportProgress("cuts", totals.cuts, CUTS);
  return totals.cuts < CUTS && !(isFailFast && violations.length > 0);
}

/** Cuts the power of one file system and data folder several times. */
async function runLoadRound(system: Ext4Options): Promise<void> {
  const site = new PowerSite(disk, system, evidence);
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
  const site = new PowerSite(disk, system, evidence);
  const startViolations = await site.startFrom(templates.large);
  const cut = randomCut(CUT_RANGE.checkpoint, system);
  const step = pick<CheckpointStep>(["started", "written", "kept"]);
  const loss = await site.cutDuringRotation(cut, randomWorkload(), step);
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
  for (const name of ["answered", "unanswered", "reads", "repeated"] as const) {
    clientTotals[name] += site.expected.figures[name];
  }
}

function randomWorkload(): Workload {
  const clients = 1 + Math.floor(random() * USERS);
  return { clients, random: createRandom(Math.floor(random() * 2 ** 31)) };
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
  const evidenceNote = isFailFast ? "" : keepEvidence();
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

/** Reports one check for each promise, with the first violation. */
function report(): never {
  const { starts, ready, keys } = firstStarts.figures;
  const promises: Readonly<Record<PowerPromise, string>> = {
    starts: `the server starts after every power cut (${totals.cuts} cuts, ${totals.startCuts} of them during a start; ${totals.lost} of ${totals.unflushed} unflushed sectors lost, ${totals.torn} torn tails)`,
    slots: `after power cuts every slot is as the server answered, and no other slot exists (${clientTotals.answered} answers, ${clientTotals.unanswered} calls without an answer)`,
    counts: "after power cuts every counter is between the sums of answered calls and of all calls",
    once: `a consumption repeated after a power cut under its idempotency key counts once (${clientTotals.repeated} repeated)`,
    shown: `everything that a read showed before a power cut is there after it (${clientTotals.reads} reads)`,
    answers: "no call is refused before or after a power cut",
    auditLog: `after power cuts the audit log and the previous checkpoint are intact (${totals.rotations} cuts during a checkpoint under load)`,
    stops: `a clean stop leaves no journal to replay (${totals.stops} stops)`,
    first: `after a power cut during or after a first start, an appliance that was ready keeps its identity and keys (${starts} first starts, ${ready} ready, ${keys} pairs of keys)`,
  };
  for (const promise of Object.keys(promises) as PowerPromise[]) {
    const found = violations.filter((violation) => violation.promise === promise);
    const detail = `${found.length} times; ${found[0]?.detail.slice(0, 1_800)}`;
    check(promises[promise], found.length === 0, detail);
  }
  finish();
}
