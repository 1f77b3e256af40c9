// Injects faults into every persistence call of the compiled binary: a kill before the call, an I/O
// error, a full disk, a short write; and delays every sync. Nothing is random: a first run records
// the calls, then each call is hit in a separate run.
//
// Each fault needs a server of its own. A kill ends it, a failed sync must end it, and strace is
// told when it starts which call to hit. Therefore a usual run tries fewer faults instead:
// chosen-faults.ts says which. What a fault leaves is mostly read from the folder, without a start.
import { describe, expect, test } from "bun:test";
import { realpathSync } from "node:fs";
import { availableParallelism } from "node:os";
import {
  makeTempFolder,
  requirePackages,
  testUnless,
  chooseSize,
  isDetectionRun,
} from "../../support/suite-harness.ts";
import { limitParallel } from "../shared/parallel.ts";
import { BrokenPromise, expectKept } from "../shared/promises.ts";
import { findOrderViolations } from "./call-order.ts";
import { chooseFaults } from "./chosen-faults.ts";
import { judgeRun, SYSCALL_PROMISES, type SyscallPromise } from "./judge.ts";
import { prepareSites } from "./prepared-sites.ts";
import { runScenario } from "./scenario-run.ts";
import { makeScenarios, type Scenario } from "./scenarios.ts";
import {
  SYNC_DELAY_MS,
  isSync,
  describeCall,
  callNumbersFor,
  type InjectedFault,
  type TracedCall,
} from "./strace.ts";
import { checkDelayedSyncs } from "./sync-delays.ts";

requirePackages({ strace: "strace", "util-linux": "prlimit" });
const straceTest = Bun.spawnSync(["strace", "-f", "-o", "/dev/null", "true"]);
const testWithStrace = testUnless(
  straceTest.exitCode === 0
    ? null
    : `strace is not allowed here: ${straceTest.stderr.toString().trim()}`,
);

/** More runs than cores, because most of a run is waiting: for the next probe or for an exit. */
const run = limitParallel(4 * availableParallelism());
/** A sync may need several attempts; all other calls are hit in the first. */
const MAX_ATTEMPTS = 60;

const root = realpathSync(makeTempFolder());

/** Why the scenarios cannot be prepared; null: they are. */
let obstacle: string | null = null;
const scenarios = await prepareSites(root)
  .then(makeScenarios)
  .catch((error: unknown) => {
    obstacle = String(error);
    return [];
  });

testWithStrace("a site can be created, licensed and used, and makes a checkpoint", () => {
  if (obstacle !== null) throw new BrokenPromise(obstacle);
  expect(scenarios).not.toBeEmpty();
});

/** In a soak, a second run shows that the calls are the same; a fault that misses its call does too. */
const RECORDED_RUNS = chooseSize(1, 2);

/** The calls of a scenario without faults, and what its runs showed. */
interface Recording {
  readonly calls: readonly TracedCall[];
  readonly violations: readonly string[];
  readonly orderViolations: readonly string[];
}

const recordings = new Map<Scenario, Promise<Recording>>();

function record(scenario: Scenario): Promise<Recording> {
  const recording = recordings.get(scenario) ?? recordRuns(scenario);
  recordings.set(scenario, recording);
  return recording;
}

async function recordRuns(scenario: Scenario): Promise<Recording> {
  const results = await Promise.all(
    Array.from({ length: RECORDED_RUNS }, () => run(() => runScenario(root, scenario, "record"))),
  );
  const isTested = ({ isDuringStart }: TracedCall): boolean =>
    scenario.tracedProcess === "checkpoint" || isDuringStart === (scenario.tracedPart === "start");
  const [first = [], second = first] = results.map(({ trace }) => trace.calls.filter(isTested));
  const [firstList, secondList] = [first, second].map((calls) =>
    calls.map(describeCall).toSorted().join(", "),
  );
  return {
    calls: first,
    violations: [
      ...results.flatMap(({ violations }) => violations),
      ...(firstList === secondList ? [] : [`first ${firstList}, then ${secondList}`]),
    ],
    orderViolations: results.flatMap(({ trace }) => findOrderViolations(scenario, trace.calls)),
  };
}

