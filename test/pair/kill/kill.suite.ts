// The kills of the file store, with a log in PostgreSQL: the same load, the same kill points and the
// same checks, on one host and on both hosts of a pair. After each kill the journal of the host must
// be the beginning of the log.
import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { killFirstStarts } from "../../faults/kill/first-starts.ts";
import { killUnderLoad } from "../../faults/kill/kill-under-load.ts";
import { checkLateCheckpoints } from "../../faults/kill/late-checkpoints.ts";
import { KILL_POINTS, KillResults, LOAD_PROMISES } from "../../faults/kill/results.ts";
import { expectKept, testPromises } from "../../faults/shared/promises.ts";
import { findFreePorts } from "../../support/free-ports.ts";
import {
  atEnd,
  chooseSize,
  createRandom,
  makeTempFolder,
  seed,
} from "../../support/suite-harness.ts";
import {
  admitHost,
  createDatabase,
  formPair,
  makeHost,
  serveOn,
  waitForLeader,
} from "../hosts-of-pair.ts";
import { PostgresCluster } from "../postgres-cluster.ts";
import {
  joinOnce,
  killJoin,
  killLeavingCommand,
  killLeavingServer,
  type StoppedPair,
} from "./killed-commands.ts";
import { LogServers, makeLogHost, startLeading, type PairKillCounts } from "./log-servers.ts";

const KILLS = chooseSize(60, 4_000, 30);
const FIRST_STARTS = chooseSize(12, 400, 8);
const LATE_CHECKPOINTS = chooseSize(3, 100, 2);
const COMMANDS = chooseSize(3, 100, 2);
/** More than there are cores: most of the time a host waits for the end of a term. */
const PARALLEL_SITES = 5;
const RUNS_PER_SITE = 60;

const root = makeTempFolder();
const cluster = PostgresCluster.start();
atEnd(() => cluster.remove());
const random = createRandom(seed);
const ports = findFreePorts(2 * PARALLEL_SITES);
const [firstPort = 0] = ports;

const counts: PairKillCounts = {
  takeovers: 0,
  bothHosts: 0,
  standbyCopying: 0,
  standbyStopping: 0,
  standbyRotating: 0,
  comparedLines: 0,
  verifiedFolders: 0,
};

describe("a killed host with a log", () => {
  test("has a checkpoint that outlives it and does not change the folder of the next server", async () => {
    const results = new KillResults("");
    const servers = new LogServers({
      root: join(root, "late"),
      databaseUrl: createDatabase(cluster),
      ports: [firstPort],
      random,
      counts,
    });
    await checkLateCheckpoints(LATE_CHECKPOINTS, servers, results);
    console.log(results.figures);
    expectKept(results.violations.map(({ detail }) => detail));
    expect(results.killsByPoint.late).toBeGreaterThan(0);
  });

  test("that was in its first start is completed by the next start", async () => {
    const results = new KillResults(`seed ${seed}, first starts`);
    const databases = new Map<string, string>();
    const findDatabase = (folder: string): string => {
      const url = databases.get(folder) ?? createDatabase(cluster);
      databases.set(folder, url);
      return url;
    };
    await killFirstStarts({
      killTarget: FIRST_STARTS,
      root,
      start: (folder) =>
        startLeading(makeLogHost("alpha", folder, firstPort, findDatabase(folder))),
      random,
      results,
      // Before it waits for the end of the term of the process before it.
      creation: { begin: 0.02, end: 0.5 },
    });
    console.log(results.figures);
    expectKept(results.violations.map(({ detail }) => detail));
    expect(results.killsByPoint.first).toBeGreaterThan(0);
  });
});

describe("after kills of hosts with a log under load", () => {
  let results = new KillResults("");

  beforeAll(async () => {
    results = await killUnderLoad({
      kills: KILLS,
      parallelSites: PARALLEL_SITES,
      runsPerSite: RUNS_PER_SITE,
      killsPerCycle: { load: 5, answer: 2, read: 1, start: 2, stop: 2, orphan: 2, rotation: 1 },
      root,
      makeServers(folder, index, siteRandom) {
        const [own = 0, other = 0] = ports.slice(2 * index);
        return new LogServers({
          root: folder,
          databaseUrl: createDatabase(cluster),
          // The first of them has one host, which is killed and started again alone.
          ports: index === 0 ? [own] : [own, other],
          random: siteRandom,
          counts,
        });
      },
    });
    console.log(`${results.figures}; ${JSON.stringify(counts)}`);
  });

  testPromises(
    {
      ...LOAD_PROMISES,
      journals: "after each kill the journal of a host is the beginning of the log, byte for byte",
    },
    (promise) => results.violationsOf(promise),
  );

  test("every kill point occurred, of the host that answers and of the one that follows", () => {
    if (results.hasViolations) return;
    const points = KILL_POINTS.filter((point) => point !== "first" && point !== "late");
    expect(points.filter((point) => results.killsByPoint[point] === 0)).toEqual([]);
    const { standbyCopying, standbyStopping, standbyRotating, ...others } = counts;
    const standbyKills = standbyCopying + standbyStopping + standbyRotating;
    const all = Object.entries({ ...others, standbyKills });
    expect(all.filter(([, count]) => count === 0)).toEqual([]);
    expect(results.counts.endedTerms).toBeLessThan(results.killCount);
  });
});

describe("a command of a pair", () => {
  /** Both hosts were stopped cleanly. */
  async function makeStoppedPair(): Promise<StoppedPair> {
    const { alpha, beta, servers, database } = await formPair(cluster);
    await servers.beta.stop();
    await servers.alpha.stop();
    const [first = 0, second = 0] = ports;
    return {
      cluster,
      database,
      alpha,
      beta,
      root: join(root, `copies-${database.split("/").pop()}`),
      ports: [first, second],
    };
  }

  test("that joins a host can be repeated after a kill, or has joined it", async () => {
    const database = createDatabase(cluster);
    const [alpha, beta] = [makeHost("alpha", database), makeHost("beta", database)];
    await serveOn(alpha);
    await waitForLeader(alpha, "alpha");
    const { admission } = await admitHost(alpha, beta);
    const host = { folder: beta.folder, admission, database, port: firstPort };
    const joinMs = await joinOnce(host, join(root, "join"));
    let kills = 0;
    for (let n = 0; n < 2 * COMMANDS; n += 1) {
      const delayMs = (0.3 + 0.8 * random()) * joinMs;
      if (await killJoin(host, join(root, `join-${n}`), delayMs)) kills += 1;
    }
    console.log(`${kills} of ${2 * COMMANDS} joins were killed`);
  });

  test("that ends the pair lets one host serve or both go on, after a kill of the leader", async () => {
    const pair = await makeStoppedPair();
    let kills = 0;
    for (let n = 0; n < COMMANDS; n += 1) {
      if (await killLeavingServer(pair, `server-${n}`, 60 + 240 * random())) kills += 1;
    }
    console.log(`${kills} of ${COMMANDS} leaders were killed before they answered`);
  });

  test("that ends the pair of stopped hosts can be repeated after a kill", async () => {
    const pair = await makeStoppedPair();
    let kills = 0;
    for (let n = 0; n < COMMANDS; n += 1) {
      const delayMs = n === 0 ? null : 20 + 200 * random();
      if (await killLeavingCommand(pair, `command-${n}`, delayMs)) kills += 1;
    }
    console.log(`${kills} of ${COMMANDS} commands were killed before their end`);
  });
});
