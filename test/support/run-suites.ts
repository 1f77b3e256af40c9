// Runs suites one after the other and adds up their results. Arguments name the suites to run;
// flags are passed on to them: `--soak` runs the same code with larger numbers.
import { existsSync } from "node:fs";
import { join } from "node:path";

interface SuiteOptions {
  /** The folder of the suites' scripts. */
  readonly folder: string;
  readonly everyRun: readonly string[];
  readonly soakOnly?: readonly string[];
}

/** The flags that a suite may have. */
const SUITE_FLAGS = /^--(?:soak|fail-fast|scenario=.+)$/;

interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

/** Last lines of standard error to repeat: enough for an error with its code and stack. */
const STDERR_LINES = 30;
/** How long to wait for the rest of standard error after the suite has ended. */
const STDERR_GRACE = 5_000;

export async function runSuites({ folder, everyRun, soakOnly = [] }: SuiteOptions): Promise<never> {
  const args = process.argv.slice(2);
  const flags = args.filter((arg) => arg.startsWith("--"));
  const suites = args.filter((arg) => !arg.startsWith("--"));
  const all = flags.includes("--soak") ? [...everyRun, ...soakOnly] : everyRun;
  const known = [...everyRun, ...soakOnly];
  const unknown = [
    ...suites.filter((suite) => !known.includes(suite)),
    ...flags.filter((flag) => !SUITE_FLAGS.test(flag)),
  ];
  if (unknown.length > 0) {
    console.error(`unknown: ${unknown.join(" ")}; the suites are ${known.join(", ")}`);
    process.exit(2);
  }
  const total: Tally = { passed: 0, failed: 0, skipped: 0 };
  for (const suite of suites.length === 0 ? all : suites) {
    console.log(`\n-- ${suite}`);
    const started = performance.now();
    const tally = await runSuite(scriptOf(folder, suite), suite, flags);
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    console.log(`   ${suite} took ${seconds} s`);
    for (const name of ["passed", "failed", "skipped"] as const) total[name] += tally[name];
  }
  console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  process.exit(total.failed === 0 ? 0 : 1);
}

/** A suite of several files is a folder with a suite.ts. */
function scriptOf(folder: string, suite: string): string {
  const script = join(folder, suite, "suite.ts");
  return existsSync(script) ? script : join(folder, `${suite}.ts`);
}

async function runSuite(script: string, suite: string, flags: readonly string[]): Promise<Tally> {
  const child = Bun.spawn([process.execPath, script, ...flags], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const stderrTail = { lines: [] as string[] };
  const stderrRead = forwardStderr(child.stderr, stderrTail);
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of child.stdout) {
    process.stdout.write(part);
    text += decoder.decode(part, { stream: true });
  }
  const code = await child.exited;
  // A process that a suite left running may hold standard error open forever.
  await Promise.race([stderrRead, Bun.sleep(STDERR_GRACE)]);
  const summary = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/m.exec(text);
  if (summary === null) {
    reportFailure(`${suite} ended with code ${code} and without a summary`, stderrTail.lines);
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const [, passed, failed, skipped = "0"] = summary;
  const crashed = code !== 0 && Number(failed) === 0 ? 1 : 0;
  if (crashed > 0) reportFailure(`${suite} ended with code ${code}`, stderrTail.lines);
  return { passed: Number(passed), failed: Number(failed) + crashed, skipped: Number(skipped) };
}

/** Repeats the last lines of standard error, which otherwise are far above in the output. */
function reportFailure(message: string, stderrLines: readonly string[]): void {
  console.log(`FAILED ${message}`);
  for (const line of stderrLines) console.log(`         ${line}`);
}

/** Forwards standard error at once, and keeps its last lines in `tail`. */
async function forwardStderr(
  stderr: ReadableStream<Uint8Array>,
  tail: { lines: string[] },
): Promise<void> {
  const decoder = new TextDecoder();
  for await (const part of stderr) {
    process.stderr.write(part);
    const text = tail.lines.join("\n") + decoder.decode(part, { stream: true });
    tail.lines = text.split("\n").slice(-STDERR_LINES);
  }
}
