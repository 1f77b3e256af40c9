// Runs suites one after the other and adds up their results. A suite is a file of tests with a name
// that `bun test` does not look for: NAME.suite.ts, alone or in a folder NAME.
//
//   bun run test:faults                       all suites
//   bun run test:faults kill power            two of them
//   bun run test:faults kill -t "checkpoint"  the tests of one suite whose title matches
//   bun run test:faults kill --soak           the same code with larger numbers
//   bun run test:faults kill --short          the same code with smaller numbers
//   bun run test:faults syscalls --scenario="a stop"   one scenario
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { endWith, keepTrackOf, superviseProcesses } from "./processes.ts";
import { addTallies, EMPTY_TALLY, formatTally, readTally, tallyOf, type Tally } from "./summary.ts";

interface SuiteOptions {
  /** The folder of the suites. */
  readonly folder: string;
  readonly everyRun: readonly string[];
  readonly soakOnly?: readonly string[];
  /** True: one process runs all of them, which share what it takes long to start. */
  readonly isOneProcess?: boolean;
  /** How many run at the same time, for suites that mostly wait; each then prints at its end. */
  readonly parallel?: number;
}

/** How long to wait for the rest of the output after the suite has ended. */
const OUTPUT_GRACE = 5_000;

export async function runSuites({
  folder,
  everyRun,
  soakOnly = [],
  isOneProcess = false,
  parallel = 1,
}: SuiteOptions): Promise<never> {
  const { values, positionals: named } = parseArgs({
    allowPositionals: true,
    options: {
      soak: { type: "boolean", default: false },
      short: { type: "boolean", default: false },
      bail: { type: "boolean", default: false },
      "test-name-pattern": { type: "string", short: "t" },
      scenario: { type: "string" },
    },
  });
  const known = [...everyRun, ...soakOnly];
  const unknown = named.filter((suite) => !known.includes(suite));
  if (unknown.length > 0) {
    console.error(`unknown: ${unknown.join(" ")}; the suites are ${known.join(", ")}`);
    process.exit(2);
  }
  const { scenario } = values;
  const pattern =
    values["test-name-pattern"] ??
    (scenario === undefined ? scenario : `in scenario "${scenario}"`);
  const suiteFlags = [
    ...(values.bail ? ["--bail"] : []),
    ...(pattern === undefined ? [] : ["-t", pattern]),
  ];
  const env = { ...(values.soak && { SOAK: "1" }), ...(values.short && { SHORT: "1" }) };
  superviseProcesses();
  let total = EMPTY_TALLY;
  const chosen = named.length > 0 ? named : values.soak ? known : everyRun;
  const waiting = isOneProcess ? [chosen] : chosen.map((name) => [name]);
  const isAlone = parallel === 1 || waiting.length === 1;
  const runNext = async (): Promise<void> => {
    for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
      const suite = group.join(" ");
      if (isAlone) console.log(`\n-- ${suite}`);
      const started = performance.now();
      const command = ["test", ...group.map((name) => suiteFile(folder, name)), ...suiteFlags];
      const { tally, text } = await runSuite(suite, command, env, isAlone);
      const seconds = ((performance.now() - started) / 1_000).toFixed(1);
      if (!isAlone) process.stdout.write(`\n-- ${suite}\n${text}`);
      console.log(`   ${suite} took ${seconds} s`);
      total = addTallies(total, tally);
    }
  };
  await Promise.all(Array.from({ length: parallel }, runNext));
  console.log(`\n${formatTally(total)}`);
  return endWith(total.failed === 0 ? 0 : 1);
}

/** As `bun test` wants the path of a file whose name it does not look for: with `./` before it. */
function suiteFile(folder: string, suite: string): string {
  const inFolder = join(folder, suite, `${suite}.suite.ts`);
  const file = existsSync(inFolder) ? inFolder : join(folder, `${suite}.suite.ts`);
  return `./${relative(process.cwd(), file)}`;
}

async function runSuite(
  suite: string,
  command: readonly string[],
  env: Record<string, string>,
  isForwarded: boolean,
): Promise<{ readonly tally: Tally; readonly text: string }> {
  const child = Bun.spawn([process.execPath, ...command], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ...env },
  });
  keepTrackOf(child);
  const output = { text: "" };
  const outputRead = Promise.all([
    forward(child.stdout, isForwarded ? process.stdout : null, output),
    forward(child.stderr, isForwarded ? process.stderr : null, output),
  ]);
  const code = await child.exited;
  // A process that a suite left running may hold its output open forever.
  await Promise.race([outputRead, Bun.sleep(OUTPUT_GRACE)]);
  const tally = tallyOf(output.text, code);
  if (code !== 0 && (readTally(output.text)?.failed ?? 0) === 0) {
    console.log(`FAILED ${suite} ended with code ${code}`);
  }
  return { tally, text: output.text };
}

/** Keeps what a suite prints, and forwards it at once. */
async function forward(
  from: ReadableStream<Uint8Array>,
  to: NodeJS.WriteStream | null,
  kept: { text: string },
): Promise<void> {
  const decoder = new TextDecoder();
  for await (const part of from) {
    to?.write(part);
    kept.text += decoder.decode(part, { stream: true });
  }
}
