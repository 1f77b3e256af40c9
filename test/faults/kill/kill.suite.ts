// Kills the server with SIGKILL at random times under load, hundreds of times. Every change that
// was answered or shown must be there after the restart, and no other.
import { beforeAll, describe, expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { killFirstStarts } from "./first-starts.ts";
import { KILL_POINTS, LOAD_PROMISES, KillResults, type KillPoint } from "./results.ts";
import { KillSite } from "./kill-site.ts";
import { checkLateCheckpoints } from "./late-checkpoints.ts";
import {
  createRandom,
  reportProgress,
  makeTempFolder,
  seed,
  chooseSize,
  isDetectionRun,
} from "../../support/suite-harness.ts";
import { expectKept, testPromises } from "../shared/promises.ts";
import { findFreePorts } from "../shared/server-process.ts";

type LicensedKillPoint = Exclude<KillPoint, "first" | "late">;

/** Kills happen at random times; with a planted bug they go on until one of them shows it. */
const KILLS = isDetectionRun ? 3_000 : chooseSize(300, 10_000, 80);
const FIRST_STARTS = chooseSize(20, 400, 8);
const LATE_CHECKPOINTS = chooseSize(6, 100, 2);
const PARALLEL_SITES = Math.min(4, availableParallelism());
/**
 * A folder is replaced after this many runs, because its growing state would slow down its starts.
 */
const RUNS_PER_FOLDER = 160;

/** How many runs in each cycle end at which kill point; the order is shuffled. */
const KILLS_PER_CYCLE: Readonly<Record<LicensedKillPoint, number>> = {
  load: 14,
  answer: 9,
  read: 7,
  start: 4,
  stop: 8,
  orphan: 7,
  rotation: 1,
};

const siteResults: KillResults[] = [];
const root = makeTempFolder();
const ports = findFreePorts(PARALLEL_SITES, createRandom(seed));

const hasViolations = (): boolean => siteResults.some((results) => results.hasViolations);
const countKills = (): number => siteResults.reduce((sum, results) => sum + results.killCount, 0);

/** Kills the servers of one folder after the other, on one port. */
async function runSites(index: number): Promise<void> {
  for (let n = index; countKills() < KILLS && !hasViolations(); n += PARALLEL_SITES) {
    const random = createRandom(seed + n);
    const results = new KillResults(`seed ${seed}, folder ${n}`);
    siteResults.push(results);
    const path = join(root, `site-${n}`);
    const site = new KillSite(path, ports[index] ?? 0, random, results);
    await site.create();
    let killPoints: LicensedKillPoint[] = [];
    for (let run = 0; run < RUNS_PER_FOLDER && countKills() < KILLS && !hasViolations(); run += 1) {
      if (killPoints.length === 0) killPoints = shuffleKillPoints(random);
      await site.runAndKill(killPoints.pop() ?? "load");
      reportProgress("kills", countKills(), KILLS);
    }
    if (!hasViolations()) await site.runToCleanStop();
    if (results.hasViolations) keepFolder(path, n);
  }
}

function shuffleKillPoints(random: () => number): LicensedKillPoint[] {
  const killPoints = Object.entries(KILLS_PER_CYCLE).flatMap(([killPoint, count]) =>
    Array.from({ length: count }, () => ({
      killPoint: killPoint as LicensedKillPoint,
      order: random(),
    })),
  );
  return killPoints.toSorted((a, b) => a.order - b.order).map(({ killPoint }) => killPoint);
}

/** A kill cannot be repeated to the microsecond, so the folder it left is copied for analysis. */
function keepFolder(path: string, n: number): void {
  if (isDetectionRun) return;
  const copy = join(tmpdir(), `berth-kill-${seed}-${n}`);
  cpSync(path, copy, { recursive: true, filter: (name) => !name.endsWith(".sock") });
  console.log(`the data folder with the violation is copied to ${copy}`);
}

describe("a killed server", () => {
  test("has a checkpoint that outlives it and does not change the folder of the next server", async () => {
    const results = new KillResults("");
    await checkLateCheckpoints(LATE_CHECKPOINTS, root, ports[0] ?? 0, results);
    console.log(results.figures);
    expectKept(results.violations.map(({ detail }) => detail));
    expect(results.killsByPoint.late).toBeGreaterThan(0);
  });

  test("that was in its first start is completed by the next start", async () => {
    const results = new KillResults(`seed ${seed}, first starts`);
    await killFirstStarts(FIRST_STARTS, root, ports[0] ?? 0, createRandom(seed), results);
    console.log(results.figures);
    expectKept(results.violations.map(({ detail }) => detail));
    expect(results.killsByPoint.first).toBeGreaterThan(0);
  });
});

describe("after kills under load", () => {
  let results = new KillResults("");

  beforeAll(async () => {
    await Promise.all(ports.map((_, index) => runSites(index)));
    results = KillResults.sum(siteResults);
    console.log(results.figures);
  });

  testPromises(LOAD_PROMISES, (promise) => results.violationsOf(promise));

  test("every kill point occurred, and a checkpoint outlived its server", () => {
    if (results.hasViolations) return;
    const points = KILL_POINTS.filter((point) => point !== "first" && point !== "late");
    expect(points.filter((point) => results.killsByPoint[point] === 0)).toEqual([]);
    expect(results.counts.orphans).toBeGreaterThan(0);
  });
});
