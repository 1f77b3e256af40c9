// `.ci/run` without its first step, which installs Bun and the packages: everything that a change
// must pass. CI_BASE=COMMIT says that this commit is tested; see `changed-files.ts`. With --all,
// `bun run test:all`, nothing is left out.
import { availableParallelism } from "node:os";
import { addTallies, EMPTY_TALLY, formatTally, tallyOf, type Tally } from "../support/summary.ts";
import { repositoryRoot } from "../support/sources.ts";
import { findChangedFiles } from "./changed-files.ts";
import { planJobs, type Job } from "./plan.ts";

/** Jobs that run side by side: one more than processors, because most of them wait part of the time. */
const SIDE_BY_SIDE = availableParallelism() + 1;
/** Lines of the output of a job that failed, around each test that failed, and at its end. */
const LINES_BEFORE = 25;
const LAST_LINES = 20;

interface Report {
  readonly name: string;
  readonly tally: Tally;
  readonly seconds: number;
  readonly output: string;
}

const started = performance.now();
const secondsSince = (since: number): number => Math.round((performance.now() - since) / 1_000);

function printStep(title: string): void {
  console.log(`\n== ${title}`);
}

async function runJob(name: string, command: readonly string[]): Promise<Report> {
  const begun = performance.now();
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: repositoryRoot,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const decoder = new TextDecoder();
  let output = "";
  const collect = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const part of stream) output += decoder.decode(part);
  };
  const collected = Promise.all([collect(child.stdout), collect(child.stderr)]);
  const code = await child.exited;
  // A process that a suite left running may hold its output open forever.
  await Promise.race([collected, Bun.sleep(5_000)]);
  const report = { name, tally: tallyOf(output, code), seconds: secondsSince(begun), output };
  printStep(`${name}: ${formatTally(report.tally)}, ${report.seconds} s, code ${code}`);
  process.stdout.write(output);
  return report;
}

/** Each of the rows takes the next job when it has finished one. */
async function runSideBySide(jobs: readonly Job[]): Promise<Report[]> {
  const waiting = [...jobs];
  const reports: Report[] = [];
  const row = async (): Promise<void> => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      reports.push(await runJob(job.name, ["run", ...job.command]));
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, row));
  return reports;
}

/** Steps without a summary: each must end with code 0 before anything else is run. */
function requireStep(title: string, ...command: string[]): void {
  printStep(title);
  const { exitCode } = Bun.spawnSync([process.execPath, ...command], {
    cwd: repositoryRoot,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (exitCode !== 0) process.exit(1);
}

/** The lines around each test that failed; without one, the last lines. */
function failureLines(output: string): string[] {
  const lines = output.split("\n");
  const found = lines.flatMap((line, at) => (/^(?:\(fail\)|FAILED)/.test(line) ? [at] : []));
  if (found.length === 0) return lines.slice(-LAST_LINES);
  const around = (at: number): string[] => lines.slice(Math.max(0, at - LINES_BEFORE), at + 1);
  return found.flatMap(around).map((line) => line.slice(0, 2_000));
}

const plan = process.argv.includes("--all")
  ? planJobs({ files: null, reason: "--all" })
  : planJobs(findChangedFiles(repositoryRoot, process.env["CI_BASE"] ?? null));
const printPlan = (): void => {
  printStep("what is run, and why");
  for (const reason of plan.reasons) console.log(reason);
};

printPlan();
requireStep("format, types, lint, dead code", "run", "tidy");
requireStep("the executable", "run", "build");
requireStep("the demo's lines, pasted into a shell", "test/binary/paste-demo.ts");
const reports = [await runJob("tests", ["run", "test"]), ...(await runSideBySide(plan.jobs))];

const failed = reports.filter(({ tally }) => tally.failed > 0);
if (failed.length > 0) {
  printStep("what failed");
  for (const { name, output } of failed)
    console.log([`${name}:`, ...failureLines(output)].join("\n"));
}
printPlan();
printStep(`${secondsSince(started)} s in all`);
for (const { name, seconds, tally } of reports) {
  console.log(`${String(seconds).padStart(5)} s  ${name}: ${formatTally(tally)}`);
}
const total = reports.map(({ tally }) => tally).reduce(addTallies, EMPTY_TALLY);
console.log(`\n${formatTally(total)}`);
process.exit(total.failed === 0 ? 0 : 1);
