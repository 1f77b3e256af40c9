// Runs test files many times, to find those that fail now and then:
//
//   bun run test:repeat --repeat 20 --load                 all files of `bun run test`
//   bun run test:repeat --repeat 20 --load test/cli/run    those of a folder; also a file with ./
//   bun run test:repeat --repeat 5 test/http -t "name"     with flags of `bun test`
//
// With --load, a busy process for each processor runs beside them.
import { availableParallelism } from "node:os";
import { join } from "node:path";
import {
  endWith,
  keepTrackOf,
  runBun,
  superviseProcesses,
  TEST_COMMAND,
} from "../support/processes.ts";
import { formatTally, tallyOf } from "../support/summary.ts";
import { findFailedFiles } from "./test-output.ts";

/** Twenty turns beside other work tell more than one; an hour of them is the work of a soak. */
const DEFAULT_REPEATS = 20;

const words = process.argv.slice(2);
const repeats = takeNumber("--repeat") ?? DEFAULT_REPEATS;
const isLoaded = takeFlag("--load");
superviseProcesses();
if (isLoaded) {
  const busyLoop = [process.execPath, "--no-orphans", "-e", "for (;;);"];
  for (let count = 0; count < availableParallelism(); count += 1) {
    keepTrackOf(Bun.spawn(busyLoop, { stdio: ["ignore", "ignore", "ignore"] }));
  }
}

/** By the name of a file: in how many runs it failed, and what it printed first. */
const failed = new Map<string, { runs: number; output: string }>();
let failedRuns = 0;
for (let run = 1; run <= repeats; run += 1) {
  const log = join(process.cwd(), "build/out/ci/repeat.txt");
  const { code, output, seconds } = await runBun([...TEST_COMMAND, ...words], {
    cwd: process.cwd(),
    log,
  });
  if (code !== 0) failedRuns += 1;
  const files = findFailedFiles(output);
  const unnamed = { path: "no test file", output: output.slice(-4_000) };
  for (const file of code !== 0 && files.length === 0 ? [unnamed] : files) {
    const before = failed.get(file.path) ?? { runs: 0, output: file.output };
    failed.set(file.path, { ...before, runs: before.runs + 1 });
  }
  const result = formatTally(tallyOf(output, code));
  console.log(`run ${run} of ${repeats}: ${result}, ${seconds.toFixed(1)} s`);
}
for (const [path, { runs, output }] of failed) {
  console.log(`\n${path} failed in ${runs} of ${repeats} runs; the first time:\n${output}`);
}
console.log(`\n${formatTally({ passed: repeats - failedRuns, failed: failedRuns, skipped: 0 })}`);
await endWith(failedRuns === 0 ? 0 : 1);

function takeFlag(name: string): boolean {
  const at = words.indexOf(name);
  if (at !== -1) words.splice(at, 1);
  return at !== -1;
}

function takeNumber(name: string): number | null {
  const at = words.indexOf(name);
  if (at === -1) return null;
  const [, value = ""] = words.splice(at, 2);
  if (!/^[1-9]\d*$/.test(value)) throw new Error(`${name} needs a number`);
  return Number(value);
}
