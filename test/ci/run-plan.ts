// Runs the jobs of a plan side by side, runs once more what failed, and reports.
import { join } from "node:path";
import { runBun, type CommandRun } from "../support/processes.ts";
import { addTallies, EMPTY_TALLY, formatTally, tallyOf, type Tally } from "../support/summary.ts";
import type { Measured } from "./measured.ts";
import type { Job, PlannedJob } from "./plan.ts";
import { runSideBySide } from "./schedule.ts";
import { findFailedFiles, findSkippedTests } from "./test-output.ts";

/** Lines of the output of a job that failed without naming a test. */
const LAST_LINES = 40;
/** If more files fail, the change has broken them: running them again shows nothing new. */
const MAX_REPEATED = 10;

/**
 * Suites whose failures are never a coincidence: they search for a rare broken promise, with random
 * choices from a seed. The same seed runs again, to show whether it alone is the cause.
 */
const IS_SEARCH = /^test\/(?:model|sharing|election|faults|pair)\/|planted-bugs/;

export type Print = (text: string) => void;

interface RunOptions {
  readonly root: string;
  /** The folder for the output of each job. */
  readonly logs: string;
  /** The seed of every suite that takes one. */
  readonly seed: number;
  /** How many processors the jobs may keep busy at the same time. */
  readonly capacity: number;
  readonly print: Print;
}

interface Report extends CommandRun {
  readonly job: Job;
  readonly tally: Tally;
}

/** What failed: a test file, or a job whose output names none. */
interface Failure {
  readonly name: string;
  readonly job: Job;
  /** Arguments of `bun` that run it alone. */
  readonly command: readonly string[];
  readonly failures: number;
  readonly output: string;
}

interface RunResult {
  readonly tally: Tally;
  readonly measured: Measured;
}

export async function runPlan(
  firstSteps: readonly Job[],
  jobs: readonly PlannedJob[],
  options: RunOptions,
): Promise<RunResult> {
  const run = (job: Job): Promise<Report> => runJob(job, options);
  const reports = await Promise.all(firstSteps.map(run));
  const isReady = reports.every(({ tally }) => tally.failed === 0);
  if (isReady) reports.push(...(await runSideBySide(jobs, options.capacity, run)));
  const failures = reports.flatMap(findFailures);
  const passed = isReady && failures.length <= MAX_REPEATED ? await repeat(failures, options) : [];
  printReports(reports, options.print);
  const remaining = failures.filter((failure) => !passed.includes(failure));
  printFailures("what failed", remaining, options.print);
  printFailures("failed, and passed when run once more, alone: mend these", passed, options.print);
  const total = reports.map(({ tally }) => tally).reduce(addTallies, EMPTY_TALLY);
  const failed = remaining.reduce((sum, { failures: count }) => sum + count, 0);
  return {
    tally: { ...total, passed: total.passed + total.failed - failed, failed },
    measured: Object.fromEntries(
      reports.map((report) => [
        report.job.name,
        { wall: report.seconds, processor: report.processorSeconds },
      ]),
    ),
  };
}

async function runJob(job: Job, options: RunOptions): Promise<Report> {
  const run = await runLogged(job.name, job.command, options);
  const tally = job.isStep === true ? tallyOfStep(run.code) : tallyOf(run.output, run.code);
  options.print(`${formatTimes(run)}  ${job.name}: ${formatTally(tally)}`);
  return { ...run, job, tally };
}

const tallyOfStep = (code: number): Tally => ({ ...EMPTY_TALLY, failed: code === 0 ? 0 : 1 });

const runLogged = (
  name: string,
  command: readonly string[],
  { root, logs, seed }: RunOptions,
): Promise<CommandRun> =>
  runBun(command, {
    cwd: root,
    env: { RUN_SEED: String(seed) },
    log: join(logs, `${name.replaceAll(/[^\w.-]+/g, "-").slice(0, 80)}.txt`),
  });

function findFailures({ job, tally, output }: Report): Failure[] {
  if (tally.failed === 0) return [];
  const files = findFailedFiles(output);
  if (files.length > 0) {
    return files.map(({ path, failures, output }) => ({
      name: path,
      job,
      command: commandFor(path, job),
      failures,
      output,
    }));
  }
  const lines = output.trimEnd().split("\n").slice(-LAST_LINES);
  return [
    { name: job.name, job, command: job.command, failures: tally.failed, output: lines.join("\n") },
  ];
}

/** A suite may need what the script of its kind prepares. */
function commandFor(path: string, { command }: Job): string[] {
  const suite = /^test\/.*?([^/]+)\.suite\.ts$/.exec(path)?.[1];
  const [run = "", script = ""] = command;
  return suite !== undefined && command.includes(suite)
    ? [run, script, suite]
    : ["test", `./${path}`];
}

/** Runs what failed alone; returns what may be a coincidence and has passed now. */
async function repeat(failures: readonly Failure[], options: RunOptions): Promise<Failure[]> {
  const passed: Failure[] = [];
  for (const failure of failures) {
    const { name, job, command } = failure;
    const { code } = await runLogged(`${name} again`, command, options);
    const isSearch = IS_SEARCH.test(name) || job.tests.some((path) => IS_SEARCH.test(path));
    const outcome = code === 0 ? "passes" : "fails again";
    options.print(
      isSearch
        ? `${name} ${outcome} with the same seed, ${options.seed}; a failure of it stays a failure`
        : `${name} ${outcome} when it runs alone`,
    );
    if (code === 0 && !isSearch) passed.push(failure);
  }
  return passed;
}

function printReports(reports: readonly Report[], print: Print): void {
  for (const { job, output } of reports) {
    const skipped = findSkippedTests(output);
    if (skipped.length > 0) print([`\n== skipped by ${job.name}`, ...skipped].join("\n"));
  }
  print("\n== time and processor time of each job");
  for (const report of reports.toSorted((a, b) => b.processorSeconds - a.processorSeconds)) {
    print(`${formatTimes(report)}  ${report.job.name}`);
  }
}

const formatTimes = ({ seconds, processorSeconds }: CommandRun): string =>
  `${seconds.toFixed(0).padStart(5)} s ${processorSeconds.toFixed(0).padStart(5)} s`;

function printFailures(title: string, failures: readonly Failure[], print: Print): void {
  if (failures.length === 0) return;
  print(`\n== ${title}`);
  for (const { name, job, output } of failures) {
    print(`\n${name}${name === job.name ? "" : `, in ${job.name}`}:\n${output}`);
  }
}
