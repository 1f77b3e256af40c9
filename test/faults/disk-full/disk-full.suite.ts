// Fills the disk wherever the store writes: byte by byte on a disk in memory, and under the
// compiled binary on a small tmpfs. Checks that no granted change is lost, that no refused change
// is shown, and that the server grants changes again when there is free space.
import { beforeAll, describe, test } from "bun:test";
import { join } from "node:path";
import { runCheckpoint } from "../damage/unread-files.ts";
import { startFromTree } from "../damage/judge.ts";
import { recordSiteHistory, type PendingCheckpoint } from "../damage/site-history.ts";
import * as backgroundWrites from "./background-writes.ts";
import { SmallDisk } from "./small-disk.ts";
import type { EdgeCase, FullSite, RoundResult } from "./full-site.ts";
import {
  BATCHES,
  makeReferenceRun,
  tryFullJournal,
  tryProbe,
  type ReferenceRun,
} from "./journal-writes.ts";
import {
  createRandom,
  makeTempFolder,
  seed,
  chooseSize,
  testUnless,
  isDetectionRun,
} from "../../support/suite-harness.ts";
import { expectKept } from "../shared/promises.ts";
import { fileBytes, type FileTree } from "../shared/memory-disk.ts";

/**
 * Several sites run in parallel, because a round mostly waits for the next check for free space.
 */
const SITES = 3;
/**
 * Below the kernel's ephemeral ports, and different for each process, so that two runs can overlap.
 */
const FIRST_PORT = 20_000 + (process.pid % 4_000) * SITES;

const history = await recordSiteHistory(join(makeTempFolder(), "own"), "own");

function treeAt(name: string): FileTree {
  return history.snapshots.find((snapshot) => snapshot.name === name)?.tree ?? new Map();
}

function newestSegment(tree: FileTree): string {
  const firstSeqs = [...tree.keys()].map((name) => Number(/^journal-(\d+)/.exec(name)?.[1] ?? 0));
  return `journal-${Math.max(...firstSeqs)}.jsonl`;
}

