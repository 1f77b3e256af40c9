// Measures how long a checkpoint delays clients: the compiled binary on a real disk, with its real
// child process, under constant load from a few clients with keep-alive connections.
//
//   bun test/bench/checkpoint.ts [--registrations N] [--soak]
//
// Nothing triggers a checkpoint: the heartbeats fill the journal until the server starts one. One
// connection, in its own process, is the probe. Its longest wait during a checkpoint is compared
// with its longest wait in the same time right before: the difference is the stall. A soak run
// waits for more checkpoints, requires that none stalls the probe for 25 ms, and measures a million
// registrations too.
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd, isSoak, chooseSize } from "../support/suite-harness.ts";
import { startBinary } from "../support/binary.ts";
import {
  findFileSystem,
  waitForCheckpoint,
  readPeakMemory,
  type ObservedCheckpoint,
} from "./checkpoint-watcher.ts";

const LOAD_CONNECTIONS = 16;
export const STALL_LIMIT_MS = 25;
/**
 * Added before and after a checkpoint, for the work before its process starts and after it ends.
 */
const MARGIN = 50;

/** By the wall clock, in milliseconds. */
interface TimeRange {
  readonly from: number;
  readonly to: number;
}

interface CheckpointMeasurement {
  readonly registrations: number;
  readonly fileSystem: string;
  readonly start: number;
  readonly stop: number;
  readonly mib: number;
  readonly checkpoints: readonly ObservedCheckpoint[];
  /** Pairs: the time of an answer, and how long it took. */
  readonly probe: Float64Array;
  readonly load: Float64Array;
}

