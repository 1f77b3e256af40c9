// Fills the disk wherever the store writes: byte by byte on a disk in memory, and under the
// compiled binary on a small tmpfs. Checks that no granted change is lost, that no refused change
// is shown, and that the server grants changes again when there is free space.
import { join } from "node:path";
import { runCheckpoint } from "../damage/unread-files.ts";
import { startFromTree } from "../damage/judge.ts";
import { recordSiteHistory } from "../damage/site-history.ts";
import * as backgroundWrites from "./background-writes.ts";
import { SmallDisk } from "./small-disk.ts";
import type { EdgeCase, RoundResult } from "./full-site.ts";
import { BATCHES, tryFullJournal, tryProbe, makeReferenceRun } from "./journal-writes.ts";
import {
  check,
  finish,
  createRandom,
  makeTempFolder,
  seed,
  chooseSize,
  skip,
} from "../../support/suite-harness.ts";
import { fileBytes, type FileTree } from "../shared/memory-disk.ts";

/** How many violations of a promise are printed; the others are only counted. */
const MAX_PRINTED = 5;
/**
 * Several sites run in parallel, because a round mostly waits for the next check for free space.
 */
const SITES = 3;
/**
 * Below the kernel's ephemeral ports, and different for each process, so that two runs can overlap.
 */
const FIRST_PORT = 20_000 + (process.pid % 4_000) * SITES;
const stopsAtFirstViolation = process.argv.includes("--fail-fast");

const history = await recordSiteHistory(join(makeTempFolder(), "own"), "own");
await checkJournal();
await checkBackgroundWrites();
await checkServer();
finish();

function checkNoViolations(promise: string, results: readonly (string | null)[]): void {
  const violations = results.filter((result) => result !== null);
  const details = [
    `SEED=${seed}, violated ${violations.length} times`,
    ...violations.slice(0, MAX_PRINTED),
  ];
  check(promise, violations.length === 0, details.join("\n         "));
}

function treeAt(name: string): FileTree {
  return history.snapshots.find((snapshot) => snapshot.name === name)?.tree ?? new Map();
}

function newestSegment(tree: FileTree): string {
  const firstSeqs = [...tree.keys()].map((name) => Number(/^journal-(\d+)/.exec(name)?.[1] ?? 0));
  return `journal-${Math.max(...firstSeqs)}.jsonl`;
}

async function checkJournal(): Promise<void> {
  const reference = await makeReferenceRun(treeAt("running"), newestSegment(treeAt("running")));
  const [start = 0] = reference.batchEnds;
  await tryEach(
    `a disk that fills at any byte of ${BATCHES.length} journal batches refuses the waiting calls, loses no granted one, and recovers`,
    Array.from({ length: reference.journal.length - start + 1 }, (_, freeBytes) => freeBytes),
    (freeBytes) => tryFullJournal(reference, freeBytes),
  );
  const random = createRandom(seed);
  const randomSizes = Array.from({ length: chooseSize(200, 2_000) }, () =>
    Math.floor(random() * 300_000),
  );
  await tryEach(
    "the check for free space leaves no file behind, however much space it finds",
    [0, 1, 262_143, 262_144, 262_145, 2 ** 20, 2 ** 21, ...randomSizes],
    (freeBytes) => tryProbe(reference, freeBytes),
  );
}

async function tryEach(
  promise: string,
  freeByteSizes: readonly number[],
  work: (freeBytes: number) => Promise<string | null>,
): Promise<void> {
  const results: (string | null)[] = [];
  for (const freeBytes of freeByteSizes) {
    const reason = await work(freeBytes).catch((error: unknown) => `it threw ${String(error)}`);
    results.push(reason && `with ${freeBytes} bytes free: ${reason}`);
    if (stopsAtFirstViolation && reason !== null) break;
  }
  checkNoViolations(`${promise} (${freeByteSizes.length} times)`, results);
}

/**
 * Sizes below `end` at a fixed step, with an offset that depends on the seed; in a soak every size.
 */
function sizesBelow(end: number, usualStep: number): number[] {
  const step = chooseSize(usualStep, 1);
  const offset = seed % step;
  return Array.from(
    { length: Math.ceil((end - offset) / step) },
    (_, index) => offset + index * step,
  );
}

