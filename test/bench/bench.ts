// `bun run bench`: measures the compiled binary, and compares it with the baselines and the goals. A
// missed goal is only marked; the exit code is not 0 only if the run is invalid, because an answer
// was wrong or totals do not match.
import { writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { buildBinary } from "../support/binary.ts";
import { checkOtherExecutable, measureAgainst } from "./against.ts";
import { buildBaselines, outputFolder } from "./baselines.ts";
import { CannotMeasure, type BenchSize, type PartResult } from "./bench-part.ts";
import { STALL_LIMIT_MS, measureCheckpointStalls } from "./checkpoint.ts";
import { measureDesk } from "./desk.ts";
import { below, formatGoals, isMet, formatNumber, type Figure } from "./goals.ts";
import { measureGrowth } from "./growth.ts";
import { measureMetrics } from "./metrics.ts";
import { parseOptions, USAGE, type BenchOptions, type PartName } from "./options.ts";
import { measurePair } from "./pair.ts";
import { checkPeer } from "./peer-server.ts";
import { measureQueue } from "./queue.ts";
import { measureRuledHeartbeats } from "./ruled-heartbeats.ts";
import { measureRules } from "./rules.ts";
import { measureSlowDisks } from "./slow-disks.ts";
import { measureSpeed } from "./speed.ts";
import { measureStalls } from "./stalls.ts";
import { measureStart } from "./start.ts";
import { measureTables } from "./tables.ts";
import { measureWaiting } from "./waiting.ts";

const [USAGE_ERROR, INVALID_RUN] = [2, 1];

const PARTS: Readonly<Record<PartName, (options: BenchOptions) => Promise<PartResult>>> = {
  start: ({ size }) => measureStart(size),
  speed: async ({ size, peers }) => measureSpeed(await buildBaselines(), size, peers),
  growth: ({ size }) => measureGrowth(size),
  metrics: ({ size }) => measureMetrics(size),
  queue: ({ size }) => measureQueue(size),
  rules: async ({ size }) =>
    joinResults(await measureRules(size), await measureRuledHeartbeats(size)),
  tables: ({ size }) => measureTables(size),
  waiting: ({ size }) => measureWaiting(size),
  checkpoints: ({ size }) => measureCheckpoints(size),
  stalls: ({ size, only }) => measureStalls(size, only),
  "slow-disks": ({ size }) => measureSlowDisks(size),
  pair: ({ size }) => measurePair(size),
  desk: ({ size }) => measureDesk(size),
  against: async ({ size, against }) =>
    against === null ? EMPTY_RESULT : measureAgainst(against, size),
};

const joinResults = (first: PartResult, second: PartResult): PartResult => ({
  figures: [...first.figures, ...second.figures],
  text: `${first.text}\n${second.text}`,
  wrong: [...first.wrong, ...second.wrong],
});

const EMPTY_RESULT: PartResult = { figures: [], text: "", wrong: [] };

async function measureCheckpoints({ checkpoints }: BenchSize): Promise<PartResult> {
  const figures: Figure[] = [];
  const texts: string[] = [];
  for (const [registrations, count] of checkpoints) {
    const { text, longestMs } = await measureCheckpointStalls(registrations, count);
    texts.push(text);
    figures.push({
      what: `longest stall by a checkpoint of ${formatNumber(registrations)} registrations`,
      value: longestMs,
      unit: "ms",
      goal: registrations === 100_000 ? below(STALL_LIMIT_MS) : null,
    });
  }
  return { figures, text: texts.join("\n"), wrong: [] };
}

/** A part that throws is an error of the run; the results of the other parts are kept. */
async function measure(name: PartName, options: BenchOptions): Promise<PartResult> {
  try {
    return await PARTS[name](options);
  } catch (error) {
    const reason = messageOf(error);
    return { ...EMPTY_RESULT, text: `failed: ${reason}`, wrong: [`${name}: ${reason}`] };
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

function readOptions(): BenchOptions {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`bench: error: ${messageOf(error)}\n${USAGE}`);
    return process.exit(USAGE_ERROR);
  }
}

/** Ends this process if something that the options name cannot be measured. */
async function checkOptions({ against, peers }: BenchOptions): Promise<void> {
  try {
    for (const peer of peers) await checkPeer(peer);
    if (against !== null) await checkOtherExecutable(against);
  } catch (error) {
    if (!(error instanceof CannotMeasure)) throw error;
    console.error(`bench: error: ${error.message}`);
    if (error.hint !== null) console.error(`bench: hint: ${error.hint}`);
    process.exit(INVALID_RUN);
  }
}

const options = readOptions();
const { quick, parts } = options;
await checkOptions(options);
buildBinary();
// The load before the run: with more than one process for each processor, times say little.
const [load = 0] = loadavg();
const results: Record<string, PartResult> = {};
for (const name of parts) {
  const result = await measure(name, options);
  results[name] = result;
  console.log(`== ${name} ==\n${result.text}\n`);
}

const figures = Object.values(results).flatMap((result) => result.figures);
const wrong = Object.values(results).flatMap((result) => result.wrong);
figures.push({ what: "errors", value: wrong.length, unit: "", goal: { is: "most", value: 0 } });
const where = `${availableParallelism()} processors, load ${formatNumber(load)} before`;
console.log(`== goals, on ${where} ==\n${formatGoals(figures)}\n`);
for (const error of wrong) console.error(`error: ${error}`);
console.log("data folder after a simulated day: bun test/faults/storage-growth/suite.ts");

const judgedFigures = figures.map((figure) => ({ ...figure, met: isMet(figure) }));
const file = join(outputFolder, "bench.json");
writeFileSync(
  file,
  `${JSON.stringify({ quick, where, figures: judgedFigures, parts: results }, null, 2)}\n`,
);
console.log(file);
process.exit(wrong.length === 0 ? 0 : INVALID_RUN);
