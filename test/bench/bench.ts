// `bun run bench`: start to the first 200, and idle memory, of the compiled binary.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildBinary, startBinary } from "../support/binary.ts";

const ROUNDS = 15;
const SETTLE = 1_500;
const LISTEN = ["--listen", "127.0.0.1:0"];

buildBinary();
const folder = mkdtempSync(join(tmpdir(), "berth-bench-"));
const fresh: number[] = [];
const again: number[] = [];
const resident: number[] = [];
try {
  for (let round = 0; round < ROUNDS; round += 1) {
    const data = join(folder, String(round));
    fresh.push((await start(data)).milliseconds);
    const { milliseconds, memory } = await start(data);
    again.push(milliseconds);
    resident.push(memory);
  }
} finally {
  rmSync(folder, { recursive: true });
}
report("start to first 200, a new data folder", fresh, "ms", 100);
report("start to first 200, the same folder again", again, "ms", 100);
report("resident memory when idle", resident, "MiB", 60);

/** One start, one request, one look at the memory, one stop. */
async function start(data: string): Promise<{ milliseconds: number; memory: number }> {
  const begin = performance.now();
  const server = await startBinary("demo", "--data", data, ...LISTEN);
  const response = await fetch(`${server.url}/api/v4/health`);
  if (response.status !== 200) throw new Error(`health answered ${response.status}`);
  const milliseconds = performance.now() - begin;
  await Bun.sleep(SETTLE / ROUNDS);
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
  const memory = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  await server.stop();
  return { milliseconds, memory };
}

function report(what: string, figures: readonly number[], unit: string, goal: number): void {
  const sorted = figures.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1);
  const line = `${what}: median ${at(0.5)} ${unit}, worst ${at(1)} ${unit}, goal < ${goal} ${unit}`;
  process.stdout.write(`${line} (${figures.length} rounds)\n`);
}
