// The power goes while a real server works on a real ext4: at a write, before or after a flush,
// under load, while it stops, starts, makes its folder or folds its journal. The disk loses a part
// of what was not flushed, and what was answered must be there when the power is back.
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
const COMMITS = [1, 5, 60];

/** Cuts on one file system; then a new one is made. */
const PER_SITE = 10;
const FIRST_STARTS = 4;

/** How many writes or flushes may come before the power goes. */
const SPAN = { work: 60, stop: 24, start: 8, first: 44, fold: 30 };

/** More than ever come: the power goes when nobody asks for anything any more. */
const NEVER = 1_000_000;

const isHunt = process.argv.includes("--fail-fast");

const world = await enterNamespaces();
if ("why" in world) {
  skip("power cuts", world.why);
  finish();
}
requirePackages({
  fuse3: "fusermount3",
  "libfuse3-dev": "/usr/include/fuse3/fuse.h",
  gcc: "gcc",
  "libc6-dev": "/usr/include/stdio.h",
  e2fsprogs: "/sbin/mkfs.ext4",
});
const disk = await plugIn(world.folder);
await proveDisk();
const evidence = join(world.folder, "evidence");
buildBinary();
const templates = await makeFolderTemplates(world.folder);

const random = createRandom(seed);
const totals = { cuts: 0, lost: 0, unflushed: 0, torn: 0, stops: 0, rotations: 0, again: 0 };
const sums = { answered: 0, unanswered: 0, reads: 0, repeated: 0 };
const faults: { readonly promise: PowerPromise; readonly detail: string }[] = [];
const first = new FirstStartScenario(disk, evidence);

for (let round = 0; goesOn(); round += 1) {
  const system: Ext4Options = {
    commitSeconds: COMMITS[round % COMMITS.length] ?? 5,
    hasMetadataChecksums: round % 4 < 2,
    isWriteback: round % 2 === 1,
  };
  await workRound(system);
  for (let n = 0; n < FIRST_STARTS && goesOn(); n += 1) {
    // The first two when all is told and nothing is under way; of the first, only that it is ready.
    const cut = draw(n < 2 ? Infinity : SPAN.first, system);
    const pairs = n === 0 ? 0 : 1 + Math.floor(random() * 3);
    const { loss, faults } = await first.runWithCut(cut, system, pairs);
    note("first start", system, cut, loss, faults);
  }
  if (goesOn()) await rotationRound(system);
}
report();

async function plugIn(folder: string): Promise<PowerCutDisk> {
  const program = compileDiskProgram(folder);
  try {
    const disk = await PowerCutDisk.attach(folder, program);
    const system = { commitSeconds: 5, hasMetadataChecksums: true, isWriteback: false };
    disk.format(null, system);
    disk.mount(system);
    await disk.unmount();
    return disk;
  } catch (error) {
    skip("power cuts", String(error));
    return finish();
  }
}

/** Else all that follows would prove nothing. */
async function proveDisk(): Promise<void> {
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
  const wanted = ["safe", false];
  check("what is synced outlives a cut, what is not is lost", Bun.deepEquals(found, wanted), found);
}

function goesOn(): boolean {
  reportProgress("cuts", totals.cuts, CUTS);
  return totals.cuts < CUTS && !(isHunt && faults.length > 0);
}

/** One file system and one data folder, cut again and again. */
async function workRound(system: Ext4Options): Promise<void> {
  const site = new PowerSite(disk, system, evidence);
  let found = await site.startFrom(templates.small);
  blame({ scene: "the beginning", system }, found);
  for (let n = 0; n < PER_SITE && goesOn() && found.length === 0; n += 1) {
    const stops = random() < 0.3;
    // Some may stop in peace.
    const span = random() < 0.3 ? Infinity : SPAN.stop;
    const cut = draw(stops ? span : SPAN.work, system);
    const done = stops
      ? await site.cutDuringStop(cut, work())
      : { loss: await site.cutUnderLoad(cut, work()), faults: [] };
    found = [...done.faults];
    while (random() < 0.15) {
      const again = draw(SPAN.start, system);
      note("start", system, again, await site.cutDuringStart(again), []);
      totals.again += 1;
    }
    found.push(...(await site.restartAndCheck()));
    note(stops ? "stop" : "work", system, cut, done.loss, found);
  }
  await leave(site, system);
}

