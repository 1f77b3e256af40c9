// Damages every file of a data folder in every way a disk or a hand does it, one start for each,
// and counts the starts that came to anything but the exact state or a refusal that helps.
import { join } from "node:path";
import { runCheckpoint, judgeCheckpoint, judgeCredentials } from "./unread-files.ts";
import { CaseSample, tryBinary, type BinaryResult } from "./binary-sample.ts";
import {
  generateDamagedFolders,
  type DamageAmounts,
  type DamagedFolder,
} from "./damaged-folders.ts";
import { Oracle, type ExpectedStart } from "./oracle.ts";
import { judgeDamagedFolder, DAMAGE_PROMISES, type DamagePromise } from "./judge.ts";
import { recordSiteHistory, type FolderSnapshot } from "./site-history.ts";
import {
  check,
  finish,
  createRandom,
  makeTempFolder,
  seed,
  chooseSize,
} from "../../support/suite-harness.ts";
import type { FileTree } from "../shared/memory-disk.ts";

/** So many broken promises of a kind are told; the rest are counted. */
const TOLD = 5;
/** The folds to come were made ready from this moment. */
const FOLDED = "running";
const isHunt = process.argv.includes("--fail-fast");

type CheckedPromise = DamagePromise | "fold" | "sealed" | "binary";

const broken = new Map<CheckedPromise, string[]>();
const counts = { exact: 0, refused: 0, cut: 0, swallowed: 0, commands: 0, folds: 0, sealed: 0 };

const folder = makeTempFolder();
const own = await recordSiteHistory(join(folder, "own"), "own");
const other = await recordSiteHistory(join(folder, "other"), "other");
const oracle = new Oracle(own, other);
const sample = new CaseSample(createRandom(seed), chooseSize(2, 8));
const cleanFolds = await Promise.all(own.pendingCheckpoints.map(runCheckpoint));

// The one that is gone into most comes last: what is easy to see is seen soon.
const THOROUGH = "running";
const isLast = ({ name }: FolderSnapshot): number => Number(name === THOROUGH);
for (const moment of own.snapshots.toSorted((a, b) => isLast(a) - isLast(b))) await damage(moment);
report();
await askBinary();
finish();

async function damage(moment: FolderSnapshot): Promise<void> {
  if (isHunt && broken.size > 0) return;
  const random = createRandom(seed);
  const amounts = amountsFor(moment);
  for (const damaged of generateDamagedFolders(moment.tree, othersFor(moment), random, amounts)) {
    const { description, tree } = damaged;
    const where = `SEED=${seed}, ${moment.name}: ${description}`;
    const { violations: found, expected, command } = await judgeDamagedFolder(oracle, moment, tree);
    for (const { promise, reason } of found) note(promise, `${where}: ${reason}`);
    const came = count(expected);
    if (command !== null) counts.commands += 1;
    await lookBeside(moment, damaged, where, random);
    const one = { description: where, snapshot: moment, tree, expected };
    sample.offer(`${kindOf(damaged)} ${came} ${command !== null}`, one);
    if (isHunt && broken.size > 0) return;
  }
}

function note(promise: CheckedPromise, what: string): void {
  broken.set(promise, [...(broken.get(promise) ?? []), what]);
}

function count({
  refusal,
  cut,
  hasLostBatches,
}: ExpectedStart): "exact" | "refused" | "cut" | "swallowed" {
  const came =
    refusal !== null ? "refused" : hasLostBatches ? "swallowed" : cut === null ? "exact" : "cut";
  counts[came] += 1;
  return came;
}

