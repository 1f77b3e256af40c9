// Starts from a damaged folder and compares what comes of it with what must.
import { MONDAY } from "../../support/scenario.ts";
import { Identity } from "../../../src/operations/identity.ts";
import { openFolder } from "../../../src/store/folder.ts";
import { FolderRefused } from "../../../src/store/refusal.ts";
import type { ExpectedStart, Oracle, ExpectedRefusal } from "./oracle.ts";
import { serializeState, type FolderSnapshot } from "./site-history.ts";
import {
  fileBytes,
  changedFiles,
  MEMORY_FOLDER,
  isSameBytes,
  replaceFile,
  MemoryDisk,
  type FileTree,
} from "../shared/memory-disk.ts";

/** What came of a start, and the folder after it. */
export interface StartOutcome {
  /** Null: it was refused. */
  readonly state: string | null;
  readonly seq: number;
  readonly notes: readonly string[];
  readonly refusal: FolderRefused | null;
  readonly treeAfter: FileTree;
}

/** As a server does it, up to where it would listen. Anything but a refusal is thrown on. */
export const startFromTree = (tree: FileTree): Promise<StartOutcome> =>
  startOnDisk(new MemoryDisk(tree));

export async function startOnDisk(disk: MemoryDisk): Promise<StartOutcome> {
  const identity = new Identity(disk, MEMORY_FOLDER, []);
  try {
    const { state, head, notes, lock } = await openFolder({
      disk,
      folder: MEMORY_FOLDER,
      kind: "site",
      create: true,
      uid: 0,
      now: () => MONDAY,
      identify: () => identity.create(),
    });
    lock.release();
    identity.open(state.appliance);
    return {
      state: serializeState(state),
      seq: head.seq,
      notes,
      refusal: null,
      treeAfter: disk.toTree(),
    };
  } catch (error) {
    if (!(error instanceof FolderRefused)) throw error;
    return { state: null, seq: 0, notes: [], refusal: error, treeAfter: disk.toTree() };
  }
}

export const DAMAGE_PROMISES = {
  exact: "the exact state or a refusal, never another state, never an exception",
  named: "a refusal names the file, the byte where there is one, and what helps",
  untouched: "a refusal changes nothing, a start nothing but a torn tail",
  torn: "a torn tail is kept in a copy and told, and the next start is clean",
  wayBack: "the command a refusal prints brings everything back",
} as const;

export type DamagePromise = keyof typeof DAMAGE_PROMISES;

export interface DamageViolation {
  readonly promise: DamagePromise;
  readonly reason: string;
}

export interface DamageJudgement {
  readonly violations: readonly DamageViolation[];
  readonly expected: ExpectedStart;
  /** The command of the refusal, if it has one. */
  readonly command: string | null;
}

/** One damaged folder, and all promises about it. */
export async function judgeDamagedFolder(
  oracle: Oracle,
  moment: FolderSnapshot,
  tree: FileTree,
): Promise<DamageJudgement> {
  const expected = oracle.expect(moment, tree);
  let outcome: StartOutcome;
  try {
    outcome = await startFromTree(tree);
  } catch (error) {
    const why = `it threw ${error instanceof Error ? error.stack : String(error)}`;
    return { violations: [{ promise: "exact", reason: why }], expected, command: null };
  }
  const { refusal } = outcome;
  if (refusal === null) {
    const broken = [...judgeStart(tree, expected, outcome)];
    if (expected.cut !== null && broken.length === 0) broken.push(...(await judgeNext(outcome)));
    return { violations: broken, expected, command: null };
  }
  const command = refusal.hint.startsWith("cp ") ? refusal.hint : null;
  const broken = [...judgeRefusal(tree, expected, outcome, refusal)];
  if (command !== null) broken.push(...(await judgeWayBack(oracle, moment, tree, command)));
  return { violations: broken, expected, command };
}

function* judgeStart(
  tree: FileTree,
  expected: ExpectedStart,
  outcome: StartOutcome,
): Generator<DamageViolation> {
  if (expected.refusal !== null) {
    const why = `it started at ${outcome.seq} and should refuse ${JSON.stringify(expected.refusal)}`;
    yield { promise: "exact", reason: why };
    return;
  }
  if (outcome.state !== expected.state || outcome.seq !== expected.seq) {
    const why = `it started at ${outcome.seq}, not ${expected.seq}, with ${outcome.state?.slice(0, 300)}`;
    yield { promise: "exact", reason: why };
    return;
  }
  const isBegun = !tree.has("state.json");
  if (!isBegun) yield* judgeChanges(tree, expected, outcome);
}

