// Plants known bugs into copies of the sources, one at a time, and checks that a fault suite
// detects each of them. By default the tests listed for a bug run, and the next suite only if they
// missed the bug. In a soak, or for suites named in the variable SUITES, every listed suite must
// detect it, with all its tests: `SUITES="kill power" bun run test:faults planted-bugs`.
import { describe, test } from "bun:test";
import { rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { compileInputs, copySources } from "../../support/sources.ts";
import { atEnd, isSoak, makeTempFolder } from "../../support/suite-harness.ts";
import { limitParallel } from "../shared/parallel.ts";
import { bugs, type PlantedBug, type FaultSuiteName } from "./bugs.ts";

const COPIED_PATHS = [...compileInputs, "bunfig.toml", "test"];

/** Long enough for any suite to fail, short enough to notice a suite that hangs. */
const SUITE_TIMEOUT = 30 * 60_000;

const namedSuites = process.env["SUITES"]?.split(/[ ,]+/) ?? [];
const runsEverySuite = isSoak || namedSuites.length > 0;
/** One more than processors: several suites wait most of the time. */
const inTurn = limitParallel(availableParallelism() + 1);

interface DetectionResult {
  readonly isCaught: boolean;
  /** Whether this machine cannot run tests of the suite. */
  readonly isSkipped: boolean;
  readonly output: string;
}

/** Runs a suite on a copy with the bug. */
async function detectWith(bug: PlantedBug, suite: FaultSuiteName): Promise<DetectionResult> {
  // One copy per suite: in a shared copy two suites would build the binary at the same time.
  const copy = makeTempFolder();
  copySources(copy, COPIED_PATHS, [bug]);
  const isFirst = suite === bug.caughtBy[0] && !runsEverySuite;
  const filter = isFirst && bug.tests !== undefined ? ["-t", bug.tests] : [];
  const { SOAK: _soak, SEED: _seed, ...env } = process.env;
  const child = Bun.spawn(
    [process.execPath, "test", `./test/faults/${suite}/${suite}.suite.ts`, ...filter],
    {
      cwd: copy,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      timeout: SUITE_TIMEOUT,
      env: {
        ...env,
        BERTH_DETECTION_RUN: "1",
        // Removed with the copy, whatever becomes of the suite.
        BERTH_SUITE_ROOT: copy,
        ...(bug.seed !== undefined && { FIRST_SEED: String(bug.seed) }),
      },
    },
  );
  atEnd(() => child.kill());
  const stdoutRead = new Response(child.stdout).text();
  const decoder = new TextDecoder();
  let stderr = "";
  for await (const part of child.stderr) {
    stderr += decoder.decode(part, { stream: true });
    // One broken promise is enough; a suite that is stopped cleans up after itself.
    if (findBrokenPromise(stderr) !== null) child.kill();
  }
  await child.exited;
  rmSync(copy, { recursive: true, force: true });
  const promise = findBrokenPromise(stderr);
  const seconds = (Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6).toFixed(1);
  const isSkipped = promise === null && /^ [1-9]\d* skip$/m.test(stderr);
  const outcome = promise ?? (isSkipped ? "skipped on this machine" : "not detected");
  console.log(`${suite}, ${seconds} s of processor time: ${bug.name}: ${outcome}`);
  const output = `${(await stdoutRead).slice(-1_500)}${stderr.slice(-3_000)}`;
  return { isCaught: promise !== null, isSkipped, output };
}

/**
 * The title of the first test that reports a broken promise. A suite that fails in any other way has
 * crashed, and has not detected anything.
 */
const findBrokenPromise = (stderr: string): string | null =>
  /^BrokenPromise: [^]*?^\(fail\) (.*)$/m.exec(stderr)?.[1] ?? null;

async function detect(bug: PlantedBug): Promise<void> {
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

const detectable = bugs.filter(
  ({ caughtBy }) =>
    namedSuites.length === 0 || caughtBy.some((suite) => namedSuites.includes(suite)),
);

describe.concurrent("a fault suite detects the planted bug", () => {
  test.each(detectable.map((bug) => [bug.name, bug] as const))("%s", (_name, bug) =>
    inTurn(() => detect(bug)),
  );
});
