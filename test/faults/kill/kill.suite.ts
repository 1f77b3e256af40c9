// Kills the server with SIGKILL at random times under load, hundreds of times. Every change that
// was answered or shown must be there after the restart, and no other.
import { beforeAll, describe, expect, test } from "bun:test";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { killFirstStarts } from "./first-starts.ts";
import { FolderServers } from "./kill-servers.ts";
import { killUnderLoad } from "./kill-under-load.ts";
import { KILL_POINTS, LOAD_PROMISES, KillResults } from "./results.ts";
import { checkLateCheckpoints } from "./late-checkpoints.ts";
import {
  createRandom,
  makeTempFolder,
  seed,
  chooseSize,
  isDetectionRun,
} from "../../support/suite-harness.ts";
import { expectKept, testPromises } from "../shared/promises.ts";
import { findFreePorts } from "../../support/free-ports.ts";
import { startServer } from "../shared/server-process.ts";

/** Kills happen at random times; with a planted bug they go on until one of them shows it. */
const KILLS = isDetectionRun ? 3_000 : chooseSize(150, 10_000, 60);
const FIRST_STARTS = chooseSize(12, 400, 8);
const LATE_CHECKPOINTS = chooseSize(4, 100, 2);
const PARALLEL_SITES = Math.min(4, availableParallelism());
const RUNS_PER_SITE = 160;

const root = makeTempFolder();
const ports = findFreePorts(PARALLEL_SITES);
const [firstPort = 0] = ports;

describe("a killed server", () => {
  test("has a checkpoint that outlives it and does not change the folder of the next server", async () => {
    const results = new KillResults("");
    const servers = new FolderServers(join(root, "late"), firstPort);
    await checkLateCheckpoints(LATE_CHECKPOINTS, servers, results);
    console.log(results.figures);
    expectKept(results.violations.map(({ detail }) => detail));
    expect(results.killsByPoint.late).toBeGreaterThan(0);
  });

  test("that was in its first start is completed by the next start", async () => {
    const results = new KillResults(`seed ${seed}, first starts`);
    await killFirstStarts({
      killTarget: FIRST_STARTS,
      root,
      start: (folder) => startServer(folder, firstPort),
      random: createRandom(seed),
      results,
      // In its last part.
      creation: { begin: 0.3, end: 1.1 },
    });
    console.log(results.figures);
    expectKept(results.violations.map(({ detail }) => detail));
    expect(results.killsByPoint.first).toBeGreaterThan(0);
  });
});

describe("after kills under load", () => {
  let results = new KillResults("");

  beforeAll(async () => {
    results = await killUnderLoad({
      kills: KILLS,
      parallelSites: PARALLEL_SITES,
      runsPerSite: RUNS_PER_SITE,
      killsPerCycle: { load: 14, answer: 9, read: 7, start: 4, stop: 8, orphan: 7, rotation: 1 },
      root,
      makeServers: (folder, index) => new FolderServers(folder, ports[index] ?? 0),
    });
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
