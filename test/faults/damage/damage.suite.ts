// Damages every file of a data folder in the ways a disk or a person may damage it, and starts from
// each damaged folder. Every start must reach the exact state, or refuse with a hint that helps.
import { beforeAll, describe, test } from "bun:test";
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
  createRandom,
  makeTempFolder,
  seed,
  chooseSize,
  isDetectionRun,
} from "../../support/suite-harness.ts";
import { expectKept, testPromises } from "../shared/promises.ts";
import { fileBytes, type FileTree } from "../shared/memory-disk.ts";

/** The snapshot from which the pending checkpoints were made. */
const CHECKPOINT_SNAPSHOT = "running";

type CheckedPromise = DamagePromise | "checkpoint" | "credentials";

/** What came of all damage to one snapshot of the folder. */
class SnapshotReport {
  readonly violations = new Map<CheckedPromise, string[]>();
  readonly counts = {
    exact: 0,
    refused: 0,
    cut: 0,
    lost: 0,
    commands: 0,
    checkpoints: 0,
    credentials: 0,
  };

  recordViolation(promise: CheckedPromise, violation: string): void {
    this.violations.set(promise, [...(this.violations.get(promise) ?? []), violation]);
  }

  get figures(): string {
    const { exact, refused, cut, lost, commands, checkpoints, credentials } = this.counts;
    return (
      `${exact + refused + cut + lost} damaged folders: ${exact} start with the exact state, ` +
      `${refused} are refused, ${cut} lose the torn end of the last batch, ${lost} lose whole ` +
      `batches of which no trace is left; ${commands} commands run, ${checkpoints} checkpoints, ` +
      `${credentials} damaged pairs of credential files`
    );
  }
}

const folder = makeTempFolder();
const site = await recordSiteHistory(join(folder, "own"), "own");
const otherSite = await recordSiteHistory(join(folder, "other"), "other");
const oracle = new Oracle(site, otherSite);
const binarySample = new CaseSample(createRandom(seed), chooseSize(2, 8));
const cleanCheckpoints = await Promise.all(site.pendingCheckpoints.map(runCheckpoint));

// The snapshot with the most cases comes last, so that obvious violations are found early.
const THOROUGH_SNAPSHOT = "running";
const sortKey = ({ name }: FolderSnapshot): number => Number(name === THOROUGH_SNAPSHOT);
const snapshots = site.snapshots.toSorted((a, b) => sortKey(a) - sortKey(b));

const reports = new Map<FolderSnapshot, Promise<SnapshotReport>>();

/** Damages a snapshot in every way, once. */
function damageSnapshot(snapshot: FolderSnapshot): Promise<SnapshotReport> {
  const report = reports.get(snapshot) ?? tryEachDamage(snapshot);
  reports.set(snapshot, report);
  return report;
}

async function tryEachDamage(snapshot: FolderSnapshot): Promise<SnapshotReport> {
  const report = new SnapshotReport();
  let tried = 0;
  const random = createRandom(seed);
  const amounts = amountsFor(snapshot);
  const replacements = replacementsFor(snapshot);
  for (const damaged of generateDamagedFolders(snapshot.tree, replacements, random, amounts)) {
    const { description, tree } = damaged;
    const context = `SEED=${seed}, ${snapshot.name}: ${description}`;
    const judgement = await judgeDamagedFolder(oracle, snapshot, tree);
    const { expected, command } = judgement;
    for (const { promise, reason } of judgement.violations) {
      report.recordViolation(promise, `${context}: ${reason}`);
    }
    const outcome = outcomeOf(expected);
    report.counts[outcome] += 1;
    if (command !== null) report.counts.commands += 1;
    await judgeUnreadFiles(report, snapshot, damaged, context, random);
    const damageCase = { description: context, snapshot, tree, expected };
    binarySample.offer(`${kindOf(damaged)} ${outcome} ${command !== null}`, damageCase);
    if (isDetectionRun && report.violations.size > 0) break;
    // A disk in memory never waits; without a pause no signal would be handled.
    tried += 1;
    if (tried % 100 === 0) await Bun.sleep(0);
  }
  return report;
}

