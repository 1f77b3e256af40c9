// Plants known bugs into copies of the sources, one at a time, and checks that a fault suite
// detects each of them. By default the tests listed for a bug run, and the next suite only if they
// missed the bug. In a soak, or for suites named in the variable SUITES, every listed suite must
// detect it, with all its tests: `SUITES="kill power" bun run test:faults planted-bugs`.
import { describe, test } from "bun:test";
import { availableParallelism } from "node:os";
import { detectBug } from "../../support/planted-bugs.ts";
import { compileInputs } from "../../support/sources.ts";
import { isSoak } from "../../support/suite-harness.ts";
import { limitParallel } from "../shared/parallel.ts";
import { STORE_BUGS, type StoreBug, type FaultSuiteName } from "./bugs.ts";

const COPIED_PATHS = [...compileInputs, "bunfig.toml", "test/support", "test/faults"];

const namedSuites = process.env["SUITES"]?.split(/[ ,]+/) ?? [];
const runsEverySuite = isSoak || namedSuites.length > 0;
/** One more than processors: several suites wait most of the time. */
const inTurn = limitParallel(availableParallelism() + 1);

/**
 * The title of the first test that reports a broken promise. A suite that fails in any other way has
 * crashed, and has not detected anything.
 */
const BROKEN_PROMISE = /^BrokenPromise: [^]*?^\(fail\) (.*)$/m;

interface DetectionResult {
  readonly isCaught: boolean;
  /** Whether this machine cannot run tests of the suite. */
  readonly isSkipped: boolean;
  readonly output: string;
}

/** Runs a suite on a copy with the bug. */
async function detectWith(bug: StoreBug, suite: FaultSuiteName): Promise<DetectionResult> {
  const isFirst = suite === bug.caughtBy[0] && !runsEverySuite;
  const filter = isFirst && bug.tests !== undefined ? ["-t", bug.tests] : [];
  const { SOAK: _soak, SEED: _seed, ...env } = process.env;
  const { match, output, seconds } = await detectBug({
    bug,
    paths: COPIED_PATHS,
    command: ["test", `./test/faults/${suite}/${suite}.suite.ts`, ...filter],
    env: { ...env, BERTH_DETECTION_RUN: "1" },
    pattern: BROKEN_PROMISE,
  });
  const isSkipped = match === null && /^ [1-9]\d* skip$/m.test(output);
  const outcome = match?.[1] ?? (isSkipped ? "skipped on this machine" : "not detected");
  console.log(`${suite}, ${seconds.toFixed(1)} s of processor time: ${bug.name}: ${outcome}`);
  return { isCaught: match !== null, isSkipped, output: output.slice(-4_500) };
}

async function detect(bug: StoreBug): Promise<void> {
  const suites = bug.caughtBy.filter(
    (suite) => namedSuites.length === 0 || namedSuites.includes(suite),
  );
  const missed: string[] = [];
  for (const suite of suites) {
    const { isCaught, isSkipped, output } = await detectWith(bug, suite);
    if (isCaught && !runsEverySuite) return;
    if (!isCaught && !isSkipped) missed.push(`${suite} did not detect it: ${output}`);
  }
  if (missed.length > 0) throw new Error(missed.join("\n"));
}

const detectable = STORE_BUGS.filter(
  ({ caughtBy }) =>
    namedSuites.length === 0 || caughtBy.some((suite) => namedSuites.includes(suite)),
);

describe.concurrent("a fault suite detects the planted bug", () => {
  test.each(detectable.map((bug) => [bug.name, bug] as const))("%s", (_name, bug) =>
    inTurn(() => detect(bug)),
  );
});