/** Nothing may be different now but what was cut, its copy, and what a checkpoint left behind. */
function* judgeChanges(
  tree: FileTree,
  { cut }: ExpectedStart,
  outcome: StartOutcome,
): Generator<DamageViolation> {
  const { treeAfter, notes, refusal } = outcome;
  const torn = cut === null ? "" : `${cut.file}.${cut.offset}.torn`;
  const allowed = cut === null ? [] : [cut.file, torn];
  const others = changedFiles(tree, treeAfter)
    .filter((name) => !allowed.includes(name))
    .filter((name) => refusal !== null || !isLeftover(tree, treeAfter, name));
  if (others.length > 0) yield { promise: "untouched", reason: `changed: ${others.join(", ")}` };
  if (cut === null) {
    if (notes.length > 0) yield { promise: "torn", reason: `it says: ${notes.join("; ")}` };
    return;
  }
  const [before, left] = [fileBytes(tree, cut.file), fileBytes(treeAfter, cut.file)];
  const kept = fileBytes(treeAfter, torn);
  if (
    !isSameBytes(left, before.slice(0, cut.offset)) ||
    !isSameBytes(kept, before.slice(cut.offset))
  ) {
    yield { promise: "torn", reason: `${cut.file} was not cut at ${cut.offset} into ${torn}` };
  }
  const told = outcome.refusal !== null || notes.some((note) => note.includes(torn));
  if (!told) yield { promise: "torn", reason: `nobody is told of ${torn}` };
}

/** A start may drop an unfinished state, and of the record what the journal has to the byte. */
function isLeftover(tree: FileTree, after: FileTree, name: string): boolean {
  if (name === "state.json.new") return !after.has(name);
  const [before, left] = [fileBytes(tree, name), fileBytes(after, name)];
  if (!name.startsWith("history/") || !isSameBytes(before.slice(0, left.length), left))
    return false;
  const journal = [...after.keys()].filter((other) => other.startsWith("journal-"));
  const kept = journal.map((other) => Buffer.from(fileBytes(after, other)).toString("latin1"));
  const gone = Buffer.from(before.slice(left.length)).toString("latin1");
  const lines = gone.match(/.*\n/g) ?? [];
  return lines.join("") === gone && lines.every((line) => kept.some((text) => text.includes(line)));
}

async function judgeNext({ treeAfter, state }: StartOutcome): Promise<DamageViolation[]> {
  const next = await startFromTree(treeAfter);
  const clean = next.state === state && next.notes.length === 0;
  if (clean && changedFiles(treeAfter, next.treeAfter).length === 0) return [];
  const said = next.refusal?.message ?? next.notes.join("; ");
  return [{ promise: "torn", reason: `the next start is not clean: ${said}` }];
}

function* judgeRefusal(
  tree: FileTree,
  expected: ExpectedStart,
  outcome: StartOutcome,
  { message, hint }: FolderRefused,
): Generator<DamageViolation> {
  const { refusal, allowedRefusal } = expected;
  if (refusal === null) {
    if (allowedRefusal !== null && message.includes(allowedRefusal)) return;
    yield { promise: "exact", reason: `refused and should start at ${expected.seq}: ${message}` };
    return;
  }
  yield* judgeChanges(tree, expected, outcome);
  if (!isNamed(refusal, message) || hint === "") {
    const why = `should name ${JSON.stringify(refusal)}: ${message} (${hint})`;
    yield { promise: "named", reason: why };
  }
  if (refusal.recoveryGeneration === undefined) return;
  const offered = /^cp -p '([^']+)' /.exec(hint)?.[1]?.slice(MEMORY_FOLDER.length + 1) ?? null;
  if (offered !== refusal.recoveryGeneration) {
    yield {
      promise: "wayBack",
      reason: `${refusal.recoveryGeneration} leads back, and it says: ${hint}`,
    };
  }
}

function isNamed({ file, offset }: ExpectedRefusal, message: string): boolean {
  const named = message.includes(`${MEMORY_FOLDER}/${file}`);
  return (
    named &&
    (offset === null || message.includes(`${MEMORY_FOLDER}/${file} is damaged at byte ${offset},`))
  );
}

/** What the command says it does, done in memory. */
async function judgeWayBack(
  oracle: Oracle,
  moment: FolderSnapshot,
  tree: FileTree,
  command: string,
): Promise<DamageViolation[]> {
  const [, from, to] = /^cp -p '([^']+)' '([^']+)' # nothing is lost/.exec(command) ?? [];
  if (from === undefined || to === undefined) {
    return [{ promise: "wayBack", reason: `it is not a command that can be run: ${command}` }];
  }
  const [source, target] = [from, to].map((path) => path.slice(MEMORY_FOLDER.length + 1));
  const copied = replaceFile(tree, target ?? "", fileBytes(tree, source ?? ""));
  const expected = oracle.expect(moment, copied);
  const { state, refusal } = await startFromTree(copied);
  if (isRecovered(expected, state, refusal)) return [];
  return [
    { promise: "wayBack", reason: `after ${command}: ${refusal?.message ?? "another state"}` },
  ];
}

/** Everything is back; a key that was as bad before is named next. */
export function isRecovered(
  expected: ExpectedStart,
  state: string | null,
  refusal: FolderRefused | null,
): boolean {
  if (refusal === null) return state === expected.state;
  return (expected.refusal?.file ?? expected.allowedRefusal) === "identity.jwk";
}