describe.each(snapshots.map((snapshot) => [snapshot.name, snapshot] as const))(
  "after damage to the %s folder",
  (_name, snapshot) => {
    let report: SnapshotReport;

    beforeAll(async () => {
      report = await damageSnapshot(snapshot);
      console.log(report.figures);
    });

    testPromises(DAMAGE_PROMISES, (promise) => report.violations.get(promise) ?? []);

    if (snapshot.name === CHECKPOINT_SNAPSHOT) {
      test("a checkpoint loses no line of a damaged audit log and does not append to a short one", () => {
        expectKept(report.violations.get("checkpoint") ?? []);
      });
    }

    if (snapshot.tree.has("sealing.key")) {
      test("credentials are read as they were set, or not at all", () => {
        expectKept(report.violations.get("credentials") ?? []);
      });
    }
  },
);

describe("the compiled binary", () => {
  test("starts on a damaged folder, or exits with code 78, an error and a hint whose command recovers the folder", async () => {
    for (const snapshot of snapshots) await damageSnapshot(snapshot);
    const queue = binarySample.cases.map((damageCase, index) => ({ damageCase, index }));
    const total = queue.length;
    const results: BinaryResult[] = [];
    const violations: string[] = [];
    const runQueue = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const { damageCase, index } = next;
        const result = await tryBinary(oracle, join(folder, "binary"), index, damageCase);
        results.push(result);
        if (result.violation !== null) {
          violations.push(`${damageCase.description}: ${result.violation}`);
        }
      }
    };
    await Promise.all([runQueue(), runQueue()]);
    const refused = results.filter((result) => result.wasRefused).length;
    const commands = results.filter(({ ranCommand }) => ranCommand).length;
    console.log(`${total} folders, ${refused} refused, ${commands} commands run`);
    expectKept(violations);
  });
});

function outcomeOf({
  refusal,
  cut,
  hasLostBatches,
}: ExpectedStart): "exact" | "refused" | "cut" | "lost" {
  if (refusal !== null) return "refused";
  if (hasLostBatches) return "lost";
  return cut === null ? "exact" : "cut";
}

/**
 * Judges the audit log and the credentials, if these files were damaged: a start does not read
 * them.
 */
async function judgeUnreadFiles(
  report: SnapshotReport,
  { name: snapshotName, tree: before }: FolderSnapshot,
  { files: [name = ""], tree }: DamagedFolder,
  context: string,
  random: () => number,
): Promise<void> {
  if (before.has("sealing.key") && /^credentials|^sealing/.test(name)) {
    report.counts.credentials += 1;
    const reason = await judgeCredentials(before, tree);
    if (reason !== null) report.recordViolation("credentials", `${context}: ${reason}`);
  }
  if (snapshotName !== CHECKPOINT_SNAPSHOT || !name.startsWith("history/")) return;
  for (const [index, next] of site.pendingCheckpoints.entries()) {
    const clean = cleanCheckpoints[index];
    if (clean === undefined) continue;
    // Few damaged files are longer than before, and some mistakes show in them alone.
    const isLonger = (tree.get(name)?.bytes.length ?? 0) > fileBytes(before, name).length;
    if (!isLonger && random() > chooseSize(1 / 12, 1 / 3)) continue;
    report.counts.checkpoints += 1;
    const reason = await judgeCheckpoint(next, clean, name, tree);
    if (reason !== null) {
      report.recordViolation(
        "checkpoint",
        `${context}, then a checkpoint into ${next.name}: ${reason}`,
      );
    }
  }
}

/** The kind of damaged file, by which the sample for the binary is chosen. */
function kindOf({ files }: DamagedFolder): string {
  return files.length > 1 ? "several" : (files[0] ?? "").replaceAll(/\d+/g, "N");
}

/** Trees with files that can be mistaken for those of this snapshot. */
function replacementsFor({ name }: FolderSnapshot): Record<string, FileTree> {
  const treeNamed = (snapshots: readonly FolderSnapshot[], wanted: string): FileTree =>
    snapshots.find((snapshot) => snapshot.name === wanted)?.tree ?? new Map();
  return {
    "another folder": treeNamed(otherSite.snapshots, name),
    "the licensed snapshot of this folder": treeNamed(site.snapshots, "licensed"),
    "the stopped snapshot of this folder": treeNamed(site.snapshots, "stopped"),
  };
}

function amountsFor({ name }: FolderSnapshot): DamageAmounts {
  const swaps = chooseSize(25, 500);
  const pairs = chooseSize(200, 10_000);
  if (name === THOROUGH_SNAPSHOT)
    return {
      flips: chooseSize(512, 16_384),
      maxSizeCutEverywhere: chooseSize(2_048, 65_536),
      swaps,
      pairs,
    };
  return {
    flips: chooseSize(128, 2_048),
    maxSizeCutEverywhere: chooseSize(512, 65_536),
    swaps,
    pairs,
  };
}