/** The record and the credentials, where they are what was damaged. */
async function lookBeside(
  { name: moment, tree: before }: FolderSnapshot,
  { files: [name = ""], tree }: DamagedFolder,
  where: string,
  random: () => number,
): Promise<void> {
  if (before.has("sealing.key") && /^credentials|^sealing/.test(name)) {
    counts.sealed += 1;
    const why = await judgeCredentials(before, tree);
    if (why !== null) note("sealed", `${where}: ${why}`);
  }
  if (moment !== FOLDED || !name.startsWith("history/")) return;
  if (random() > chooseSize(0.25, 1)) return;
  const which = Math.floor(random() * own.pendingCheckpoints.length);
  const [next, clean] = [own.pendingCheckpoints[which], cleanFolds[which]];
  if (next === undefined || clean === undefined) return;
  counts.folds += 1;
  const why = await judgeCheckpoint(next, clean, name, tree);
  if (why !== null) note("fold", `${where}, then a fold into ${next.name}: ${why}`);
}

/** One of a kind is enough for the binary. */
function kindOf({ files }: DamagedFolder): string {
  return files.length > 1 ? "several" : (files[0] ?? "").replaceAll(/\d+/g, "N");
}

/** Files that could be taken for these. */
function othersFor({ name }: FolderSnapshot): Record<string, FileTree> {
  const named = (moments: readonly FolderSnapshot[], wanted: string): FileTree =>
    moments.find((moment) => moment.name === wanted)?.tree ?? new Map();
  return {
    "another folder": named(other.snapshots, name),
    "this folder when young": named(own.snapshots, "young"),
    "this folder when stopped": named(own.snapshots, "stopped"),
  };
}

function amountsFor({ name }: FolderSnapshot): DamageAmounts {
  const swaps = chooseSize(100, 500);
  const pairs = chooseSize(1_000, 10_000);
  if (name === THOROUGH)
    return { flips: chooseSize(4_096, 16_384), maxSizeCutEverywhere: 65_536, swaps, pairs };
  return {
    flips: chooseSize(512, 2_048),
    maxSizeCutEverywhere: chooseSize(1_024, 65_536),
    swaps,
    pairs,
  };
}

function report(): void {
  const { exact, refused, cut, swallowed, commands, folds, sealed } = counts;
  const cases = exact + refused + cut + swallowed;
  const figures: Record<DamagePromise | "fold" | "sealed", string> = {
    exact: `${cases} damaged folders: ${exact} exact, ${refused} refused, ${cut} without the end of the last batch, ${swallowed} with nothing left behind the damage, back to whole commands before it`,
    named: `${refused} refusals`,
    untouched: `${cases} starts`,
    torn: `${cut} torn tails`,
    wayBack: `${commands} commands`,
    fold: `${folds} folds`,
    sealed: `${sealed} damaged pairs`,
  };
  const promises = {
    ...DAMAGE_PROMISES,
    fold: "a fold loses nothing of a damaged record and does not go on where it is too short",
    sealed: "credentials come back as they were or not at all",
  };
  for (const promise of Object.keys(figures) as (keyof typeof figures)[]) {
    checkNone(promise, `${promises[promise]} (${figures[promise]})`);
  }
}

function checkNone(promise: CheckedPromise, text: string): void {
  const list = broken.get(promise) ?? [];
  const told = [`broken ${list.length} times`, ...list.slice(0, TOLD)];
  check(text, list.length === 0, told.join("\n         "));
}

async function askBinary(): Promise<void> {
  const queue = sample.cases.map((one, place) => ({ one, place }));
  const total = queue.length;
  const tried: BinaryResult[] = [];
  const ask = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { one, place } = next;
      const result = await tryBinary(oracle, join(folder, "asked"), place, one);
      tried.push(result);
      if (result.violation !== null) note("binary", `${one.description}: ${result.violation}`);
    }
  };
  await Promise.all([ask(), ask()]);
  const refused = tried.filter((result) => result.wasRefused).length;
  const commands = tried.filter(({ ranCommand }) => ranCommand).length;
  checkNone(
    "binary",
    `the binary starts or ends with 78, an error and a hint, and its commands help (${total} folders, ${refused} refused, ${commands} commands run)`,
  );
}