/** A server whose journal is nearly full folds it while everybody works on. */
async function rotationRound(system: Ext4Options): Promise<void> {
  const site = new PowerSite(disk, system, evidence);
  const begun = await site.startFrom(templates.large);
  const cut = draw(SPAN.fold, system);
  const step = pick<CheckpointStep>(["begun", "written", "kept"]);
  const loss = await site.cutDuringRotation(cut, work(), step);
  totals.rotations += 1;
  note(`a fold ${step}`, system, cut, loss, [...begun, ...(await site.restartAndCheck())]);
  await leave(site, system);
}

async function leave(site: PowerSite, system: Ext4Options): Promise<void> {
  blame({ scene: "the end", system }, await site.stopAndCheck());
  totals.torn += site.figures.torn;
  totals.stops += site.figures.stops;
  for (const name of ["answered", "unanswered", "reads", "repeated"] as const) {
    sums[name] += site.expected.figures[name];
  }
}

function work(): Workload {
  const clients = 1 + Math.floor(random() * USERS);
  return { clients, random: createRandom(Math.floor(random() * 2 ** 31)) };
}

function draw(span: number, { hasMetadataChecksums }: Ext4Options): PowerCut {
  return {
    trigger: pick(["w", "w", "f", "f", "d"]),
    count: span === Infinity ? NEVER : 1 + Math.floor(random() * span),
    lossMode: pick<LossMode>(
      hasMetadataChecksums ? ["a", "z", "o", "b", "b", "b"] : ["z", "o", "b", "s", "s", "s"],
    ),
    seed: Math.floor(random() * 2 ** 31),
  };
}

function pick<T>(from: readonly [T, ...T[]]): T {
  return from[Math.floor(random() * from.length)] ?? from[0];
}

function note(
  scene: string,
  system: Ext4Options,
  cut: PowerCut,
  loss: LossReport,
  found: readonly PowerViolation[],
): void {
  totals.cuts += 1;
  totals.lost += loss.lostSectors;
  totals.unflushed += loss.unflushedSectors;
  blame({ scene, system, cut, loss }, found);
}

function blame(place: object, found: readonly PowerViolation[]): void {
  if (found.length === 0) return;
  const where = `SEED=${seed}, cut ${totals.cuts}: ${JSON.stringify(place)}`;
  const kept = isHunt ? "" : keep();
  for (const { promise, detail } of found) {
    faults.push({ promise, detail: `${where}${kept}: ${JSON.stringify(detail)}` });
  }
}

/** A copy of the data folder as the last cut left it: this moment does not come again. */
function keep(): string {
  const copy = join(tmpdir(), `berth-power-${seed}-${totals.cuts}`);
  cpSync(evidence, copy, { recursive: true });
  return `, folder kept in ${copy}`;
}

/** One line a promise, with the first way in which it was broken. */
function report(): never {
  const { starts, ready, keys } = first.figures;
  const promises: Readonly<Record<PowerPromise, string>> = {
    starts: `after ${totals.cuts} power cuts (${totals.lost} of ${totals.unflushed} unflushed sectors lost, ${totals.torn} torn tails, ${totals.again} cuts while starting) the server starts`,
    slots: `after ${sums.answered} answers and ${sums.unanswered} calls without one, every slot is as answered and none is invented`,
    counts: "every counter lies between what was answered and what was asked",
    once: `${sums.repeated} counts asked again under their keys count once`,
    shown: `what ${sums.reads} reads showed is there`,
    answers: "nobody is refused",
    record: `the auditor's record is whole, and so is the checkpoint before (${totals.rotations} cuts while folding under load)`,
    stops: `${totals.stops} clean stops leave nothing to replay`,
    first: `of ${starts} first starts ${ready} said ready and stay the same appliance with its ${keys} pairs of keys`,
  };
  for (const promise of Object.keys(promises) as PowerPromise[]) {
    const broken = faults.filter((fault) => fault.promise === promise);
    const detail = `${broken.length} times; ${broken[0]?.detail.slice(0, 1_800)}`;
    check(promises[promise], broken.length === 0, detail);
  }
  finish();
}
