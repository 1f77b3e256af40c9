// `.ci/run` without its first step, which installs Bun and the packages: everything that a change
// must pass. With --all, `bun run test:all`, nothing is left out, and the commit becomes the tested
// one if everything passes. With --profile, the times of all jobs and files are measured.
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { endWith, superviseProcesses } from "../support/processes.ts";
import { formatTally } from "../support/summary.ts";
import { repositoryRoot } from "../support/sources.ts";
import { findChangedFiles, readCleanCommit, writeTested } from "./changed-files.ts";
import { writeMeasured } from "./measured.ts";
import { FIRST_STEPS, JOBS, planJobs, type Job } from "./plan.ts";
import { printSlowestFiles } from "./profile.ts";
import { runPlan, type Print } from "./run-plan.ts";

/** More than processors, because a job that keeps one busy on average waits at times. */
const CAPACITY = availableParallelism() + 1;

interface RunFlags {
  readonly all?: boolean;
  readonly profile?: boolean;
}

/** Runs what the changes of the repository in `root` need, and returns the exit code. */
export async function runCi(
  root: string,
  firstSteps: readonly Job[],
  jobs: readonly Job[],
  { all = false, profile = false }: RunFlags,
  print: Print = console.log,
): Promise<number> {
  const begun = performance.now();
  const commit = all ? readCleanCommit(root) : null;
  const changed = all ? { files: null, reason: "--all" } : findChangedFiles(root);
  const plan = planJobs(root, changed, jobs);
  print(["== what is run, and why", ...plan.reasons].join("\n"));
  print("\n== time, processor time and result of each job when it ends");
  const { tally, measured } = await runPlan(firstSteps, plan.jobs, {
    root,
    logs: join(root, "build/out/ci"),
    seed: Date.now() % 1_000_000_000,
    capacity: CAPACITY,
    print,
  });
  if (profile) {
    writeMeasured(root, measured, new Set([...firstSteps, ...jobs].map(({ name }) => name)));
    await printSlowestFiles(root, ["test/**/*.{test,slow}.ts"], print);
  }
  if (tally.failed === 0 && commit !== null && readCleanCommit(root) === commit) {
    writeTested(root, commit);
  }
  const seconds = Math.round((performance.now() - begun) / 1_000);
  const processor = Object.values(measured).reduce((sum, job) => sum + job.processor, 0);
  print(`\n== ${seconds} s, ${Math.round(processor)} s of processor time`);
  print(formatTally(tally));
  return tally.failed === 0 ? 0 : 1;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { all: { type: "boolean" }, profile: { type: "boolean" } },
  });
  superviseProcesses();
  await endWith(await runCi(repositoryRoot, FIRST_STEPS, JOBS, values));
}
