// Many simulation runs of a site, each from a seed: the real store and the real domain rules on a
// simulated disk, with crashes, failing calls, full disks and clock jumps between the operations. A
// failed check prints the seed; `SEED=… bun test/faults/simulation/suite.ts` repeats that run
// exactly.
import { availableParallelism } from "node:os";
import {
  atEnd,
  check,
  finish,
  isSoak,
  seed as harnessSeed,
  chooseSize,
} from "../../support/suite-harness.ts";
import { runSeed, type SimulationResult } from "./run-seed.ts";
import { emptyFigures, type SimulationFigures, type SimulationPromise } from "./promises.ts";

const OPERATIONS = 10_000;
const RANGE_FLAG = "--seeds=";

/** The check of each promise, with figures that show how much was tested. */
const PROMISES: Readonly<Record<SimulationPromise, (figures: SimulationFigures) => string>> = {
  kept: ({ done, refused, reads, cuts, kills, stops, diskFailures }) =>
    `everything that was answered survives every restart (${done} changes, ${refused} refusals, ${reads} reads, ${cuts} power cuts, ${kills} kills, ${stops} stops, ${diskFailures} failed disk calls)`,
  starts: ({ starts, startsCutShort, tornTails }) =>
    `no start is refused after crashes (${starts} starts, ${startsCutShort} of them interrupted, ${tornTails} torn tails cut off)`,
  hidden: ({ failed, full }) =>
    `a change that was refused for a storage fault is not visible while the server runs (${failed} failed calls, ${full} full disks)`,
  answers: ({ operations, jumps, shortWrites }) =>
    `every call gets the answer that the domain rules give (${operations} operations, ${jumps} clock jumps, ${shortWrites} short writes)`,
  files: ({ diskFailures }) =>
    `no file is used after it was closed (${diskFailures} failed disk calls)`,
  leases: ({ leases, jumps }) =>
    `under a correct clock no slot is borrowed again before a lease granted under a correct clock ends (${leases} leases, ${jumps} clock jumps)`,
  "disk space": ({ full }) =>
    `changes are refused only while the disk is full, and accepted again when it has space (${full} full disks)`,
  stopped: ({ stops }) => `after a clean stop state.json contains every change (${stops} stops)`,
  "audit log": ({ starts, auditLogBytes, checkpoints, checkpointsFailed }) =>
    `at every start the audit log contains every audited line once, byte for byte (${starts} starts, ${megabytes(auditLogBytes)} MB compared, ${checkpoints} checkpoints, ${checkpointsFailed} failed checkpoints)`,
  damage: ({ flips, staleBlocks, damageRefused }) =>
    `a start on a damaged file names the file or has the correct state (${flips} flipped bits, ${staleBlocks} stale sectors, ${damageRefused} refusals)`,
  recovery: ({ recoveries }) =>
    `the command in the refusal of a damaged state.json restores the whole state (${recoveries} times)`,
};

const megabytes = (bytes: number): number => Math.round(bytes / 1_000_000);

/**
 * Usual runs always use the same seeds, so that only a change of the code can change the result. A
 * soak run or SEED uses other seeds.
 */
const FIXED_SEED = 1;
const seed = isSoak || process.env["SEED"] !== undefined ? harnessSeed : FIXED_SEED;

/** The seeds of one process: every `step`-th seed from `from` to before `to`. */
interface SeedRange {
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

const rangeArgument = process.argv.find((arg) => arg.startsWith(RANGE_FLAG));
if (rangeArgument !== undefined) {
  const { from, to, step } = JSON.parse(rangeArgument.slice(RANGE_FLAG.length)) as SeedRange;
  for (let current = from; current < to; current += step) {
    console.log(JSON.stringify(await runSeed(current, OPERATIONS)));
  }
  process.exit();
}

const total = emptyFigures();
const failedRuns: SimulationResult[] = [];
const digests = new Map<number, Set<string>>();

function recordResult(result: SimulationResult): void {
  const { figures } = result;
  for (const name of Object.keys(total) as (keyof SimulationFigures)[])
    total[name] += figures[name];
  if (result.violation !== null) failedRuns.push(result);
  digests.set(result.seed, (digests.get(result.seed) ?? new Set()).add(result.digest));
}

/**
 * With SEED, one run twice; otherwise many runs on all cores, the first of them in two processes.
 */
if (process.env["SEED"] === undefined) await runAllSeeds(chooseSize(200, 20_000));
else for (let times = 0; times < 2; times += 1) recordResult(await runSeed(seed, OPERATIONS));
conclude();

async function runAllSeeds(count: number): Promise<void> {
  const processes = availableParallelism();
  const ranges = Array.from({ length: processes }, (_, index) => ({
    from: seed + index,
    to: seed + count,
    step: processes,
  }));
  ranges.push({ from: seed, to: seed + 1, step: 1 });
  await Promise.all(ranges.map(runInProcess));
}

async function runInProcess(range: SeedRange): Promise<void> {
  const command = [process.execPath, import.meta.path, RANGE_FLAG + JSON.stringify(range)];
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  atEnd(() => child.kill());
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of child.stdout) {
    text += decoder.decode(part, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) handleResult(JSON.parse(line) as SimulationResult);
  }
  const code = await child.exited;
  const exitText = `the process ended with code ${code} (${child.signalCode ?? "no signal"})`;
  check(
    `the process for every seed from ${range.from} in steps of ${range.step} completes its runs`,
    code === 0,
    exitText,
  );
}

function handleResult(result: SimulationResult): void {
  recordResult(result);
  // To detect a planted bug, one violation is enough.
  if (result.violation !== null && process.argv.includes("--fail-fast")) conclude();
  const count = digests.size;
  if (isSoak && count % 1_000 === 0)
    console.log(`       ${count} runs, ${failedRuns.length} violations`);
}

function conclude(): never {
  const seeds = [...digests.keys()];
  console.log(`       seeds ${Math.min(...seeds)} to ${Math.max(...seeds)}`);
  for (const name of Object.keys(PROMISES) as SimulationPromise[]) {
    const found = failedRuns.filter((result) => result.violation?.promise === name);
    const detail = found.slice(0, 3).map((result) => result.violation?.detail);
    check(PROMISES[name](total), found.length === 0, detail.join("\n         "));
  }
  const isRepeatable = digests.get(seed)?.size === 1;
  const seedDigests = [...(digests.get(seed) ?? [])].join(" and ");
  check(`two runs with seed ${seed} have the same digest (${seedDigests})`, isRepeatable);
  finish();
}
