// Starts from a damaged folder and compares what comes of it with what must.
import { MONDAY } from "../support/scenario.ts";
import { Identity } from "../../src/operations/identity.ts";
import { openFolder } from "../../src/store/folder.ts";
import { FolderRefused } from "../../src/store/refusal.ts";
import type { Expected, Oracle, Refusal } from "./damage-expected.ts";
import { stateText, type Moment } from "./damage-moments.ts";
import { bytesOf, differences, FOLDER, isSame, replaced, TreeDisk, type Tree } from "./tree.ts";

/** What came of a start, and the folder after it. */
export interface Outcome {
  /** Null: it was refused. */
  readonly state: string | null;
  readonly seq: number;
  readonly notes: readonly string[];
  readonly refusal: FolderRefused | null;
  readonly after: Tree;
}

/** As a server does it, up to where it would listen. Anything but a refusal is thrown on. */
export const start = (tree: Tree): Promise<Outcome> => startOn(new TreeDisk(tree));

export async function startOn(disk: TreeDisk): Promise<Outcome> {
  const identity = new Identity(disk, FOLDER, []);
  try {
    const { state, head, notes, lock } = await openFolder({
      disk,
      folder: FOLDER,
      kind: "site",
      create: true,
      uid: 0,
      now: () => MONDAY,
      identify: () => identity.create(),
    });
    lock.release();
    identity.open(state.appliance);
    return { state: stateText(state), seq: head.seq, notes, refusal: null, after: disk.tree() };
  } catch (error) {
    if (!(error instanceof FolderRefused)) throw error;
    return { state: null, seq: 0, notes: [], refusal: error, after: disk.tree() };
  }
}

export const PROMISES = {
  exact: "the exact state or a refusal, never another state, never an exception",
  named: "a refusal names the file, the byte where there is one, and what helps",
  untouched: "a refusal changes nothing, a start nothing but a torn tail",
  torn: "a torn tail is kept in a copy and told, and the next start is clean",
  wayBack: "the command a refusal prints brings everything back",
} as const;

export type Promised = keyof typeof PROMISES;

export interface Broken {
  readonly promise: Promised;
  readonly why: string;
}

export interface Judged {
  readonly broken: readonly Broken[];
  readonly expected: Expected;
  /** The command of the refusal, if it has one. */
  readonly command: string | null;
}

/** One damaged folder, and all promises about it. */
export async function judge(oracle: Oracle, moment: Moment, tree: Tree): Promise<Judged> {
  const expected = oracle.expect(moment, tree);
  let outcome: Outcome;
  try {
    outcome = await start(tree);
  } catch (error) {
    const why = `it threw ${error instanceof Error ? error.stack : String(error)}`;
    return { broken: [{ promise: "exact", why }], expected, command: null };
  }
  const { refusal } = outcome;
  if (refusal === null) {
    const broken = [...judgeStart(tree, expected, outcome)];
    if (expected.cut !== null && broken.length === 0) broken.push(...(await judgeNext(outcome)));
    return { broken, expected, command: null };
  }
  const command = refusal.hint.startsWith("cp ") ? refusal.hint : null;
  const broken = [...judgeRefusal(tree, expected, outcome, refusal)];
  if (command !== null) broken.push(...(await judgeWayBack(oracle, moment, tree, command)));
  return { broken, expected, command };
}

function* judgeStart(tree: Tree, expected: Expected, outcome: Outcome): Generator<Broken> {
  if (expected.refusal !== null) {
    const why = `it started at ${outcome.seq} and should refuse ${JSON.stringify(expected.refusal)}`;
    yield { promise: "exact", why };
    return;
  }
  if (outcome.state !== expected.state || outcome.seq !== expected.seq) {
    const why = `it started at ${outcome.seq}, not ${expected.seq}, with ${outcome.state?.slice(0, 300)}`;
    yield { promise: "exact", why };
    return;
  }
  const isBegun = !tree.has("state.json");
  if (!isBegun) yield* judgeChanges(tree, expected, outcome);
}

