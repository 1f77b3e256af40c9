// Every persistence call of the compiled binary, with every fault a kernel can answer it with: the
// process killed before it, an I/O error, no room, a short write; and every sync held up. Nothing is
// drawn by lot: what is called is recorded first, then each call is hit in a run of its own.
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
const allowed = Bun.spawnSync(["strace", "-f", "-o", "/dev/null", "true"]);
if (allowed.exitCode !== 0) {
  skip("every persistence call with every fault", `no tracing here: ${allowed.stderr.toString()}`);
  finish();
}

const CORES = availableParallelism();
/** Many runs wait most of their time: for the next second's probe, for last words. */
const AT_ONCE = 4 * CORES;
/** A sync may need some luck to be hit; everything else is hit at once. */
const TRIES = 60;

/** `--scenario=NAME`: no other one is played. */
const [only] = process.argv.flatMap((word) => /^--scenario=(.*)$/.exec(word)?.[1] ?? []);

const root = realpathSync(makeTempFolder());
const all = (await prepared()).filter(({ name }) => only === undefined || name === only);
if (all.length === 0) throw new Error(`there is no scene ${only}`);

interface FaultTarget {
  readonly scenario: Scenario;
  readonly call: TracedCall;
  readonly fault: InjectedFault;
}

const isHunt = process.argv.includes("--fail-fast");

const calls = await record();
const tried = new Map<SyscallPromise, number>();
const broken = new Map<SyscallPromise, string[]>();
const hits = new Map<InjectedFault, number>();
const missed: string[] = [];
const said = new Set<SyscallPromise>();
let runs = 0;
const targets = all.flatMap((scene) =>
  (calls.get(scene) ?? []).flatMap((call) =>
    faultsFor(call)
      .filter((effect) => scene.faults?.includes(effect) ?? true)
      .map((effect): FaultTarget => ({ scenario: scene, call, fault: effect })),
  ),
);
// The journal first, where answers come from; then a call of each scene by turns.
await inParallel(
  targets.toSorted((a, b) => turnOf(a) - turnOf(b)),
  AT_ONCE,
  hit,
);
conclude();
await holdUp();
finish();

async function prepared(): Promise<readonly Scenario[]> {
  try {
    return makeScenarios(await prepareSites(root));
  } catch (error) {
    check("a site can be made, licensed, used and folded", false, String(error));
    return finish();
  }
}

/** What each scene calls when nothing is wrong, which must be the same every time. */
async function record(): Promise<ReadonlyMap<Scenario, readonly TracedCall[]>> {
  const recorded = new Map<Scenario, TracedCall[][]>(all.map((scene) => [scene, []]));
  const wrong: string[] = [];
  const unsafe: string[] = [];
  await inParallel([...all, ...all], AT_ONCE, async (scene) => {
    const seen = await runScenario(root, scene, "record");
    const meant = ({ isDuringStart }: TracedCall): boolean =>
      scene.tracedProcess === "checkpoint" || isDuringStart === (scene.tracedPart === "start");
    recorded.get(scene)?.push(seen.trace.calls.filter(meant));
    unsafe.push(
      ...findOrderViolations(scene, seen.trace.calls).map((one) => `${scene.name}: ${one}`),
    );
    wrong.push(...seen.violations.map((one) => `${scene.name}: ${one}`));
  });
  const found = new Map<Scenario, readonly TracedCall[]>();
  for (const [scene, [first = [], second = []]] of recorded) {
    const [one, other] = [first, second].map((list) =>
      list.map(describeCall).toSorted().join(", "),
    );
    if (one !== other) wrong.push(`${scene.name}: ${one}, and then ${other}`);
    found.set(scene, first);
  }
  const count = [...found.values()].flat();
  check(
    `the same ${count.length} persistence calls twice, ${count.filter(isSync).length} of them ` +
      `syncs, in ${all.length} scenes, and all well`,
    wrong.length === 0,
    wrong,
  );
  check(
    `in the order they come, nothing is renamed before it is synced, no old file goes before the ` +
      `new one's name is safe, and no file or name is left unsynced (${2 * all.length} logs)`,
    unsafe.length === 0,
    unsafe,
  );
  return found;
}

/** No answer comes before the syncs it stands on. */
async function holdUp(): Promise<void> {
  const waited: DelayCheck[] = [];
  const held = all.filter(
    (scene) =>
      !scene.hasFullDisk &&
      (scene.tracedProcess === "server" || scene.runsCheckpoint) &&
      (scene.tracedPart === "rest" || syncsIn(scene) > 0),
  );
  await inParallel(held, 4 * CORES, async (scene) => {
    // An operation without any sync is not let off: one is the least.
    waited.push(...(await checkDelayedSyncs(root, scene, Math.max(1, syncsIn(scene)))));
  });
  const wrong = waited.flatMap((one) => one.violation ?? []);
  check(
    `syncs held up by ${SYNC_DELAY_MS / 1_000} s in ${held.length} scenes: none of ${waited.length} ` +
      "answers, reads and refusals among them, comes before the sync it stands on, and a " +
      "checkpoint holds nobody up",
    wrong.length === 0,
    wrong,
  );
}

function syncsIn(scene: Scenario): number {
  return (calls.get(scene) ?? []).filter(isSync).length;
}

function turnOf({ scenario, call }: FaultTarget): number {
  if (call.path.startsWith("journal-")) return -1;
  return (calls.get(scenario) ?? []).indexOf(call);
}

/** Plays a scene with one fault, again if it was not the call that was meant. */
async function hit({ scenario, call, fault }: FaultTarget): Promise<void> {
  const choices = callNumbersFor(call);
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const aim = { call, fault, callNumber: choices[attempt % choices.length] ?? 1 };
    const seen = await runScenario(root, scenario, aim);
    runs += 1;
    const { injectedCall } = seen.trace;
    if (injectedCall === null) continue;
    for (const { promise, violation: how } of judgeRun(scenario, fault, injectedCall, seen)) {
      tried.set(promise, (tried.get(promise) ?? 0) + 1);
      if (how === null) continue;
      broken.set(promise, [...(broken.get(promise) ?? []), how]);
      if (isHunt) sayOf(promise);
    }
    if (describeCall(injectedCall) !== describeCall(call)) continue;
    hits.set(fault, (hits.get(fault) ?? 0) + 1);
    return;
  }
  missed.push(`${scenario.name}, ${fault} at ${describeCall(call)}`);
}

function conclude(): void {
  const figures = INJECTED_FAULTS.map((effect) => `${effect} ${hits.get(effect) ?? 0}`).join(", ");
  check(
    `each of the calls was hit with each fault that it can have (${figures}; ${runs} runs)`,
    missed.length === 0 && runs >= targets.length,
    missed,
  );
  const promises = Object.keys(SYSCALL_PROMISES) as SyscallPromise[];
  // One scene alone need not try them all.
  for (const promise of promises) if (only === undefined || tried.has(promise)) sayOf(promise);
}

function sayOf(promise: SyscallPromise): void {
  const details = broken.get(promise) ?? [];
  if (said.has(promise)) return;
  said.add(promise);
  const text = `${SYSCALL_PROMISES[promise]} (${tried.get(promise) ?? 0} runs)`;
  check(text, details.length === 0 && tried.has(promise), details.slice(0, 5));
}

async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await work(next);
    }),
  );
}