async function checkBackgroundWrites(): Promise<void> {
  for (const pending of history.pendingCheckpoints) {
    const clean = await runCheckpoint(pending);
    const { state } = await startFromTree(pending.tree);
    const totalSize = (tree: FileTree): number =>
      [...tree.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
    const maxGrowth =
      totalSize(clean) - totalSize(pending.tree) + fileBytes(clean, "state.json").length;
    await tryEach(
      `a checkpoint into ${pending.name} that fills the disk changes nothing, and the next checkpoint completes`,
      sizesBelow(maxGrowth + 10, 13),
      (freeBytes) => backgroundWrites.tryCheckpoint(pending, clean, state ?? "", freeBytes),
    );
    await tryEach(
      `a checkpoint into ${pending.name} that does not fit on the disk does not start`,
      sizesBelow(maxGrowth, 301),
      (freeBytes) => backgroundWrites.tryRefusedCheckpoint(pending, freeBytes),
    );
  }
  const torn = backgroundWrites.tearSegment(treeAt("running"), newestSegment(treeAt("running")));
  const { state } = await startFromTree(torn);
  await tryEach(
    "a start on a full disk does not cut a torn tail before its copy is durable",
    sizesBelow(500, 1),
    (freeBytes) => backgroundWrites.tryStartWithTornTail(torn, state ?? "", freeBytes),
  );
  await tryEach(
    "a first start that filled the disk is completed by the next start as the same appliance",
    sizesBelow(2_500, 1),
    backgroundWrites.tryFirstStart,
  );
  await tryEach(
    "a change of credentials on a full disk replaces both of them or neither",
    sizesBelow(200, 1),
    (freeBytes) => backgroundWrites.tryCredentialsChange(treeAt("running"), freeBytes),
  );
  await tryEach("a rotation that cannot create a segment continues with the current one", [0], () =>
    backgroundWrites.tryRotationWithoutNewFiles(treeAt("running")),
  );
  await tryEach(
    "a stop on a full disk loses no granted change",
    sizesBelow(12_000, 101),
    (freeBytes) => backgroundWrites.tryStop(treeAt("running"), freeBytes),
  );
}

async function checkServer(): Promise<void> {
  const subject = "the compiled binary on a full disk";
  const disks: SmallDisk[] = [];
  for (let count = 0; count < SITES; count += 1) {
    const disk = SmallDisk.mount(16);
    if (typeof disk === "string") return skip(subject, disk);
    disks.push(disk);
  }
  // Imported only now, because the import builds the binary.
  const { EDGE_CASES, FullSite } = await import("./full-site.ts");
  const rounds: RoundResult[] = [];
  const edgeResults: (string | null)[] = [];
  const queue = Array.from({ length: chooseSize(30, 300) }, (_, round) => round);
  const edgeCases = Object.keys(EDGE_CASES) as EdgeCase[];
  const runSite = async (disk: SmallDisk, index: number): Promise<void> => {
    const site = await FullSite.start(disk, FIRST_PORT + index);
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const round = await site.runRound(createRandom(seed + next));
      rounds.push({
        ...round,
        violations: round.violations.map((reason) => `round ${next}: ${reason}`),
      });
      if (stopsAtFirstViolation && round.violations.length > 0) queue.length = 0;
    }
    for (let next = edgeCases.shift(); next !== undefined; next = edgeCases.shift()) {
      const reason = await site.runEdgeCase(next);
      edgeResults.push(reason && `${EDGE_CASES[next]}: ${reason}`);
    }
    await site.close();
  };
  const recordCrash = (error: unknown): void =>
    void edgeResults.push(`the suite crashed: ${String(error)}`);
  await Promise.all(disks.map((disk, index) => runSite(disk, index).catch(recordCrash)));
  const sum = (pick: (round: RoundResult) => number): number =>
    rounds.reduce((total, round) => total + pick(round), 0);
  checkNoViolations(
    `${subject} answers reads and shows every granted change and no refused one, also after a kill (${rounds.length} rounds, ${sum(({ granted }) => granted)} granted, ${sum(({ refused }) => refused)} refused, ${sum(({ reads }) => reads)} reads)`,
    rounds.flatMap(({ violations }) => violations),
  );
  const slowestMs = Math.max(...rounds.map(({ recoveryMs }) => recoveryMs));
  check(
    `${subject} grants changes again when there is free space (slowest after ${slowestMs.toFixed(0)} ms)`,
    rounds.length > 0,
  );
  checkNoViolations(
    `${subject} reports it at a start or a stop and loses no change (${edgeResults.length} cases)`,
    edgeResults,
  );
}
