// Measures the compiled binary: time from its start to the first 200, and memory when idle.
import { join } from "node:path";
import { startBinary } from "../support/binary.ts";
import { readResidentMiB } from "../support/resident-memory.ts";
import { makeBenchFolder } from "./servers.ts";
import { below, median, type Figure } from "./goals.ts";
import type { PartResult, BenchSize } from "./bench-part.ts";

const SETTLE_TIME = 100;
const LISTEN = ["--listen", "127.0.0.1:0"];

export async function measureStart({ starts }: BenchSize): Promise<PartResult> {
  const folder = makeBenchFolder();
  const firstStarts: number[] = [];
  const laterStarts: number[] = [];
  const memory: number[] = [];
  for (let round = 0; round < starts; round += 1) {
    const data = join(folder, String(round));
    firstStarts.push((await measureOneStart(data)).milliseconds);
    const { milliseconds, mib } = await measureOneStart(data);
    laterStarts.push(milliseconds);
    memory.push(mib);
  }
  const figure = (what: string, values: readonly number[], unit: string, goal: number): Figure => ({
    what,
    value: median(values),
    unit,
    goal: below(goal),
  });
  return {
    figures: [
      figure("start to first 200, a new data folder", firstStarts, "ms", 100),
      figure("start to first 200, the same folder again", laterStarts, "ms", 100),
      figure("resident memory when idle", memory, "MiB", 60),
    ],
    text: `worst start of ${starts}: ${Math.max(...firstStarts, ...laterStarts).toFixed(0)} ms`,
    wrong: [],
  };
}

/** One start, one request, one reading of the memory, one stop. */
async function measureOneStart(
  data: string,
): Promise<{ readonly milliseconds: number; readonly mib: number }> {
  const start = performance.now();
  const server = await startBinary("demo", "--data", data, ...LISTEN);
  const response = await fetch(`${server.url}/api/v4/health`);
  if (response.status !== 200) throw new Error(`health answered ${response.status}`);
  const milliseconds = performance.now() - start;
  await Bun.sleep(SETTLE_TIME);
  const mib = readResidentMiB(server.pid);
  await server.stop();
  return { milliseconds, mib };
}
