// Runs suites one after the other and adds up what they say. Words on the command line name the ones
// to run; flags are handed on: `--soak` means larger numbers, the same code.
import { existsSync } from "node:fs";
import { join } from "node:path";

interface SuiteOptions {
  /** Where their scripts are. */
  readonly folder: string;
  readonly everyRun: readonly string[];
  readonly soakOnly?: readonly string[];
}

interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

/** The last lines of a complaint: an error with the code around it, and where it was called. */
const LINES = 30;
/** For the last of it to arrive after the end. */
const GRACE = 5_000;

export async function runSuites({ folder, everyRun, soakOnly = [] }: SuiteOptions): Promise<never> {
  const words = process.argv.slice(2);
  const flags = words.filter((word) => word.startsWith("--"));
  const named = words.filter((word) => !word.startsWith("--"));
  const all = flags.includes("--soak") ? [...everyRun, ...soakOnly] : everyRun;
  const total: Tally = { passed: 0, failed: 0, skipped: 0 };
  for (const suite of named.length === 0 ? all : named) {
    console.log(`\n-- ${suite}`);
    const started = performance.now();
    const said = await runSuite(scriptOf(folder, suite), suite, flags);
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    console.log(`   ${suite} took ${seconds} s`);
    for (const name of ["passed", "failed", "skipped"] as const) total[name] += said[name];
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
  const complaint = { lines: [] as string[] };
  const complained = passOn(child.stderr, complaint);
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of child.stdout) {
    process.stdout.write(part);
    text += decoder.decode(part, { stream: true });
  }
  const code = await child.exited;
  // Whatever a suite has left running may hold it open for ever.
  await Promise.race([complained, Bun.sleep(GRACE)]);
  const summary = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/m.exec(text);
  if (summary === null) {
    tellEnd(`${suite} ended with code ${code} and without a summary`, complaint.lines);
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const [, passed, failed, skipped = "0"] = summary;
  const broken = code !== 0 && Number(failed) === 0 ? 1 : 0;
  if (broken > 0) tellEnd(`${suite} ended with code ${code}`, complaint.lines);
  return { passed: Number(passed), failed: Number(failed) + broken, skipped: Number(skipped) };
}

/** With its last lines on stderr, which else stand far above, where it said them. */
function tellEnd(end: string, complaint: readonly string[]): void {
  console.log(`FAILED ${end}`);
  for (const line of complaint) console.log(`         ${line}`);
}

/** What comes on stderr goes to ours at once, and its last lines are kept. */
async function passOn(
  stderr: ReadableStream<Uint8Array>,
  kept: { lines: string[] },
): Promise<void> {
  const decoder = new TextDecoder();
  for await (const part of stderr) {
    process.stderr.write(part);
    const text = kept.lines.join("\n") + decoder.decode(part, { stream: true });
    kept.lines = text.split("\n").slice(-LINES);
  }
}
