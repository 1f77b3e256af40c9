// Starts from a damaged folder and compares the outcome with the expected one.
import { MONDAY } from "../../support/scenario.ts";
import { Identity } from "../../../src/operations/appliance/identity.ts";
import { openFolder } from "../../../src/store/folder/folder.ts";
import { FolderRefused } from "../../../src/store/folder/refusal.ts";
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

/** The outcome of a start, and the folder after it. */
export interface StartOutcome {
  /** Null if the start was refused. */
  readonly state: string | null;
  readonly seq: number;
  readonly notes: readonly string[];
  readonly refusal: FolderRefused | null;
  readonly treeAfter: FileTree;
}

/**
 * Starts as a server does, up to the step where it would listen. Errors other than refusals are
 * rethrown.
 */
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
  exact: "a start from a damaged folder reaches the exact state or is refused, and never throws",
  named: "a refusal names the damaged file, the byte offset if there is one, and a hint",
  untouched: "a refused start changes no file, and a successful start only cuts a torn tail",
  torn: "a start copies and reports a torn tail before it cuts it, and the next start is clean",
  recovery: "the command that a refusal prints recovers the complete state",
} as const;

export type DamagePromise = keyof typeof DAMAGE_PROMISES;

export interface DamageViolation {
  readonly promise: DamagePromise;
  readonly reason: string;
}

export interface DamageJudgement {
  readonly violations: readonly DamageViolation[];
  readonly expected: ExpectedStart;
  /** The command in the hint of the refusal, if there is one. */
  readonly command: string | null;
}

/** Judges all promises for one damaged folder. */
export async function judgeDamagedFolder(
  oracle: Oracle,
  snapshot: FolderSnapshot,
  tree: FileTree,
): Promise<DamageJudgement> {
  const expected = oracle.expect(snapshot, tree);
  let outcome: StartOutcome;
  try {
    outcome = await startFromTree(tree);
  } catch (error) {
    const reason = `the start threw ${error instanceof Error ? error.stack : String(error)}`;
    return { violations: [{ promise: "exact", reason }], expected, command: null };
  }
  const { refusal } = outcome;
  if (refusal === null) {
    const violations = [...judgeStart(tree, expected, outcome)];
    if (expected.cut !== null && violations.length === 0) {
      violations.push(...(await judgeNextStart(outcome)));
    }
    return { violations, expected, command: null };
  }
  const command = refusal.hint.startsWith("cp ") ? refusal.hint : null;
  const violations = [...judgeRefusal(tree, expected, outcome, refusal)];
  if (command !== null) violations.push(...(await judgeCommand(oracle, snapshot, tree, command)));
  return { violations, expected, command };
}

function* judgeStart(
  tree: FileTree,
  expected: ExpectedStart,
  outcome: StartOutcome,
): Generator<DamageViolation> {
  if (expected.refusal !== null) {
    const reason = `it started with line ${outcome.seq}, but should refuse with ${JSON.stringify(expected.refusal)}`;
    yield { promise: "exact", reason };
    return;
  }
  if (outcome.state !== expected.state || outcome.seq !== expected.seq) {
    const reason = `it started with line ${outcome.seq}, not ${expected.seq}, and with the state ${outcome.state?.slice(0, 300)}`;
    yield { promise: "exact", reason };
    return;
  }
  const isFirstStart = !tree.has("state.json");
  if (!isFirstStart) yield* judgeChanges(tree, expected, outcome);
}

/** Only these may change: the file that was cut, its copy, and leftovers of a checkpoint. */
function* judgeChanges(
  tree: FileTree,
  { cut }: ExpectedStart,
  outcome: StartOutcome,
): Generator<DamageViolation> {
  const { treeAfter, notes, refusal } = outcome;
  const copyName = cut === null ? "" : `${cut.file}.${cut.offset}.torn`;
  const allowed = cut === null ? [] : [cut.file, copyName];
  const unexpected = changedFiles(tree, treeAfter)
    .filter((name) => !allowed.includes(name))
    .filter((name) => refusal !== null || !isLeftover(tree, treeAfter, name));
  if (unexpected.length > 0) {
    yield { promise: "untouched", reason: `the start changed ${unexpected.join(", ")}` };
  }
  if (cut === null) {
    if (notes.length > 0)
      yield { promise: "torn", reason: `unexpected notes: ${notes.join("; ")}` };
    return;
  }
  const [before, after] = [fileBytes(tree, cut.file), fileBytes(treeAfter, cut.file)];
  const copy = fileBytes(treeAfter, copyName);
  if (
    !isSameBytes(after, before.slice(0, cut.offset)) ||
    !isSameBytes(copy, before.slice(cut.offset))
  ) {
    yield {
      promise: "torn",
      reason: `${cut.file} was not cut at byte ${cut.offset} with a copy in ${copyName}`,
    };
  }
  const isReported = outcome.refusal !== null || notes.some((note) => note.includes(copyName));
  if (!isReported) yield { promise: "torn", reason: `no note names ${copyName}` };
}

