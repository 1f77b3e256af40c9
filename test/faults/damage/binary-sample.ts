// A sample of damaged folders put before the compiled binary: its exit code, what it prints, and
// whether the command it prints does what it says.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "../../support/binary.ts";
import type { ExpectedStart, Oracle } from "./oracle.ts";
import { isRecovered, startFromTree } from "./judge.ts";
import type { FolderSnapshot } from "./site-history.ts";
import { changedFiles, readTree, writeTree, type FileTree } from "../shared/memory-disk.ts";

export interface DamageCase {
  readonly description: string;
  readonly snapshot: FolderSnapshot;
  readonly tree: FileTree;
  readonly expected: ExpectedStart;
}

/** Some of every kind, whatever their number: those that come later push out earlier ones. */
export class CaseSample {
  readonly #kinds = new Map<string, { seen: number; readonly kept: DamageCase[] }>();
  readonly #random: () => number;
  readonly #each: number;

  constructor(random: () => number, each: number) {
    this.#random = random;
    this.#each = each;
  }

  offer(kind: string, one: DamageCase): void {
    const bin = this.#kinds.get(kind) ?? { seen: 0, kept: [] };
    this.#kinds.set(kind, bin);
    bin.seen += 1;
    if (bin.kept.length < this.#each) bin.kept.push(one);
    else {
      const place = Math.floor(this.#random() * bin.seen);
      if (place < this.#each) bin.kept[place] = one;
    }
  }

  get cases(): readonly DamageCase[] {
    return [...this.#kinds.values()].flatMap(({ kept }) => kept);
  }
}

const NEEDS_OPERATOR = 78;

/** A server that starts where it should refuse would run for ever. */
const PATIENCE = 60_000;

export interface BinaryResult {
  readonly violation: string | null;
  readonly wasRefused: boolean;
  /** A command was printed, and run. */
  readonly ranCommand: boolean;
}

/** A name that a command must quote. */
const folderFor = (root: string, place: number): string => join(root, `it's $HOME ${place}`);

export async function tryBinary(
  oracle: Oracle,
  root: string,
  place: number,
  one: DamageCase,
): Promise<BinaryResult> {
  const folder = folderFor(root, place);
  mkdirSync(root, { recursive: true });
  writeTree(one.tree, folder);
  const { expected } = one;
  const before = readTree(folder);
  // A server refuses as a look does; one that should start is looked at, which ends by itself.
  const serves = expected.refusal !== null && place % 2 === 0;
  const words = serves ? ["serve", "--listen", "127.0.0.1:0"] : ["status", "--json"];
  const said = await runBerth(...words, "--data", folder);
  if (expected.refusal === null) {
    const lenient = expected.allowedRefusal !== null && said.code === NEEDS_OPERATOR;
    const broken = lenient ? null : await wrongStart(folder, said, expected);
    return { violation: broken, wasRefused: false, ranCommand: false };
  }
  const allowed = expected.cut === null ? [] : [expected.cut.file, tornOf(expected.cut)];
  const changed = changedFiles(before, readTree(folder)).filter((name) => !allowed.includes(name));
  const complaint = wrongRefusal(folder, said, expected.refusal.file);
  if (complaint !== null || changed.length > 0) {
    const broken = complaint ?? `it was refused, and changed: ${changed.join(", ")}`;
    return { violation: broken, wasRefused: true, ranCommand: false };
  }
  const hint = /^berth: hint: (cp .*)$/m.exec(said.stderr)?.[1];
  if (hint === undefined) return { violation: null, wasRefused: true, ranCommand: false };
  return {
    violation: await wrongCommand(oracle, one.snapshot, folder, hint),
    wasRefused: true,
    ranCommand: true,
  };
}

const tornOf = ({ file, offset }: NonNullable<ExpectedStart["cut"]>): string =>
  `${file}.${offset}.torn`;

interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function runBerth(...words: readonly string[]): Promise<CommandResult> {
  const child = Bun.spawn([buildBinary(), ...words], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    // Copies of one folder are served at once.
    env: { BERTH_TEST_MACHINE: words.join(" ") },
    timeout: PATIENCE,
  });
  const [code, out, err] = await Promise.all([
    child.exited,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code, stdout: out, stderr: err };
}

const show = ({ code, stdout, stderr }: CommandResult): string =>
  `exit ${code}: ${stderr.slice(0, 600)}${stdout.slice(0, 200)}`;

function wrongRefusal(folder: string, said: CommandResult, file: string): string | null {
  const [error = "", hint = "", ...more] = said.stderr.split("\n");
  const right =
    said.code === NEEDS_OPERATOR &&
    isRefusal(said.stdout) &&
    error.startsWith("berth: error: ") &&
    error.includes(join(folder, file)) &&
    /^berth: hint: ./.test(hint) &&
    more.join("") === "";
  return right ? null : `should be refused with ${file} named: ${show(said)}`;
}

/** A server prints nothing; a command with --json prints why it was refused, and nothing else. */
const isRefusal = (out: string): boolean =>
  out === "" || /^\{"code":"\w+","message":/.test(out.replaceAll(/\n *| (?=")/g, ""));

interface Status {
  readonly storage: { readonly seq: number; readonly recovery_notes: readonly string[] };
}

/** What it says, and what it left behind: a stop folds everything into the state. */
async function wrongStart(
  folder: string,
  said: CommandResult,
  expected: ExpectedStart,
): Promise<string | null> {
  if (said.code !== 0) return `should start at ${expected.seq}: ${show(said)}`;
  const { storage } = JSON.parse(said.stdout) as Status;
  const notes = expected.cut === null ? 0 : 1;
  if (storage.seq !== expected.seq || storage.recovery_notes.length !== notes) {
    return `should start at ${expected.seq} with ${notes} notes: ${JSON.stringify(storage)}`;
  }
  const { state } = await startFromTree(readTree(folder));
  return state === expected.state ? null : "it left another state behind";
}

async function wrongCommand(
  oracle: Oracle,
  moment: FolderSnapshot,
  folder: string,
  hint: string,
): Promise<string | null> {
  const ran = Bun.spawnSync(["sh", "-c", hint], { stderr: "pipe" });
  if (!ran.success) return `${hint}: ${ran.stderr.toString()}`;
  const copied = readTree(folder);
  const { state, refusal } = await startFromTree(copied);
  const expected = oracle.expect(moment, copied);
  if (!isRecovered(expected, state, refusal)) return `after ${hint}: ${refusal ?? "another state"}`;
  const said = await runBerth("status", "--data", folder, "--json");
  if (said.code !== (refusal === null ? 0 : NEEDS_OPERATOR)) return `after ${hint}: ${show(said)}`;
  const again = await startFromTree(readTree(folder));
  return again.state === state ? null : `after ${hint} it left another state behind`;
}
