// `bun run bench [--quick] [--part NAME] [--rounds N]`: measures the compiled binary, and compares
// it with the baselines and the goals. A missed goal is only marked; the exit code is not 0 only if
// the run is invalid, because an answer was wrong or totals do not match.
import { writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildBinary } from "../support/binary.ts";
import { STALL_LIMIT_MS, measureStalls } from "./checkpoint.ts";
import { measureSlowDisks } from "./slow-disks.ts";
import { below, formatGoals, isMet, formatNumber, type Figure } from "./goals.ts";
import { measureGrowth } from "./growth.ts";
import { FULL_SIZE, QUICK_SIZE, type PartResult, type BenchSize } from "./bench-part.ts";
import { measureSpeed } from "./speed.ts";
import { measureStart } from "./start.ts";
import { buildBaselines, outputFolder } from "./baselines.ts";

const PARTS: Readonly<Record<string, (size: BenchSize) => Promise<PartResult>>> = {
  start: measureStart,
  speed: async (size) => measureSpeed(await buildBaselines(), size),
  growth: measureGrowth,
  checkpoints: measureCheckpoints,
  "slow-disks": measureSlowDisks,
};

const USAGE = `bun run bench [--quick] [--part ${Object.keys(PARTS).join("|")}]... [--rounds N]

  --quick      about a minute: fewer rounds, fewer registrations
  --part NAME  this part only; can be repeated
  --rounds N   rounds of each comparison, 1 to 99; use more on a busy machine

To measure the growth of the data folder in a day: bun test/faults/storage-growth/suite.ts`;

const [USAGE_ERROR, INVALID_RUN] = [2, 1];

async function measureCheckpoints({ checkpoints }: BenchSize): Promise<PartResult> {
  const figures: Figure[] = [];
  const texts: string[] = [];
  for (const [registrations, count] of checkpoints) {
    const { text, longestMs } = await measureStalls(registrations, count);
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

interface BenchOptions {
  readonly quick: boolean;
  readonly parts: readonly string[];
  readonly size: BenchSize;
}

function parseOptions(): BenchOptions {
  try {
    const options = {
      quick: { type: "boolean", default: false },
      part: { type: "string", multiple: true, default: Object.keys(PARTS) },
      rounds: { type: "string" },
    } as const;
    const { quick, part, rounds } = parseArgs({ options }).values;
    const unknown = part.find((name) => !Object.hasOwn(PARTS, name));
    const usual = quick ? QUICK_SIZE : FULL_SIZE;
    const isCount = rounds === undefined || /^[1-9]\d?$/.test(rounds);
    if (unknown === undefined && isCount) {
      return { quick, parts: part, size: { ...usual, rounds: Number(rounds ?? usual.rounds) } };
    }
    console.error(
      isCount
        ? `bench: error: unknown part: ${unknown}`
        : `bench: error: --rounds must be 1 to 99: ${rounds}`,
    );
  } catch (error) {
    console.error(`bench: error: ${error instanceof Error ? error.message : String(error)}`);
  }
  console.error(USAGE);
  return process.exit(USAGE_ERROR);
}

/** A part that throws is an error of the run; the results of the other parts are kept. */
async function measure(name: string, size: BenchSize): Promise<PartResult> {
  try {
    return (await PARTS[name]?.(size)) ?? EMPTY_RESULT;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { ...EMPTY_RESULT, text: `failed: ${reason}`, wrong: [`${name}: ${reason}`] };
  }
}

const EMPTY_RESULT: PartResult = { figures: [], text: "", wrong: [] };

const { quick, parts, size } = parseOptions();
buildBinary();
// The load before the run: with more than one process for each processor, times say little.
const [load = 0] = loadavg();
const results: Record<string, PartResult> = {};
for (const name of parts) {
  const result = await measure(name, size);
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