/** Throws if a promise is broken with one of these sizes of free space. */
async function tryEach(
  freeByteSizes: readonly number[],
  work: (freeBytes: number) => Promise<string | null>,
): Promise<void> {
  const violations: string[] = [];
  for (const freeBytes of freeByteSizes) {
    const reason = await work(freeBytes).catch((error: unknown) => `it threw ${String(error)}`);
    if (reason !== null) violations.push(`SEED=${seed}, with ${freeBytes} bytes free: ${reason}`);
    if (isDetectionRun && reason !== null) break;
  }
  console.log(`${freeByteSizes.length} sizes`);
  expectKept(violations);
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

describe("a disk that is full while the journal is written", () => {
  let reference: ReferenceRun;

  beforeAll(async () => {
    reference = await makeReferenceRun(treeAt("running"), newestSegment(treeAt("running")));
  });

  test(`refuses the waiting calls at any byte of ${BATCHES.length} batches, loses no granted one, and recovers`, async () => {
    const [start = 0] = reference.batchEnds;
    const aroundEnds = reference.batchEnds.flatMap((end) => [end - 1, end, end + 1]);
    const sizes = new Set([
      ...sizesBelow(reference.journal.length - start + 1, 7),
      ...aroundEnds.map((end) => end - start).filter((size) => size >= 0),
    ]);
    await tryEach([...sizes], (freeBytes) => tryFullJournal(reference, freeBytes));
  });

  test("has no file of the check for free space left, however much space there is", async () => {
    const random = createRandom(seed);
    const randomSizes = Array.from({ length: chooseSize(60, 2_000) }, () =>
      Math.floor(random() * 300_000),
    );
    await tryEach(
      [0, 1, 262_143, 262_144, 262_145, 2 ** 20, 2 ** 21, ...randomSizes],
      (freeBytes) => tryProbe(reference, freeBytes),
    );
  });
});

/** How many bytes a checkpoint adds at most, while the old state is still there. */
async function measureCheckpoint(pending: PendingCheckpoint) {
  const clean = await runCheckpoint(pending);
  const { state } = await startFromTree(pending.tree);
  const totalSize = (tree: FileTree): number =>
    [...tree.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
  const maxGrowth =
    totalSize(clean) - totalSize(pending.tree) + fileBytes(clean, "state.json").length;
  return { clean, state: state ?? "", maxGrowth };
}

describe.each(history.pendingCheckpoints.map((pending) => [pending.name, pending] as const))(
  "a checkpoint into %s",
  (_name, pending) => {
    test("that fills the disk changes nothing, and the next checkpoint completes", async () => {
      const { clean, state, maxGrowth } = await measureCheckpoint(pending);
      await tryEach(sizesBelow(maxGrowth + 10, 41), (freeBytes) =>
        backgroundWrites.tryCheckpoint(pending, clean, state, freeBytes),
      );
    });

    test("that does not fit on the disk does not start", async () => {
      const { maxGrowth } = await measureCheckpoint(pending);
      await tryEach(sizesBelow(maxGrowth, 601), (freeBytes) =>
        backgroundWrites.tryRefusedCheckpoint(pending, freeBytes),
      );
    });
  },
);

describe("on a full disk", () => {
  test("a start does not cut a torn tail before its copy is durable", async () => {
    const running = treeAt("running");
    const torn = backgroundWrites.tearSegment(running, newestSegment(running));
    const { state } = await startFromTree(torn);
    await tryEach(sizesBelow(500, 1), (freeBytes) =>
      backgroundWrites.tryStartWithTornTail(torn, state ?? "", freeBytes),
    );
  });

  test("a first start is completed by the next start as the same appliance", async () => {
    await tryEach(sizesBelow(2_500, 5), backgroundWrites.tryFirstStart);
  });

  test("a change of credentials replaces both of them or neither", async () => {
    await tryEach(sizesBelow(200, 1), (freeBytes) =>
      backgroundWrites.tryCredentialsChange(treeAt("running"), freeBytes),
    );
  });

  test("a rotation that cannot create a segment continues with the current one", async () => {
    await tryEach([0], () => backgroundWrites.tryRotationWithoutNewFiles(treeAt("running")));
  });

  test("a stop loses no granted change", async () => {
    await tryEach(sizesBelow(12_000, 101), (freeBytes) =>
      backgroundWrites.tryStop(treeAt("running"), freeBytes),
    );
  });
});

const disks = Array.from({ length: SITES }, () => SmallDisk.mount(16));
const smallDisks = disks.filter((disk) => typeof disk !== "string");
const testWithDisks = testUnless(disks.find((disk) => typeof disk === "string") ?? null);

/** Starts a site on each disk, and lets the sites take turns until `work` has nothing to do. */
async function onEachDisk(work: (site: FullSite) => Promise<void>): Promise<void> {
  // Imported only now, because the import builds the binary.
  const { FullSite } = await import("./full-site.ts");
  await Promise.all(
    smallDisks.map(async (disk, index) => {
      const site = await FullSite.start(disk, FIRST_PORT + index);
      await work(site);
      await site.close();
    }),
  );
}

describe("the compiled binary on a full disk", () => {
  testWithDisks(
    "answers reads, shows every granted change and no refused one, also after a kill, and grants changes again when there is free space",
    async () => {
      const rounds: RoundResult[] = [];
      const violations: string[] = [];
      const queue = Array.from({ length: chooseSize(12, 300) }, (_, round) => round);
      await onEachDisk(async (site) => {
        for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
          const round = await site.runRound(createRandom(seed + next));
          rounds.push(round);
          violations.push(
            ...round.violations.map((reason) => `SEED=${seed}, round ${next}: ${reason}`),
          );
          if (isDetectionRun && violations.length > 0) queue.length = 0;
        }
      });
      const sum = (pick: (round: RoundResult) => number): number =>
        rounds.reduce((total, round) => total + pick(round), 0);
      const slowestMs = Math.max(...rounds.map(({ recoveryMs }) => recoveryMs));
      console.log(
        `${rounds.length} rounds, ${sum(({ granted }) => granted)} granted, ` +
          `${sum(({ refused }) => refused)} refused, ${sum(({ reads }) => reads)} reads, ` +
          `slowest recovery after ${slowestMs.toFixed(0)} ms`,
      );
      expectKept(violations);
    },
  );

  testWithDisks("reports it at a start or a stop and loses no change", async () => {
    const { EDGE_CASES } = await import("./full-site.ts");
    const violations: string[] = [];
    const edgeCases = Object.keys(EDGE_CASES) as EdgeCase[];
    await onEachDisk(async (site) => {
      for (let next = edgeCases.shift(); next !== undefined; next = edgeCases.shift()) {
        const reason = await site.runEdgeCase(next);
        if (reason !== null) violations.push(`${EDGE_CASES[next]}: ${reason}`);
      }
    });
    expectKept(violations);
  });
});
