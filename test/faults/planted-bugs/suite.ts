// Plants known bugs into copies of the sources, one at a time, and checks that a fault suite
// detects each of them. By default the first suite listed for a bug runs, and the next one only if
// it missed the bug. With `--soak`, or with suites named as arguments, every listed suite must
// detect it: `bun test/faults/planted-bugs/suite.ts kill power`.
import { rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { bugs, type PlantedBug, type FaultSuiteName } from "./bugs.ts";
import { compileInputs, copySources } from "../../support/sources.ts";
import { check, finish, isSoak, makeTempFolder } from "../../support/suite-harness.ts";

const COPIED_PATHS = [...compileInputs, "test"];

/** Long enough for any suite to fail, short enough to notice a suite that hangs. */
const SUITE_TIMEOUT = 30 * 60_000;

function plant(bug: PlantedBug): string {
  const copy = makeTempFolder();
  copySources(copy, COPIED_PATHS, [bug]);
  return copy;
}

/** Runs a suite on the copy with the bug; null if the suite cannot run on this machine. */
async function detectWith(
  bug: PlantedBug,
  suite: FaultSuiteName,
  copy: string,
): Promise<DetectionResult | null> {
  const started = performance.now();
  const scenarioFlags =
    suite !== "syscalls" || bug.scenario === undefined || runsEverySuite
      ? []
      : [`--scenario=${bug.scenario}`];
  const child = Bun.spawn(
    [
      process.execPath,
      join(copy, "test", "faults", suite, "suite.ts"),
      "--fail-fast",
      ...scenarioFlags,
    ],
    {
      cwd: copy,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      timeout: SUITE_TIMEOUT,
    },
  );
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  if (/^skip /m.test(stdout) && !/^FAILED/m.test(stdout)) {
    console.log(`skip   the ${suite} suite cannot run on this machine: ${bug.name}`);
    return null;
  }
  const failedCheck = /^FAILED (.*)$/m.exec(stdout)?.[1];
  return {
    description: `the ${suite} suite detects the planted bug: ${bug.name} (${seconds} s${failedCheck === undefined ? "" : `; ${failedCheck}`})`,
    // A suite that crashed has not detected anything.
    isCaught: failedCheck !== undefined && /^\d+ passed, [1-9]\d* failed/m.test(stdout),
    output: `${stdout.slice(-1_500)}${stderr.slice(-1_500)}`,
  };
}

interface DetectionResult {
  readonly description: string;
  readonly isCaught: boolean;
  readonly output: string;
}

const namedSuites = process.argv.slice(2).filter((arg) => !arg.startsWith("--"));
const runsEverySuite = isSoak || namedSuites.length > 0;
const queue = [...bugs];
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    for (let bug = queue.shift(); bug !== undefined; bug = queue.shift()) await detect(bug);
  }),
);
finish();

async function detect(bug: PlantedBug): Promise<void> {
  const suites = bug.caughtBy.filter(
    (suite) => namedSuites.length === 0 || namedSuites.includes(suite),
  );
  let missed: DetectionResult | null = null;
  for (const suite of suites) {
    // One copy per suite: in a shared copy two suites would build the binary at the same time.
    const copy = plant(bug);
    const result = await detectWith(bug, suite, copy);
    rmSync(copy, { recursive: true, force: true });
    if (result === null) continue;
    if (runsEverySuite || result.isCaught)
      check(result.description, result.isCaught, result.output);
    if (runsEverySuite) continue;
    if (result.isCaught) return;
    console.log(`missed ${result.description}`);
    missed = result;
  }
  if (missed !== null) check(missed.description, false, missed.output);
}
