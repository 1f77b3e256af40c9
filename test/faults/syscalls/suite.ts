// Injects every possible fault into every persistence call of the compiled binary: a kill before
// the call, an I/O error, a full disk, a short write; and delays every sync. Nothing is random: a
// first run records the calls, then each call is hit in a separate run.
import { realpathSync } from "node:fs";
import { availableParallelism } from "node:os";
import {
  check,
  finish,
  requirePackages,
  makeTempFolder,
  skip,
} from "../../support/suite-harness.ts";
import { checkDelayedSyncs, type DelayCheck } from "./sync-delays.ts";
import { judgeRun, SYSCALL_PROMISES, type SyscallPromise } from "./judge.ts";
import { findOrderViolations } from "./call-order.ts";
import { runScenario } from "./scenario-run.ts";
import { makeScenarios, type Scenario } from "./scenarios.ts";
import { prepareSites } from "./prepared-sites.ts";
import {
  SYNC_DELAY_MS,
  INJECTED_FAULTS,
  faultsFor,
  isSync,
  describeCall,
  callNumbersFor,
} from "./strace.ts";
import type { TracedCall, InjectedFault } from "./strace.ts";

requirePackages({ strace: "strace", "util-linux": "prlimit" });
const straceTest = Bun.spawnSync(["strace", "-f", "-o", "/dev/null", "true"]);
if (straceTest.exitCode !== 0) {
  skip(
    "the server keeps its promises with every fault in every persistence call",
    `strace is not allowed here: ${straceTest.stderr.toString()}`,
  );
  finish();
}

/** More runs than cores, because most of a run is waiting: for the next probe or for an exit. */
const PARALLEL_RUNS = 4 * availableParallelism();
/** A sync may need several attempts; all other calls are hit in the first. */
const MAX_ATTEMPTS = 60;

/** `--scenario=NAME` runs this scenario only. */
const [scenarioName] = process.argv.flatMap((arg) => /^--scenario=(.*)$/.exec(arg)?.[1] ?? []);

const root = realpathSync(makeTempFolder());
const scenarios = (await prepareScenarios()).filter(
  ({ name }) => scenarioName === undefined || name === scenarioName,
);
if (scenarios.length === 0) throw new Error(`there is no scenario ${scenarioName}`);

interface FaultTarget {
  readonly scenario: Scenario;
  readonly call: TracedCall;
  readonly fault: InjectedFault;
}

const isFailFast = process.argv.includes("--fail-fast");

const calls = await recordCalls();
const runsByPromise = new Map<SyscallPromise, number>();
const violationsByPromise = new Map<SyscallPromise, string[]>();
const hitsByFault = new Map<InjectedFault, number>();
const missedTargets: string[] = [];
const reported = new Set<SyscallPromise>();
let runCount = 0;
const targets = scenarios.flatMap((scenario) =>
  (calls.get(scenario) ?? []).flatMap((call) =>
    faultsFor(call)
      .filter((fault) => scenario.faults?.includes(fault) ?? true)
      .map((fault): FaultTarget => ({ scenario, call, fault })),
  ),
);
// First the journal, which most answers depend on, then one call of each scenario in turn.
await inParallel(
  targets.toSorted((a, b) => runOrder(a) - runOrder(b)),
  PARALLEL_RUNS,
  runTarget,
);
reportAll();
await checkDelays();
finish();

async function prepareScenarios(): Promise<readonly Scenario[]> {
  try {
    return makeScenarios(await prepareSites(root));
  } catch (error) {
    check("a site can be created, licensed and used, and makes a checkpoint", false, String(error));
    return finish();
  }
}

/** Records the calls of each scenario without faults, twice: they must be the same. */
async function recordCalls(): Promise<ReadonlyMap<Scenario, readonly TracedCall[]>> {
  const callsByScenario = new Map<Scenario, TracedCall[][]>(
    scenarios.map((scenario) => [scenario, []]),
  );
  const violations: string[] = [];
  const orderViolations: string[] = [];
  await inParallel([...scenarios, ...scenarios], PARALLEL_RUNS, async (scenario) => {
    const result = await runScenario(root, scenario, "record");
    const isTested = ({ isDuringStart }: TracedCall): boolean =>
      scenario.tracedProcess === "checkpoint" ||
      isDuringStart === (scenario.tracedPart === "start");
    callsByScenario.get(scenario)?.push(result.trace.calls.filter(isTested));
    orderViolations.push(
      ...findOrderViolations(scenario, result.trace.calls).map(
        (violation) => `${scenario.name}: ${violation}`,
      ),
    );
    violations.push(...result.violations.map((violation) => `${scenario.name}: ${violation}`));
  });
  const tested = new Map<Scenario, readonly TracedCall[]>();
  for (const [scenario, [first = [], second = []]] of callsByScenario) {
    const [firstList, secondList] = [first, second].map((list) =>
      list.map(describeCall).toSorted().join(", "),
    );
    if (firstList !== secondList)
      violations.push(`${scenario.name}: first ${firstList}, then ${secondList}`);
    tested.set(scenario, first);
  }
  const allCalls = [...tested.values()].flat();
  check(
    `two runs of a scenario without faults succeed and make the same persistence calls ` +
      `(${scenarios.length} scenarios, ${allCalls.length} calls, ${allCalls.filter(isSync).length} of them syncs)`,
    violations.length === 0,
    violations,
  );
  check(
    `files are synced before a rename, new names before an old file is removed, and everything before ` +
      `the end (${2 * scenarios.length} trace logs)`,
    orderViolations.length === 0,
    orderViolations,
  );
  return tested;
}

