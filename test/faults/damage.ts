// Damages every file of a data folder in every way a disk or a hand does it, one start for each,
// and counts the starts that came to anything but the exact state or a refusal that helps.
import { join } from "node:path";
import { folded, judgeFold, judgeSealed } from "./damage-beside.ts";
import { Sample, tryBinary, type Tried } from "./damage-binary.ts";
import { damagedFolders, type Amounts, type DamagedFolder } from "./damage-folders.ts";
import { Oracle, type Expected } from "./damage-expected.ts";
import { judge, PROMISES, type Promised } from "./damage-judge.ts";
import { live, type Moment } from "./damage-moments.ts";
import { check, finish, generator, rigFolder, seed, sized } from "./rig.ts";
import type { Tree } from "./tree.ts";

/** So many broken promises of a kind are told; the rest are counted. */
const TOLD = 5;
/** The folds to come were made ready from this moment. */
const FOLDED = "running";
const isHunt = process.argv.includes("--first");

type Watched = Promised | "fold" | "sealed" | "binary";

const broken = new Map<Watched, string[]>();
const counts = { exact: 0, refused: 0, cut: 0, swallowed: 0, commands: 0, folds: 0, sealed: 0 };

const folder = rigFolder();
const own = await live(join(folder, "own"), "own");
const other = await live(join(folder, "other"), "other");
const oracle = new Oracle(own, other);
const sample = new Sample(generator(seed), sized(2, 8));
const cleanFolds = await Promise.all(own.foldable.map(folded));

// The one that is gone into most comes last: what is easy to see is seen soon.
const THOROUGH = "running";
const isLast = ({ name }: Moment): number => Number(name === THOROUGH);
for (const moment of own.moments.toSorted((a, b) => isLast(a) - isLast(b))) await damage(moment);
report();
await askBinary();
finish();

async function damage(moment: Moment): Promise<void> {
  if (isHunt && broken.size > 0) return;
  const random = generator(seed);
  const amounts = amountsFor(moment);
  for (const damaged of damagedFolders(moment.tree, othersFor(moment), random, amounts)) {
    const { what, tree } = damaged;
    const where = `SEED=${seed}, ${moment.name}: ${what}`;
    const { broken: found, expected, command } = await judge(oracle, moment, tree);
    for (const { promise, why } of found) note(promise, `${where}: ${why}`);
    const came = count(expected);
    if (command !== null) counts.commands += 1;
    await lookBeside(moment, damaged, where, random);
    const one = { what: where, moment, tree, expected };
    sample.offer(`${kindOf(damaged)} ${came} ${command !== null}`, one);
    if (isHunt && broken.size > 0) return;
  }
}

function note(promise: Watched, what: string): void {
  broken.set(promise, [...(broken.get(promise) ?? []), what]);
}

function count({ refusal, cut, swallowed }: Expected): "exact" | "refused" | "cut" | "swallowed" {
  const came =
    refusal !== null ? "refused" : swallowed ? "swallowed" : cut === null ? "exact" : "cut";
  counts[came] += 1;
  return came;
}

/** The record and the credentials, where they are what was damaged. */
async function lookBeside(
  { name: moment, tree: before }: Moment,
  { files: [name = ""], tree }: DamagedFolder,
  where: string,
  random: () => number,
): Promise<void> {
  if (before.has("sealing.key") && /^credentials|^sealing/.test(name)) {
    counts.sealed += 1;
    const why = await judgeSealed(before, tree);
    if (why !== null) note("sealed", `${where}: ${why}`);
  }
  if (moment !== FOLDED || !name.startsWith("history/")) return;
  if (random() > sized(0.25, 1)) return;
  const which = Math.floor(random() * own.foldable.length);
  const [next, clean] = [own.foldable[which], cleanFolds[which]];
  if (next === undefined || clean === undefined) return;
  counts.folds += 1;
  const why = await judgeFold(next, clean, name, tree);
  if (why !== null) note("fold", `${where}, then a fold into ${next.name}: ${why}`);
}

/** One of a kind is enough for the binary. */
function kindOf({ files }: DamagedFolder): string {
  return files.length > 1 ? "several" : (files[0] ?? "").replaceAll(/\d+/g, "N");
}

/** Files that could be taken for these. */
function othersFor({ name }: Moment): Record<string, Tree> {
  const named = (moments: readonly Moment[], wanted: string): Tree =>
    moments.find((moment) => moment.name === wanted)?.tree ?? new Map();
  return {
    "another folder": named(other.moments, name),
    "this folder when young": named(own.moments, "young"),
    "this folder when stopped": named(own.moments, "stopped"),
  };
}

function amountsFor({ name }: Moment): Amounts {
  const swaps = sized(100, 500);
  const pairs = sized(1_000, 10_000);
  if (name === THOROUGH) return { flips: sized(4_096, 16_384), everyLength: 65_536, swaps, pairs };
  return { flips: sized(512, 2_048), everyLength: sized(1_024, 65_536), swaps, pairs };
}

function report(): void {
  const { exact, refused, cut, swallowed, commands, folds, sealed } = counts;
  const cases = exact + refused + cut + swallowed;
  const figures: Record<Promised | "fold" | "sealed", string> = {
    exact: `${cases} damaged folders: ${exact} exact, ${refused} refused, ${cut} without the end of the last batch, ${swallowed} with nothing left behind the damage, back to whole commands before it`,
    named: `${refused} refusals`,
    untouched: `${cases} starts`,
    torn: `${cut} torn tails`,
    wayBack: `${commands} commands`,
    fold: `${folds} folds`,
    sealed: `${sealed} damaged pairs`,
  };
  const promises = {
    ...PROMISES,
    fold: "a fold loses nothing of a damaged record and does not go on where it is too short",
    sealed: "credentials come back as they were or not at all",
  };
  for (const promise of Object.keys(figures) as (keyof typeof figures)[]) {
    checkNone(promise, `${promises[promise]} (${figures[promise]})`);
  }
}

function checkNone(promise: Watched, text: string): void {
  const list = broken.get(promise) ?? [];
  const told = [`broken ${list.length} times`, ...list.slice(0, TOLD)];
  check(text, list.length === 0, told.join("\n         "));
}

async function askBinary(): Promise<void> {
  const queue = sample.cases.map((one, place) => ({ one, place }));
  const total = queue.length;
  const tried: Tried[] = [];
  const ask = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { one, place } = next;
      const result = await tryBinary(oracle, join(folder, "asked"), place, one);
      tried.push(result);
      if (result.broken !== null) note("binary", `${one.what}: ${result.broken}`);
    }
  };
  await Promise.all([ask(), ask()]);
  const refused = tried.filter((result) => result.refused).length;
  const commands = tried.filter(({ command }) => command).length;
  checkNone(
    "binary",
    `the binary starts or ends with 78, an error and a hint, and its commands help (${total} folders, ${refused} refused, ${commands} commands run)`,
  );
}
