// How long clients wait because a checkpoint is being made: the compiled binary on a real disk, with
// its real child process, called without a pause by a few clients on kept connections.
//
//   bun test/bench/checkpoint.ts [--registrations N] [--soak]
//
// Nothing is switched or triggered: the heartbeats fill the journal until the server finds that a
// checkpoint is due. One connection, in a process of its own, is the probe. What it waited at the
// longest during a checkpoint is set against what it waited at the longest in as much time right
// before it: the difference is the stall. A soak makes more checkpoints, demands that none stalls
// the probe for 25 ms, and looks at a million registrations too.
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd, check, finish, isSoak, chooseSize } from "../support/suite-harness.ts";
import { startBinary } from "../support/binary.ts";
import {
  findFileSystem,
  waitForCheckpoint,
  readPeakMemory,
  type ObservedCheckpoint,
} from "./checkpoint-watcher.ts";

const LOAD_CONNECTIONS = 16;
export const STALL_LIMIT_MS = 25;
/** Around a checkpoint: what begins before there is a process, and what its end leaves to do. */
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
  /** Pairs: when an answer came, and how long it took. */
  readonly probe: Float64Array;
  readonly load: Float64Array;
}

async function measure(registrations: number, rounds: number): Promise<CheckpointMeasurement> {
  const folder = mkdtempSync(join(tmpdir(), "berth-bench-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  if ((await script("populated-site.ts", folder, registrations).exited) !== 0)
    throw new Error("no crowd");
  const started = performance.now();
  const words = ["--listen", "127.0.0.1:0", "--audit-budget", "0"];
  const server = await startBinary("serve", "--data", folder, ...words);
  const start = performance.now() - started;
  let running = true;
  atEnd(() => running && process.kill(server.pid, "SIGKILL"));

  const half = Math.floor(registrations / 2);
  const loading = script("client.ts", server.url, LOAD_CONNECTIONS, 0, half);
  const probing = script("client.ts", server.url, 1, half, registrations - half);
  const checkpoints: ObservedCheckpoint[] = [];
  while (checkpoints.length < rounds) {
    checkpoints.push(await waitForCheckpoint(server.pid, folder));
  }
  await Bun.sleep(2 * MARGIN);
  const [probe, load] = await Promise.all([answersOf(probing), answersOf(loading)]);
  const mib = readPeakMemory(server.pid) ?? 0;
  const stopping = performance.now();
  const code = await server.stop();
  running = false;
  if (code !== 0) throw new Error(`the server ended with ${code}`);
  const stop = performance.now() - stopping;
  const fileSystem = findFileSystem(folder);
  rmSync(folder, { recursive: true });
  return { registrations, fileSystem, start, stop, mib, checkpoints, probe, load };
}

function script(name: string, ...words: readonly (string | number)[]) {
  return Bun.spawn([process.execPath, join(import.meta.dir, name), ...words.map(String)], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
}

/** Lets a client end its call, and takes what it has seen. */
async function answersOf(client: ReturnType<typeof script>): Promise<Float64Array> {
  await client.stdin.end();
  const answers = await new Response(client.stdout).arrayBuffer();
  if ((await client.exited) !== 0) throw new Error("a client was not answered as it should be");
  return new Float64Array(answers);
}

export interface StallSummary {
  readonly text: string;
  /** Milliseconds. */
  readonly longestMs: number;
}

/** So many checkpoints of a site with so many registrations. */
export const measureStalls = async (registrations: number, rounds: number): Promise<StallSummary> =>
  summary(await measure(registrations, rounds));

function summary(measured: CheckpointMeasurement): StallSummary {
  const { registrations, fileSystem, start, stop, mib, checkpoints, probe, load } = measured;
  const during = checkpoints.map(({ begin, end }) => ({ from: begin - MARGIN, to: end + MARGIN }));
  const before = during.map(({ from, to }, index) => {
    const since = during[index - 1]?.to ?? 0;
    return { from: Math.max(since, from - (to - from)), to: from };
  });
  const waits = {
    during: during.map((span) => longestIn(probe, span)),
    before: before.map((span) => longestIn(probe, span)),
  };
  const stalls = waits.during.map((wait, index) => Math.max(0, wait - (waits.before[index] ?? 0)));
  const rate = (spans: readonly TimeRange[]): string => {
    const calls = [probe, load].map((answers) => spans.map((span) => countIn(answers, span)));
    const time = sum(spans.map(({ from, to }) => to - from));
    return ((sum(calls.flat()) / time) * 1_000).toFixed(0);
  };
  const megabytes = ((checkpoints.at(-1)?.bytes ?? 0) / 1e6).toFixed(1);
  const lines = [
    `${registrations} registrations in ${megabytes} MB, ${fileSystem}, ${availableParallelism()} processors`,
    `  start ${start.toFixed(0)} ms, stop with a last checkpoint ${stop.toFixed(0)} ms`,
    `  ${checkpoints.length} checkpoints: ${figures(checkpoints.map(({ begin, end }) => end - begin))}`,
    `  memory of the server: at most ${mib.toFixed(0)} MiB`,
    `  memory of a checkpoint: ${figures(
      checkpoints.map((one) => one.mib),
      "MiB",
    )}`,
    `  calls a second: ${rate(before)} before checkpoints, ${rate(during)} during them`,
    `  longest wait for an answer during a checkpoint: ${figures(waits.during)}`,
    `  longest wait in as much time before one: ${figures(waits.before)}`,
    `  stall by a checkpoint: ${figures(stalls)}, goal < ${STALL_LIMIT_MS} ms`,
  ];
  return { text: lines.join("\n"), longestMs: Math.max(...stalls) };
}

/** The longest call that was under way in this span. */
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

function figures(numbers: readonly number[], unit = "ms"): string {
  const sorted = numbers.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1);
  return `median ${at(0.5)} ${unit}, worst ${at(1)} ${unit}`;
}

async function main(): Promise<void> {
  const asked = process.argv.indexOf("--registrations");
  const registrations = asked < 0 ? 100_000 : Number(process.argv[asked + 1]);
  const { text, longestMs } = await measureStalls(registrations, chooseSize(4, 20));
  console.log(text);
  if (!isSoak) return;
  check(
    `no checkpoint of ${registrations} registrations stalls anybody for ${STALL_LIMIT_MS} ms: ` +
      `${longestMs.toFixed(1)} ms at the longest`,
    longestMs < STALL_LIMIT_MS,
  );
  console.log((await measureStalls(1_000_000, 3)).text);
  finish();
}

if (import.meta.main) await main();
