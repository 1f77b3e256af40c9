// Runs the disk full, everywhere the store writes: byte by byte on a disk in memory, and under the
// clients of the compiled binary on a small real one. Counts what was lost, what was refused and
// came back all the same, and how long it takes until there is work again.
import { join } from "node:path";
import { runCheckpoint } from "../damage/unread-files.ts";
import { startFromTree } from "../damage/judge.ts";
import { recordSiteHistory } from "../damage/site-history.ts";
import * as elsewhere from "./background-writes.ts";
import { SmallDisk } from "./small-disk.ts";
import type { EdgeCase, RoundResult } from "./full-site.ts";
import { BATCHES, tryFullJournal, tryProbe, makeReferenceRun } from "./journal-writes.ts";
import {
  check,
  finish,
  createRandom,
  makeTempFolder,
  seed,
  chooseSize,
  skip,
} from "../../support/suite-harness.ts";
import { fileBytes, type FileTree } from "../shared/memory-disk.ts";

const TOLD = 5;
/** Most of a round is waiting for the next look at the disk. */
const SITES = 3;
/** Below those the kernel hands out, and another for each run: two may go on side by side. */
const PORT = 20_000 + (process.pid % 4_000) * SITES;
const isHunt = process.argv.includes("--fail-fast");

const life = await recordSiteHistory(join(makeTempFolder(), "own"), "own");
await journal();
await others();
await server();
finish();

function none(promise: string, broken: readonly (string | null)[]): void {
  const found = broken.filter((one) => one !== null);
  const told = [`SEED=${seed}, ${found.length} times`, ...found.slice(0, TOLD)];
  check(promise, found.length === 0, told.join("\n         "));
}

function treeAt(name: string): FileTree {
  return life.snapshots.find((moment) => moment.name === name)?.tree ?? new Map();
}

function newestIn(tree: FileTree): string {
  const firsts = [...tree.keys()].map((name) => Number(/^journal-(\d+)/.exec(name)?.[1] ?? 0));
  return `journal-${Math.max(...firsts)}.jsonl`;
}

async function journal(): Promise<void> {
  const reference = await makeReferenceRun(treeAt("running"), newestIn(treeAt("running")));
  const [first = 0] = reference.batchEnds;
  await each(
    `a journal full at every byte of ${BATCHES.length} batches: all who wait hear it, reads and restarts find what was granted, and with room it becomes what it would have been`,
    Array.from({ length: reference.journal.length - first + 1 }, (_, room) => room),
    (room) => tryFullJournal(reference, room),
  );
  const random = createRandom(seed);
  const some = Array.from({ length: chooseSize(200, 2_000) }, () => Math.floor(random() * 300_000));
  await each(
    "a look for room leaves nothing behind, whatever room it finds",
    [0, 1, 262_143, 262_144, 262_145, 2 ** 20, 2 ** 21, ...some],
    (room) => tryProbe(reference, room),
  );
}

async function each(
  promise: string,
  rooms: readonly number[],
  work: (room: number) => Promise<string | null>,
): Promise<void> {
  const broken: (string | null)[] = [];
  for (const room of rooms) {
    const why = await work(room).catch((error: unknown) => `it threw ${String(error)}`);
    broken.push(why && `room for ${room} bytes: ${why}`);
    if (isHunt && why !== null) break;
  }
  none(`${promise} (${rooms.length} times)`, broken);
}

/** Every so many bytes from a place of the seed's on; in a soak every one. */
function upTo(end: number, usual: number): number[] {
  const step = chooseSize(usual, 1);
  const from = seed % step;
  return Array.from({ length: Math.ceil((end - from) / step) }, (_, place) => from + place * step);
}

async function others(): Promise<void> {
  for (const foldable of life.pendingCheckpoints) {
    const clean = await runCheckpoint(foldable);
    const { state } = await startFromTree(foldable.tree);
    const size = (tree: FileTree): number =>
      [...tree.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
    const most = size(clean) - size(foldable.tree) + fileBytes(clean, "state.json").length;
    await each(
      `a fold into ${foldable.name} that runs out of room leaves everything as it was, and the next makes up for it`,
      upTo(most + 10, 13),
      (room) => elsewhere.tryCheckpoint(foldable, clean, state ?? "", room),
    );
    await each(
      `a fold into ${foldable.name} that would not fit is not begun`,
      upTo(most, 301),
      (room) => elsewhere.tryRefusedCheckpoint(foldable, room),
    );
  }
  const torn = elsewhere.tearSegment(treeAt("running"), newestIn(treeAt("running")));
  const { state } = await startFromTree(torn);
  await each("a start cuts nothing before its copy is safe", upTo(500, 1), (room) =>
    elsewhere.tryStartWithTornTail(torn, state ?? "", room),
  );
  await each("a first start is begun again", upTo(2_500, 1), elsewhere.tryFirstStart);
  await each("credentials are the old pair or the new", upTo(200, 1), (room) =>
    elsewhere.tryCredentialsChange(treeAt("running"), room),
  );
  await each("without a new segment the old one goes on", [0], () =>
    elsewhere.tryRotationWithoutNewFiles(treeAt("running")),
  );
  await each("a stop loses nothing", upTo(12_000, 101), (room) =>
    elsewhere.tryStop(treeAt("running"), room),
  );
}

async function server(): Promise<void> {
  const promise = "the compiled binary on a full disk";
  const disks: SmallDisk[] = [];
  for (let count = 0; count < SITES; count += 1) {
    const disk = SmallDisk.mount(16);
    if (typeof disk === "string") return skip(promise, disk);
    disks.push(disk);
  }
  // Only now: whoever loads it builds the binary first.
  const { EDGE_CASES, FullSite } = await import("./full-site.ts");
  const rounds: RoundResult[] = [];
  const edges: (string | null)[] = [];
  const queue = Array.from({ length: chooseSize(30, 300) }, (_, round) => round);
  const last = Object.keys(EDGE_CASES) as EdgeCase[];
  const run = async (disk: SmallDisk, place: number): Promise<void> => {
    const site = await FullSite.start(disk, PORT + place);
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const round = await site.runRound(createRandom(seed + next));
      rounds.push({ ...round, violations: round.violations.map((why) => `round ${next}: ${why}`) });
      if (isHunt && round.violations.length > 0) queue.length = 0;
    }
    for (let next = last.shift(); next !== undefined; next = last.shift()) {
      const why = await site.runEdgeCase(next);
      edges.push(why && `${EDGE_CASES[next]}: ${why}`);
    }
    await site.close();
  };
  const fellOver = (error: unknown): void => void edges.push(`it fell over: ${String(error)}`);
  await Promise.all(disks.map((disk, place) => run(disk, place).catch(fellOver)));
  const sum = (pick: (round: RoundResult) => number): number =>
    rounds.reduce((total, round) => total + pick(round), 0);
  none(
    `${promise}: refused changes never show, granted ones always do, reads go on, also after a kill (${rounds.length} rounds, ${sum(({ granted }) => granted)} granted, ${sum(({ refused }) => refused)} refused, ${sum(({ reads }) => reads)} reads)`,
    rounds.flatMap(({ violations }) => violations),
  );
  const slowest = Math.max(...rounds.map(({ recoveryMs }) => recoveryMs));
  check(
    `${promise} grants again when there is room (slowest after ${slowest.toFixed(0)} ms)`,
    rounds.length > 0,
  );
  none(`${promise} at a start or a stop says so and loses nothing (${edges.length} ways)`, edges);
}