interface FaultTarget {
  readonly scenario: Scenario;
  readonly call: TracedCall;
  readonly fault: InjectedFault;
}

const runsByPromise = new Map<SyscallPromise, number>();
const totals = { calls: 0, syncs: 0, hits: 0, runs: 0, delayedAnswers: 0 };

/** Runs a scenario with one fault, and again if the fault hit another call; returns violations. */
async function runTarget({ scenario, call, fault }: FaultTarget): Promise<string[]> {
  const callNumbers = callNumbersFor(call);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const target = { call, fault, callNumber: callNumbers[attempt % callNumbers.length] ?? 1 };
    const result = await runScenario(root, scenario, target);
    totals.runs += 1;
    const { injectedCall } = result.trace;
    if (injectedCall === null) continue;
    const violations: string[] = [];
    for (const { promise, violation } of judgeRun(scenario, fault, injectedCall, result)) {
      runsByPromise.set(promise, (runsByPromise.get(promise) ?? 0) + 1);
      if (violation !== null) violations.push(`${SYSCALL_PROMISES[promise]}: ${violation}`);
    }
    const wasHit = describeCall(injectedCall) === describeCall(call);
    if (wasHit) totals.hits += 1;
    if (wasHit || violations.length > 0) return violations;
  }
  throw new Error(`${fault} never hit ${describeCall(call)}`);
}

/** Whether syncs of the scenario can be delayed. */
const hasDelays = ({ hasFullDisk, tracedProcess, runsCheckpoint }: Scenario): boolean =>
  !hasFullDisk && (tracedProcess === "server" || runsCheckpoint);

// Side by side: most of a run is waiting.
describe.concurrent("the server keeps its promises", () => {
  for (const [turn, scenario] of scenarios.entries()) {
    const title = `in scenario "${scenario.name}"`;

    testWithStrace(`${title}: runs without faults make the same calls`, async () => {
      const { calls, violations } = await record(scenario);
      totals.calls += calls.length;
      totals.syncs += calls.filter(isSync).length;
      expectKept(violations);
    });

    testWithStrace(
      `${title}: files are synced before a rename, new names before an old file is removed, and everything before the end`,
      async () => {
        expectKept((await record(scenario)).orderViolations);
      },
    );

    testWithStrace(`${title}: faults in every call`, async () => {
      const { calls } = await record(scenario);
      const violations: string[] = [];
      const targets = chooseFaults(scenario, calls, turn).map((chosen) => ({
        scenario,
        ...chosen,
      }));
      await Promise.all(
        targets.map((target) =>
          run(async () => {
            if (isDetectionRun && violations.length > 0) return;
            violations.push(...(await runTarget(target)));
          }),
        ),
      );
      expectKept(violations);
    });

    if (!hasDelays(scenario)) continue;
    testWithStrace(
      `${title}: no answer comes before a sync that takes ${SYNC_DELAY_MS / 1_000} s, and a checkpoint delays none`,
      async () => {
        const syncs = (await record(scenario)).calls.filter(isSync).length;
        if (scenario.tracedPart === "start" && syncs === 0) return;
        // Expects at least one sync, so that an operation without any sync fails.
        const checks = await run(() => checkDelayedSyncs(root, scenario, Math.max(1, syncs)));
        totals.delayedAnswers += checks.length;
        expectKept(checks.flatMap(({ violation }) => violation ?? []));
      },
    );
  }
});

test("all scenarios together have tested every promise", () => {
  console.log(JSON.stringify({ scenarios: scenarios.length, ...totals }));
  if (straceTest.exitCode !== 0) return;
  const promises = Object.keys(SYSCALL_PROMISES) as SyscallPromise[];
  expect(promises.filter((promise) => !runsByPromise.has(promise))).toEqual([]);
});