/** Checks that no answer comes before the syncs that it depends on. */
async function checkDelays(): Promise<void> {
  const delayChecks: DelayCheck[] = [];
  const delayed = scenarios.filter(
    (scenario) =>
      !scenario.hasFullDisk &&
      (scenario.tracedProcess === "server" || scenario.runsCheckpoint) &&
      (scenario.tracedPart === "rest" || countSyncs(scenario) > 0),
  );
  await inParallel(delayed, PARALLEL_RUNS, async (scenario) => {
    // Expects at least one sync, so that an operation without any sync fails.
    delayChecks.push(
      ...(await checkDelayedSyncs(root, scenario, Math.max(1, countSyncs(scenario)))),
    );
  });
  const violations = delayChecks.flatMap(({ violation }) => violation ?? []);
  check(
    "no answer, read or refusal comes before the sync it depends on, and a checkpoint delays no answer " +
      `(${delayed.length} scenarios with syncs delayed by ${SYNC_DELAY_MS / 1_000} s, ${delayChecks.length} answers)`,
    violations.length === 0,
    violations,
  );
}

function countSyncs(scenario: Scenario): number {
  return (calls.get(scenario) ?? []).filter(isSync).length;
}

function runOrder({ scenario, call }: FaultTarget): number {
  if (call.path.startsWith("journal-")) return -1;
  return (calls.get(scenario) ?? []).indexOf(call);
}

/** Runs a scenario with one fault, and again if the fault hit another call. */
async function runTarget({ scenario, call, fault }: FaultTarget): Promise<void> {
  const callNumbers = callNumbersFor(call);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const target = { call, fault, callNumber: callNumbers[attempt % callNumbers.length] ?? 1 };
    const result = await runScenario(root, scenario, target);
    runCount += 1;
    const { injectedCall } = result.trace;
    if (injectedCall === null) continue;
    for (const { promise, violation } of judgeRun(scenario, fault, injectedCall, result)) {
      runsByPromise.set(promise, (runsByPromise.get(promise) ?? 0) + 1);
      if (violation === null) continue;
      violationsByPromise.set(promise, [...(violationsByPromise.get(promise) ?? []), violation]);
      if (isFailFast) reportPromise(promise);
    }
    if (describeCall(injectedCall) !== describeCall(call)) continue;
    hitsByFault.set(fault, (hitsByFault.get(fault) ?? 0) + 1);
    return;
  }
  missedTargets.push(`${scenario.name}, ${fault} at ${describeCall(call)}`);
}

function reportAll(): void {
  const figures = INJECTED_FAULTS.map((fault) => `${fault} ${hitsByFault.get(fault) ?? 0}`).join(
    ", ",
  );
  check(
    `every recorded call is hit by every fault that is possible for it (${figures}; ${runCount} runs)`,
    missedTargets.length === 0 && runCount >= targets.length,
    missedTargets,
  );
  const promises = Object.keys(SYSCALL_PROMISES) as SyscallPromise[];
  // A single scenario need not test every promise.
  for (const promise of promises)
    if (scenarioName === undefined || runsByPromise.has(promise)) reportPromise(promise);
}

function reportPromise(promise: SyscallPromise): void {
  const details = violationsByPromise.get(promise) ?? [];
  if (reported.has(promise)) return;
  reported.add(promise);
  const text = `${SYSCALL_PROMISES[promise]} (${runsByPromise.get(promise) ?? 0} runs)`;
  check(text, details.length === 0 && runsByPromise.has(promise), details.slice(0, 5));
}

async function inParallel<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  await Promise.all(
    Array.from({ length: limit }, async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await work(next);
    }),
  );
}
