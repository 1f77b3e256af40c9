// Measures test files, each in a process of its own, two at a time:
//
//   bun test/ci/profile.ts                            all files of `bun run test`
//   bun test/ci/profile.ts "test/cli/**/*.test.ts"    the files of a pattern
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endWith, runBun, superviseProcesses, type CommandRun } from "../support/processes.ts";
import { repositoryRoot } from "../support/sources.ts";
import type { Print } from "./run-plan.ts";
import { runSideBySide } from "./schedule.ts";

const SIDE_BY_SIDE = 2;
const SHOWN = 40;

/** Prints the files that need most processor time, and the sums. */
export async function printSlowestFiles(
  root: string,
  patterns: readonly string[],
  print: Print,
): Promise<void> {
  const files = patterns.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(root)]);
  const jobs = [...new Set(files)].toSorted().map((path) => ({ path, cores: 1 }));
  const runs = await runSideBySide(jobs, SIDE_BY_SIDE, async ({ path }) => ({
    path,
    ...(await runBun(["test", `./${path}`], {
      cwd: root,
      log: join(tmpdir(), `berth-profile-${process.pid}`, `${path.replaceAll("/", "_")}.txt`),
    })),
  }));
  const slowest = runs.toSorted((a, b) => b.processorSeconds - a.processorSeconds);
  print(`\n== processor time and time of ${runs.length} test files, each alone`);
  for (const run of slowest.slice(0, SHOWN)) print(`${formatSeconds(run)}  ${run.path}`);
  const sum = (field: "seconds" | "processorSeconds"): number =>
    runs.reduce((total, run) => total + run[field], 0);
  const total = { seconds: sum("seconds"), processorSeconds: sum("processorSeconds") };
  print(`${formatSeconds(total)}  all ${runs.length} files`);
  for (const { path } of runs.filter(({ code }) => code !== 0)) print(`failed: ${path}`);
}

const formatSeconds = (run: Pick<CommandRun, "seconds" | "processorSeconds">): string =>
  `${run.processorSeconds.toFixed(1).padStart(8)} s ${run.seconds.toFixed(1).padStart(8)} s`;

if (import.meta.main) {
  superviseProcesses();
  const patterns = process.argv.slice(2);
  await printSlowestFiles(
    repositoryRoot,
    patterns.length > 0 ? patterns : ["test/**/*.test.ts"],
    console.log,
  );
  await endWith(0);
}