/**
 * A start may remove an unfinished state, and lines at the end of the audit log that the journal
 * contains byte for byte.
 */
function isLeftover(tree: FileTree, treeAfter: FileTree, name: string): boolean {
  if (name === "state.json.new") return !treeAfter.has(name);
  const [before, after] = [fileBytes(tree, name), fileBytes(treeAfter, name)];
  if (!name.startsWith("history/") || !isSameBytes(before.slice(0, after.length), after))
    return false;
  const segments = [...treeAfter.keys()].filter((other) => other.startsWith("journal-"));
  const journal = segments.map((segment) =>
    Buffer.from(fileBytes(treeAfter, segment)).toString("latin1"),
  );
  const removed = Buffer.from(before.slice(after.length)).toString("latin1");
  const lines = removed.match(/.*\n/g) ?? [];
  return (
    lines.join("") === removed && lines.every((line) => journal.some((text) => text.includes(line)))
  );
}

async function judgeNextStart({ treeAfter, state }: StartOutcome): Promise<DamageViolation[]> {
  const next = await startFromTree(treeAfter);
  const isClean = next.state === state && next.notes.length === 0;
  if (isClean && changedFiles(treeAfter, next.treeAfter).length === 0) return [];
  const message = next.refusal?.message ?? next.notes.join("; ");
  return [{ promise: "torn", reason: `the next start is not clean: ${message}` }];
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
    yield {
      promise: "exact",
      reason: `it was refused, but should start with line ${expected.seq}: ${message}`,
    };
    return;
  }
  yield* judgeChanges(tree, expected, outcome);
  if (!isNamed(refusal, message) || hint === "") {
    const reason = `the refusal should name ${JSON.stringify(refusal)}: ${message} (${hint})`;
    yield { promise: "named", reason };
  }
  if (refusal.recoveryGeneration === undefined) return;
  const offered = /^cp -p '([^']+)' /.exec(hint)?.[1]?.slice(MEMORY_FOLDER.length + 1) ?? null;
  if (offered !== refusal.recoveryGeneration) {
    yield {
      promise: "recovery",
      reason: `the generation ${refusal.recoveryGeneration} would recover the folder, but the hint is: ${hint}`,
    };
  }
}

function isNamed({ file, offset }: ExpectedRefusal, message: string): boolean {
  const namesFile = message.includes(`${MEMORY_FOLDER}/${file}`);
  return (
    namesFile &&
    (offset === null || message.includes(`${MEMORY_FOLDER}/${file} is damaged at byte ${offset},`))
  );
}

/** Does in memory what the printed command does, and starts from the result. */
async function judgeCommand(
  oracle: Oracle,
  snapshot: FolderSnapshot,
  tree: FileTree,
  command: string,
): Promise<DamageViolation[]> {
  const [, from, to] = /^cp -p '([^']+)' '([^']+)' # nothing is lost/.exec(command) ?? [];
  if (from === undefined || to === undefined) {
    return [
      { promise: "recovery", reason: `the hint is not a command that can be run: ${command}` },
    ];
  }
  const [source, target] = [from, to].map((path) => path.slice(MEMORY_FOLDER.length + 1));
  const recovered = replaceFile(tree, target ?? "", fileBytes(tree, source ?? ""));
  const expected = oracle.expect(snapshot, recovered);
  const { state, refusal } = await startFromTree(recovered);
  if (isRecovered(expected, state, refusal)) return [];
  return [
    { promise: "recovery", reason: `after ${command}: ${refusal?.message ?? "another state"}` },
  ];
}

/** The state is complete again; a damaged identity key, if there is one, is refused next. */
export function isRecovered(
  expected: ExpectedStart,
  state: string | null,
  refusal: FolderRefused | null,
): boolean {
  if (refusal === null) return state === expected.state;
  return (expected.refusal?.file ?? expected.allowedRefusal) === "identity.jwk";
}