async function measure(registrations: number, rounds: number): Promise<CheckpointMeasurement> {
  const folder = mkdtempSync(join(tmpdir(), "berth-bench-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  if ((await startScript("populated-site.ts", folder, registrations).exited) !== 0)
    throw new Error(
      `populated-site.ts could not create a site with ${registrations} registrations`,
    );
  const started = performance.now();
  const flags = ["--listen", "127.0.0.1:0", "--audit-budget", "0"];
  const server = await startBinary("serve", "--data", folder, ...flags);
  const start = performance.now() - started;
  let isRunning = true;
  atEnd(() => isRunning && process.kill(server.pid, "SIGKILL"));

  const half = Math.floor(registrations / 2);
  const loadClients = startScript("client.ts", server.url, LOAD_CONNECTIONS, 0, half);
  const probeClient = startScript("client.ts", server.url, 1, half, registrations - half);
  const checkpoints: ObservedCheckpoint[] = [];
  while (checkpoints.length < rounds) {
    checkpoints.push(await waitForCheckpoint(server.pid, folder));
  }
  await Bun.sleep(2 * MARGIN);
  const [probe, load] = await Promise.all([stopClient(probeClient), stopClient(loadClients)]);
  const mib = readPeakMemory(server.pid) ?? 0;
  const stopping = performance.now();
  const code = await server.stop();
  isRunning = false;
  if (code !== 0) throw new Error(`the server ended with exit code ${code}`);
  const stop = performance.now() - stopping;
  const fileSystem = findFileSystem(folder);
  rmSync(folder, { recursive: true });
  return { registrations, fileSystem, start, stop, mib, checkpoints, probe, load };
}

function startScript(name: string, ...args: readonly (string | number)[]) {
  return Bun.spawn([process.execPath, join(import.meta.dir, name), ...args.map(String)], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
}

/** Stops a client after its current call, and reads its answer times. */
async function stopClient(client: ReturnType<typeof startScript>): Promise<Float64Array> {
  await client.stdin.end();
  const answers = await new Response(client.stdout).arrayBuffer();
  if ((await client.exited) !== 0) throw new Error("a client got an answer other than 200");
  return new Float64Array(answers);
}

export interface StallSummary {
  readonly text: string;
  /** Milliseconds. */
  readonly longestMs: number;
}

/** Measures `rounds` checkpoints of a site with so many registrations. */
export const measureCheckpointStalls = async (
  registrations: number,
  rounds: number,
): Promise<StallSummary> => summarize(await measure(registrations, rounds));

function summarize(measurement: CheckpointMeasurement): StallSummary {
  const { registrations, fileSystem, start, stop, mib, checkpoints, probe, load } = measurement;
  const during = checkpoints.map(({ begin, end }) => ({ from: begin - MARGIN, to: end + MARGIN }));
  const before = during.map(({ from, to }, index) => {
    const previousEnd = during[index - 1]?.to ?? 0;
    return { from: Math.max(previousEnd, from - (to - from)), to: from };
  });
  const waits = {
    during: during.map((range) => longestIn(probe, range)),
    before: before.map((range) => longestIn(probe, range)),
  };
  const stalls = waits.during.map((wait, index) => Math.max(0, wait - (waits.before[index] ?? 0)));
  const rate = (ranges: readonly TimeRange[]): string => {
    const calls = [probe, load].map((answers) => ranges.map((range) => countIn(answers, range)));
    const time = sum(ranges.map(({ from, to }) => to - from));
    return ((sum(calls.flat()) / time) * 1_000).toFixed(0);
  };
  const megabytes = ((checkpoints.at(-1)?.bytes ?? 0) / 1e6).toFixed(1);
  const lines = [
    `${registrations} registrations in ${megabytes} MB, ${fileSystem}, ${availableParallelism()} processors`,
    `  start ${start.toFixed(0)} ms, stop with a last checkpoint ${stop.toFixed(0)} ms`,
    `  ${checkpoints.length} checkpoints: ${formatDistribution(checkpoints.map(({ begin, end }) => end - begin))}`,
    `  memory of the server: at most ${mib.toFixed(0)} MiB`,
    `  memory of a checkpoint: ${formatDistribution(
      checkpoints.map((checkpoint) => checkpoint.mib),
      "MiB",
    )}`,
    `  calls a second: ${rate(before)} before checkpoints, ${rate(during)} during them`,
    `  longest wait for an answer during a checkpoint: ${formatDistribution(waits.during)}`,
    `  longest wait in the same time before it: ${formatDistribution(waits.before)}`,
    `  stall by a checkpoint: ${formatDistribution(stalls)}, goal < ${STALL_LIMIT_MS} ms`,
  ];
  return { text: lines.join("\n"), longestMs: Math.max(...stalls) };
}

/** The longest call that overlaps the range. */
function longestIn(answers: Float64Array, { from, to }: TimeRange): number {
  let longest = 0;
  for (let at = 0; at < answers.length; at += 2) {
    const [ended = 0, took = 0] = answers.subarray(at, at + 2);
    if (ended >= from && ended - took <= to) longest = Math.max(longest, took);
  }
  return longest;
}

function countIn(answers: Float64Array, { from, to }: TimeRange): number {
  let count = 0;
  for (let at = 0; at < answers.length; at += 2) {
    const ended = answers[at] ?? 0;
    if (ended >= from && ended < to) count += 1;
  }
  return count;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function formatDistribution(numbers: readonly number[], unit = "ms"): string {
  const sorted = numbers.toSorted((a, b) => a - b);
  const percentile = (share: number): string =>
    (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1);
  return `median ${percentile(0.5)} ${unit}, worst ${percentile(1)} ${unit}`;
}

async function main(): Promise<void> {
  const flag = process.argv.indexOf("--registrations");
  const registrations = flag < 0 ? 100_000 : Number(process.argv[flag + 1]);
  const { text, longestMs } = await measureCheckpointStalls(registrations, chooseSize(4, 20));
  console.log(text);
  if (!isSoak) return;
  console.log((await measureCheckpointStalls(1_000_000, 3)).text);
  if (longestMs < STALL_LIMIT_MS) return;
  console.error(
    `a checkpoint of ${registrations} registrations stalls a client for ${longestMs.toFixed(1)} ` +
      `ms; the limit is ${STALL_LIMIT_MS} ms`,
  );
  process.exit(1);
}

if (import.meta.main) await main();
