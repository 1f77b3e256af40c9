// Runs the compiled binary on a sample of the damaged folders. Checks its exit code, its output,
// and whether the command that it prints recovers the folder.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { buildMultiMachineBinary, MACHINE_VARIABLE } from "../../support/binary.ts";
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

/** A random sample of each kind with a fixed maximum size (reservoir sampling). */
export class CaseSample {
  readonly #kinds = new Map<string, { offered: number; readonly cases: DamageCase[] }>();
  readonly #random: () => number;
  readonly #maxPerKind: number;

  constructor(random: () => number, maxPerKind: number) {
    this.#random = random;
    this.#maxPerKind = maxPerKind;
  }

  offer(kind: string, damageCase: DamageCase): void {
    const sample = this.#kinds.get(kind) ?? { offered: 0, cases: [] };
    this.#kinds.set(kind, sample);
    sample.offered += 1;
    if (sample.cases.length < this.#maxPerKind) sample.cases.push(damageCase);
    else {
      const index = Math.floor(this.#random() * sample.offered);
      if (index < this.#maxPerKind) sample.cases[index] = damageCase;
    }
  }

  get cases(): readonly DamageCase[] {
    return [...this.#kinds.values()].flatMap(({ cases }) => cases);
  }
}

const EXIT_NEEDS_OPERATOR = 78;

/** A server that starts although it should refuse would never exit. */
const COMMAND_TIMEOUT = 60_000;

export interface BinaryResult {
  readonly violation: string | null;
  readonly wasRefused: boolean;
  /** The hint was a command, and it was run. */
  readonly ranCommand: boolean;
}

/** A path that a shell command must quote. */
const folderFor = (root: string, index: number): string => join(root, `it's $HOME ${index}`);

export async function tryBinary(
  oracle: Oracle,
  root: string,
  index: number,
  damageCase: DamageCase,
): Promise<BinaryResult> {
  const folder = folderFor(root, index);
  mkdirSync(root, { recursive: true });
  const { expected, snapshot, tree } = damageCase;
  writeTree(tree, folder);
  const before = readTree(folder);
  // Both commands must refuse in the same way. If the start should succeed, only berth status is
  // run, because it exits by itself.
  const usesServer = expected.refusal !== null && index % 2 === 0;
  const args = usesServer ? ["serve", "--listen", "127.0.0.1:0"] : ["status", "--json"];
  const result = await runBerth(...args, "--data", folder);
  if (expected.refusal === null) {
    const isAllowedRefusal =
      expected.allowedRefusal !== null && result.code === EXIT_NEEDS_OPERATOR;
    // What an interrupted first start left behind: a server begins anew there, and a command does not.
    const isFirstStart =
      result.code === EXIT_NEEDS_OPERATOR &&
      expected.seq === 1 &&
      !tree.has("state.json") &&
      result.stderr.includes(`${folder} is not a data folder`);
    const isRefused = isAllowedRefusal || isFirstStart;
    const violation = isRefused ? null : await judgeStart(folder, result, expected);
    return { violation, wasRefused: false, ranCommand: false };
  }
  const allowed = expected.cut === null ? [] : [expected.cut.file, tornCopyName(expected.cut)];
  const changed = changedFiles(before, readTree(folder)).filter((name) => !allowed.includes(name));
  const reason = judgeRefusal(folder, result, expected.refusal.file);
  if (reason !== null || changed.length > 0) {
    const violation = reason ?? `the start was refused, but changed ${changed.join(", ")}`;
    return { violation, wasRefused: true, ranCommand: false };
  }
  const hint = /^berth: hint: (cp .*)$/m.exec(result.stderr)?.[1];
  if (hint === undefined) return { violation: null, wasRefused: true, ranCommand: false };
  return {
    violation: await judgeCommand(oracle, snapshot, folder, hint),
    wasRefused: true,
    ranCommand: true,
  };
}

const tornCopyName = ({ file, offset }: NonNullable<ExpectedStart["cut"]>): string =>
  `${file}.${offset}.torn`;

interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function runBerth(...args: readonly string[]): Promise<CommandResult> {
  const child = Bun.spawn([buildMultiMachineBinary(), ...args], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    // Copies of one folder run at the same time, so each must look like another machine.
    env: { [MACHINE_VARIABLE]: args.join(" ") },
    timeout: COMMAND_TIMEOUT,
  });
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code, stdout, stderr };
}

const describeResult = ({ code, stdout, stderr }: CommandResult): string =>
  `exit code ${code}: ${stderr.slice(0, 600)}${stdout.slice(0, 200)}`;

function judgeRefusal(folder: string, result: CommandResult, file: string): string | null {
  const [error = "", hint = "", ...rest] = result.stderr.split("\n");
  const isRight =
    result.code === EXIT_NEEDS_OPERATOR &&
    isRefusalOutput(result.stdout) &&
    error.startsWith("berth: error: ") &&
    error.includes(join(folder, file)) &&
    /^berth: hint: ./.test(hint) &&
    rest.join("") === "";
  return isRight
    ? null
    : `the start should be refused with an error that names ${file}: ${describeResult(result)}`;
}

/** A server prints nothing; a command with --json prints only the refusal. */
const isRefusalOutput = (stdout: string): boolean =>
  stdout === "" || /^\{"code":"\w+","message":/.test(stdout.replaceAll(/\n *| (?=")/g, ""));

interface Status {
  readonly storage: { readonly seq: number; readonly recovery_notes: readonly string[] };
}

/** Judges the output, and the folder after it: a stop makes a checkpoint of the complete state. */
async function judgeStart(
  folder: string,
  result: CommandResult,
  expected: ExpectedStart,
): Promise<string | null> {
  if (result.code !== 0)
    return `the start should succeed with line ${expected.seq}: ${describeResult(result)}`;
  const { storage } = JSON.parse(result.stdout) as Status;
  const notes = expected.cut === null ? 0 : 1;
  if (storage.seq !== expected.seq || storage.recovery_notes.length !== notes) {
    return `the start should reach line ${expected.seq} with ${notes} notes: ${JSON.stringify(storage)}`;
  }
  const { state } = await startFromTree(readTree(folder));
  return state === expected.state ? null : "the folder has another state after the stop";
}

async function judgeCommand(
  oracle: Oracle,
  snapshot: FolderSnapshot,
  folder: string,
  hint: string,
): Promise<string | null> {
  const shell = Bun.spawnSync(["sh", "-c", hint], { stderr: "pipe" });
  if (!shell.success) return `${hint} failed: ${shell.stderr.toString()}`;
  const recovered = readTree(folder);
  const { state, refusal } = await startFromTree(recovered);
  const expected = oracle.expect(snapshot, recovered);
  if (!isRecovered(expected, state, refusal)) return `after ${hint}: ${refusal ?? "another state"}`;
  const result = await runBerth("status", "--data", folder, "--json");
  if (result.code !== (refusal === null ? 0 : EXIT_NEEDS_OPERATOR))
    return `after ${hint}: ${describeResult(result)}`;
  const again = await startFromTree(readTree(folder));
  return again.state === state ? null : `after ${hint} the folder has another state after the stop`;
}
