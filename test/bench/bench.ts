// `bun run bench [--quick] [--part NAME] [--rounds N]`: the speed of the compiled binary, held against its
// yardsticks and its goals. A goal that is missed is marked; only a run that cannot be believed,
// because an answer was wrong or the books do not balance, ends with another code than 0.
import { writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildBinary } from "../support/binary.ts";
import { LONGEST_STALL, stallsAt } from "./checkpoint.ts";
import { measureDisks } from "./disks.ts";
import { below, goalTable, isMet, number, type Figure } from "./goals.ts";
import { measureGrowth } from "./growth.ts";
import { FULL_SIZE, QUICK_SIZE, type Measured, type Size } from "./part.ts";
import { measureSpeed } from "./speed.ts";
import { measureStart } from "./start.ts";
import { buildYardsticks, out } from "./yardsticks.ts";

const PARTS: Readonly<Record<string, (size: Size) => Promise<Measured>>> = {
  start: measureStart,
  speed: async (size) => measureSpeed(await buildYardsticks(), size),
  growth: measureGrowth,
  checkpoints: measureCheckpoints,
  disks: measureDisks,
};

const USAGE = `bun run bench [--quick] [--part ${Object.keys(PARTS).join("|")}]... [--rounds N]

  --quick      about a minute: fewer rounds, fewer registrations
  --part NAME  this part only; may be given again
  --rounds N   how often each comparison is made, 1 to 99: more of them tell more on a busy machine

The history that a day leaves behind is measured by: bun test/faults/day.ts`;

const [MISUSED, WRONG] = [2, 1];

async function measureCheckpoints({ checkpoints }: Size): Promise<Measured> {
  const figures: Figure[] = [];
  const texts: string[] = [];
  for (const [registrations, count] of checkpoints) {
    const { text, longest } = await stallsAt(registrations, count);
    texts.push(text);
    figures.push({
      what: `longest stall by a checkpoint of ${number(registrations)} registrations`,
      value: longest,
      unit: "ms",
      goal: registrations === 100_000 ? below(LONGEST_STALL) : null,
    });
  }
  return { figures, text: texts.join("\n"), wrong: [] };
}

interface Asked {
  readonly quick: boolean;
  readonly parts: readonly string[];
  readonly size: Size;
}

function asked(): Asked {
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
async function measure(name: string, size: Size): Promise<Measured> {
  try {
    return (await PARTS[name]?.(size)) ?? NOTHING;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ...NOTHING, text: `broken off: ${why}`, wrong: [`${name}: ${why}`] };
  }
}

const NOTHING: Measured = { figures: [], text: "", wrong: [] };

const { quick, parts, size } = asked();
buildBinary();
// Who else is at work: with more than one process for each processor, times say little.
const [others = 0] = loadavg();
const all: Record<string, Measured> = {};
for (const name of parts) {
  const measured = await measure(name, size);
  all[name] = measured;
  console.log(`== ${name} ==\n${measured.text}\n`);
}

const figures = Object.values(all).flatMap((measured) => measured.figures);
const wrong = Object.values(all).flatMap((measured) => measured.wrong);
figures.push({ what: "errors", value: wrong.length, unit: "", goal: { is: "most", value: 0 } });
const where = `${availableParallelism()} processors, load ${number(others)} before`;
console.log(`== goals, on ${where} ==\n${goalTable(figures)}\n`);
for (const one of wrong) console.error(`wrong: ${one}`);
console.log("history after a simulated day: bun test/faults/day.ts");

const shown = figures.map((figure) => ({ ...figure, met: isMet(figure) }));
const file = join(out, "bench.json");
writeFileSync(file, `${JSON.stringify({ quick, where, figures: shown, parts: all }, null, 2)}\n`);
console.log(file);
process.exit(wrong.length === 0 ? 0 : WRONG);
