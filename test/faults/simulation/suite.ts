// Many lives of a site on simulated disks, each from a seed: the real store and the real rules, with
// crashes, failing calls, full disks and jumping clocks between their operations. A seed that breaks
// a promise is printed, and `SEED=… bun test/faults/simulation/suite.ts` lives exactly that life again.
import { availableParallelism } from "node:os";
import {
  atEnd,
  check,
  finish,
  isSoak,
  seed as chance,
  chooseSize,
} from "../../support/suite-harness.ts";
import { runSeed, type SimulationResult } from "./run-seed.ts";
import { emptyFigures, type SimulationFigures, type SimulationPromise } from "./promises.ts";

const OPERATIONS = 10_000;
const ARGUMENT = "--seeds=";

/** What each promise is called, and how hard it was tried. */
const PROMISES: Readonly<Record<SimulationPromise, (figures: SimulationFigures) => string>> = {
  kept: ({ done, refused, reads, cuts, kills, stops, diskFailures }) =>
    `what was answered stays: ${done} changes, ${refused} refusals and ${reads} reads, over ${cuts} power cuts, ${kills} kills, ${stops} stops and ${diskFailures} failed calls`,
  starts: ({ starts, startsCutShort, tornTails }) =>
    `none of ${starts} starts is refused; ${startsCutShort} of them were cut short themselves, ${tornTails} cut off a torn tail`,
  unseen: ({ failed, full }) =>
    `what was turned away is not seen while the server goes on: ${failed} calls, ${full} full disks`,
  answers: ({ operations, jumps, shortWrites }) =>
    `everybody gets an answer, and it is the rules' own: ${operations} operations, ${jumps} clock jumps, ${shortWrites} short writes`,
  files: ({ diskFailures }) =>
    `no file is used after its close, whatever failed: ${diskFailures} failed calls`,
  leases: ({ leases, jumps }) =>
    `no slot is lent again by a right clock while a lease granted by a right clock lives: ${leases} leases, ${jumps} clock jumps`,
  room: ({ full }) => `a full disk is noticed, and so is new room on it: ${full} times`,
  stopped: ({ stops }) => `after a clean stop state.json is everything: ${stops} stops`,
  record: ({ starts, recordBytes, checkpoints, checkpointsFailed }) =>
    `the record is every audited line once, byte for byte: at each start, ${megabytes(recordBytes)} MB in all, after ${checkpoints} checkpoints and ${checkpointsFailed} that failed, over ${starts} starts`,
  damage: ({ flips, staleBlocks, damageRefused }) =>
    `a damaged file is named or does no harm: ${flips} flipped bits, ${staleBlocks} stale blocks, ${damageRefused} refusals`,
  "way back": ({ waysBack }) =>
    `the command that a refused state names brings everything back: ${waysBack} times`,
};

const megabytes = (bytes: number): number => Math.round(bytes / 1_000_000);

/**
 * The same lives in every run, so that a change alone decides whether it passes; others in a soak,
 * and where a seed is named.
 */
const FIRST = 1;
const seed = isSoak || process.env["SEED"] !== undefined ? chance : FIRST;

/** The lives of one process: every `step`-th seed from `from` to before `to`. */
interface SeedRange {
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

const asked = process.argv.find((word) => word.startsWith(ARGUMENT));
if (asked !== undefined) {
  const { from, to, step } = JSON.parse(asked.slice(ARGUMENT.length)) as SeedRange;
  for (let one = from; one < to; one += step) {
    console.log(JSON.stringify(await runSeed(one, OPERATIONS)));
  }
  process.exit();
}

const total = emptyFigures();
const broken: SimulationResult[] = [];
const digests = new Map<number, Set<string>>();

function note(lived: SimulationResult): void {
  const { figures } = lived;
  for (const name of Object.keys(total) as (keyof SimulationFigures)[])
    total[name] += figures[name];
  if (lived.violation !== null) broken.push(lived);
  digests.set(lived.seed, (digests.get(lived.seed) ?? new Set()).add(lived.digest));
}

/** One life, twice; or many on all cores, the first of them in two processes. */
if (process.env["SEED"] === undefined) await runAllSeeds(chooseSize(200, 20_000));
else for (let times = 0; times < 2; times += 1) note(await runSeed(seed, OPERATIONS));
conclude();

async function runAllSeeds(count: number): Promise<void> {
  const processes = availableParallelism();
  const shares = Array.from({ length: processes }, (_, place) => ({
    from: seed + place,
    to: seed + count,
    step: processes,
  }));
  shares.push({ from: seed, to: seed + 1, step: 1 });
  await Promise.all(shares.map(runInProcess));
}

async function runInProcess(share: SeedRange): Promise<void> {
  const words = [process.execPath, import.meta.path, ARGUMENT + JSON.stringify(share)];
  const child = Bun.spawn(words, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  atEnd(() => child.kill());
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of child.stdout) {
    text += decoder.decode(part, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) hear(JSON.parse(line) as SimulationResult);
  }
  const code = await child.exited;
  const said = `it ended with code ${code} (${child.signalCode ?? "no signal"})`;
  check(
    `the lives from seed ${share.from} on, by ${share.step}, are lived to the end`,
    code === 0,
    said,
  );
}

function hear(lived: SimulationResult): void {
  note(lived);
  // Against a planted bug one broken promise is enough.
  if (lived.violation !== null && process.argv.includes("--fail-fast")) conclude();
  const count = digests.size;
  if (isSoak && count % 1_000 === 0) console.log(`       ${count} lives, ${broken.length} broken`);
}

function conclude(): never {
  const seeds = [...digests.keys()];
  console.log(`       seeds ${Math.min(...seeds)} to ${Math.max(...seeds)}`);
  for (const name of Object.keys(PROMISES) as SimulationPromise[]) {
    const found = broken.filter((lived) => lived.violation?.promise === name);
    const detail = found.slice(0, 3).map((lived) => lived.violation?.detail);
    check(PROMISES[name](total), found.length === 0, detail.join("\n         "));
  }
  const same = digests.get(seed)?.size === 1;
  const said = [...(digests.get(seed) ?? [])].join(" and ");
  check(`one seed lives the same life twice: ${seed} comes to ${said}`, same);
  finish();
}
