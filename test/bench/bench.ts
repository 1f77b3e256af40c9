// `bun run bench [--quick] [--part NAME] [--rounds N]`: the speed of the compiled binary, held against its
// yardsticks and its goals. A goal that is missed is marked; only a run that cannot be believed,
// because an answer was wrong or the books do not balance, ends with another code than 0.
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
  disks: measureSlowDisks,
};

const USAGE = `bun run bench [--quick] [--part ${Object.keys(PARTS).join("|")}]... [--rounds N]

  --quick      about a minute: fewer rounds, fewer registrations
  --part NAME  this part only; may be given again
  --rounds N   how often each comparison is made, 1 to 99: more of them tell more on a busy machine

The history that a day leaves behind is measured by: bun test/faults/storage-growth/suite.ts`;

const [MISUSED, WRONG] = [2, 1];

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
      isCount ? `bench: error: there is no part ${unknown}` : "bench: error: --rounds is 1 to 99",
    );
  } catch (error) {
    console.error(`bench: error: ${error instanceof Error ? error.message : String(error)}`);
  }
  console.error(USAGE);
  return process.exit(MISUSED);
}

/** A part that breaks off is wrong, and does not take along what the others found. */
async function measure(name: string, size: BenchSize): Promise<PartResult> {
  try {
    return (await PARTS[name]?.(size)) ?? NOTHING;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ...NOTHING, text: `broken off: ${why}`, wrong: [`${name}: ${why}`] };
  }
}

const NOTHING: PartResult = { figures: [], text: "", wrong: [] };

const { quick, parts, size } = parseOptions();
buildBinary();
// Who else is at work: with more than one process for each processor, times say little.
const [others = 0] = loadavg();
const all: Record<string, PartResult> = {};
for (const name of parts) {
  const measured = await measure(name, size);
  all[name] = measured;
  console.log(`== ${name} ==\n${measured.text}\n`);
}

const figures = Object.values(all).flatMap((measured) => measured.figures);
const wrong = Object.values(all).flatMap((measured) => measured.wrong);
figures.push({ what: "errors", value: wrong.length, unit: "", goal: { is: "most", value: 0 } });
const where = `${availableParallelism()} processors, load ${formatNumber(others)} before`;
console.log(`== goals, on ${where} ==\n${formatGoals(figures)}\n`);
for (const one of wrong) console.error(`wrong: ${one}`);
console.log("history after a simulated day: bun test/faults/storage-growth/suite.ts");

const shown = figures.map((figure) => ({ ...figure, met: isMet(figure) }));
const file = join(outputFolder, "bench.json");
writeFileSync(file, `${JSON.stringify({ quick, where, figures: shown, parts: all }, null, 2)}\n`);
console.log(file);
process.exit(wrong.length === 0 ? 0 : WRONG);