/** Nothing may be different now but what was cut, its copy, and what a checkpoint left behind. */
function* judgeChanges(tree: Tree, { cut }: Expected, outcome: Outcome): Generator<Broken> {
  const { after, notes, refusal } = outcome;
  const torn = cut === null ? "" : `${cut.file}.${cut.offset}.torn`;
  const allowed = cut === null ? [] : [cut.file, torn];
  const others = differences(tree, after)
    .filter((name) => !allowed.includes(name))
    .filter((name) => refusal !== null || !isLeftover(tree, after, name));
  if (others.length > 0) yield { promise: "untouched", why: `changed: ${others.join(", ")}` };
  if (cut === null) {
    if (notes.length > 0) yield { promise: "torn", why: `it says: ${notes.join("; ")}` };
    return;
  }
  const [before, left] = [bytesOf(tree, cut.file), bytesOf(after, cut.file)];
  const kept = bytesOf(after, torn);
  if (!isSame(left, before.slice(0, cut.offset)) || !isSame(kept, before.slice(cut.offset))) {
    yield { promise: "torn", why: `${cut.file} was not cut at ${cut.offset} into ${torn}` };
  }
  const told = outcome.refusal !== null || notes.some((note) => note.includes(torn));
  if (!told) yield { promise: "torn", why: `nobody is told of ${torn}` };
}

/** A start may drop an unfinished state, and of the record what the journal has to the byte. */
function isLeftover(tree: Tree, after: Tree, name: string): boolean {
  if (name === "state.json.new") return !after.has(name);
  const [before, left] = [bytesOf(tree, name), bytesOf(after, name)];
  if (!name.startsWith("history/") || !isSame(before.slice(0, left.length), left)) return false;
  const journal = [...after.keys()].filter((other) => other.startsWith("journal-"));
  const kept = journal.map((other) => Buffer.from(bytesOf(after, other)).toString("latin1"));
  const gone = Buffer.from(before.slice(left.length)).toString("latin1");
  const lines = gone.match(/.*\n/g) ?? [];
  return lines.join("") === gone && lines.every((line) => kept.some((text) => text.includes(line)));
}

async function judgeNext({ after, state }: Outcome): Promise<Broken[]> {
  const next = await start(after);
  const clean = next.state === state && next.notes.length === 0;
  if (clean && differences(after, next.after).length === 0) return [];
  const said = next.refusal?.message ?? next.notes.join("; ");
  return [{ promise: "torn", why: `the next start is not clean: ${said}` }];
}

function* judgeRefusal(
  tree: Tree,
  expected: Expected,
  outcome: Outcome,
  { message, hint }: FolderRefused,
): Generator<Broken> {
  const { refusal, mayRefuse } = expected;
  if (refusal === null) {
    if (mayRefuse !== null && message.includes(mayRefuse)) return;
    yield { promise: "exact", why: `refused and should start at ${expected.seq}: ${message}` };
    return;
  }
  yield* judgeChanges(tree, expected, outcome);
  if (!isNamed(refusal, message) || hint === "") {
    const why = `should name ${JSON.stringify(refusal)}: ${message} (${hint})`;
    yield { promise: "named", why };
  }
  if (refusal.wayBack === undefined) return;
  const offered = /^cp -p '([^']+)' /.exec(hint)?.[1]?.slice(FOLDER.length + 1) ?? null;
  if (offered !== refusal.wayBack) {
    yield { promise: "wayBack", why: `${refusal.wayBack} leads back, and it says: ${hint}` };
  }
}

function isNamed({ file, offset }: Refusal, message: string): boolean {
  const named = message.includes(`${FOLDER}/${file}`);
  return (
    named &&
    (offset === null || message.includes(`${FOLDER}/${file} is damaged at byte ${offset},`))
  );
}

/** What the command says it does, done in memory. */
async function judgeWayBack(
  oracle: Oracle,
  moment: Moment,
  tree: Tree,
  command: string,
): Promise<Broken[]> {
  const [, from, to] = /^cp -p '([^']+)' '([^']+)' # nothing is lost/.exec(command) ?? [];
  if (from === undefined || to === undefined) {
    return [{ promise: "wayBack", why: `it is not a command that can be run: ${command}` }];
  }
  const [source, target] = [from, to].map((path) => path.slice(FOLDER.length + 1));
  const copied = replaced(tree, target ?? "", bytesOf(tree, source ?? ""));
  const expected = oracle.expect(moment, copied);
  const { state, refusal } = await start(copied);
  if (leads(expected, state, refusal)) return [];
  return [{ promise: "wayBack", why: `after ${command}: ${refusal?.message ?? "another state"}` }];
}

/** Everything is back; a key that was as bad before is named next. */
export function leads(
  expected: Expected,
  state: string | null,
  refusal: FolderRefused | null,
): boolean {
  if (refusal === null) return state === expected.state;
  return (expected.refusal?.file ?? expected.mayRefuse) === "identity.jwk";
}
