// Makes backups of a server under load with the compiled binary, while the server makes
// checkpoints. Processes are stopped and continued at chosen steps, so that a backup overlaps a
// checkpoint there and not by luck. Every backup is restored and compared with what the clients
// were answered.
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startBinary } from "../../support/binary.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { findLeaks, setCanaryKeys, type Secrets } from "./canary-keys.ts";
import { BackupViolation, withContext, type BackupPromise } from "./request-cut.ts";
import { readFacts, judgeBackup, spawnBerth, type Backup } from "./judge.ts";
import { ClientLoad, TERMS } from "./client-load.ts";
import { Interleaver, type InterleavingPlan } from "./interleaver.ts";
import {
  atEnd,
  check,
  finish,
  reportProgress,
  makeTempFolder,
  seed,
  chooseSize,
} from "../../support/suite-harness.ts";

const ROUNDS = chooseSize(1, 10);
const CLIENTS = 12;

const BACKUP = { command: "backup", commandCount: 1 } as const;
const VERIFY = {
  command: "verify",
  pauseCheckpointAt: "started",
  pauseCommandAt: "state read",
  checkpointsToPass: 2,
} as const;

/** How the commands overlap checkpoints. Ten backups in all. */
const PLANS: readonly InterleavingPlan[] = [
  // The state is replaced after the backup has read it and before it copies it.
  { ...BACKUP, pauseCheckpointAt: "started", pauseCommandAt: "state read", checkpointsToPass: 1 },
  // The audit log has lines that the state does not cover yet.
  { ...BACKUP, pauseCheckpointAt: "audit log written", pauseCommandAt: null, checkpointsToPass: 0 },
  // The checkpoint removes files that the backup has yet to copy.
  { ...BACKUP, pauseCheckpointAt: "started", pauseCommandAt: "state copied", checkpointsToPass: 2 },
  // Several times: on a busy machine berth verify may end before it can be stopped.
  { ...VERIFY, commandCount: 1 },
  {
    ...BACKUP,
    pauseCheckpointAt: null,
    pauseCommandAt: null,
    checkpointsToPass: 0,
    commandCount: 2,
  },
  { ...BACKUP, pauseCheckpointAt: "started", pauseCommandAt: "state read", checkpointsToPass: 2 },
  { ...BACKUP, pauseCheckpointAt: "started", pauseCommandAt: "state copied", checkpointsToPass: 1 },
  {
    ...BACKUP,
    pauseCheckpointAt: "audit log written",
    pauseCommandAt: "state read",
    checkpointsToPass: 1,
  },
  {
    ...BACKUP,
    pauseCheckpointAt: null,
    pauseCommandAt: null,
    checkpointsToPass: 0,
    commandCount: 2,
  },
  { ...VERIFY, commandCount: 2 },
  { ...VERIFY, commandCount: 1 },
  { ...VERIFY, commandCount: 1 },
];

const counts = { commands: 0, backups: 0, verifications: 0, overlaps: 0, requests: 0 };
const compared = { answeredBefore: 0, inFlight: 0, auditLines: 0, megabytes: 0 };
/** Milliseconds to an answer before the first backup, and during backups. */
const durationsBefore: number[] = [];
const durationsDuring: number[] = [];

try {
  for (let round = 0; round < ROUNDS; round += 1) {
    await withContext(`SEED=${seed}, round ${round}`, runRound(seed + 1_000 * round));
    reportProgress("rounds", round + 1, ROUNDS);
  }
  report(null);
} catch (error) {
  if (!(error instanceof BackupViolation)) throw error;
  report(error);
}
finish();

/**
 * Each round has its own site: its audit log grows with every backup, and so does the time to read
 * it.
 */
async function runRound(roundSeed: number): Promise<void> {
  const root = makeTempFolder();
  const [site, out] = [join(root, "site"), join(root, "out")];
  mkdirSync(out);
  await makeLicensedSite(site, TERMS);
  const flags = ["--listen", "127.0.0.1:0", "--audit-budget", "0"];
  const server = await startBinary("serve", "--data", site, ...flags);
  atEnd(() => void server.kill());
  const secrets = await setCanaryKeys(site);
  const load = new ClientLoad(server.url, roundSeed);
  load.start(CLIENTS);
  const interleaver = new Interleaver(site);
  const allBackups: Backup[] = [];
  for (const plan of PLANS) {
    const backups = await runCommands(plan, interleaver, site, out);
    if (load.failures.length > 0)
      throw new BackupViolation("served", load.failures.slice(0, 3).join("; "));
    allBackups.push(...backups);
    load.pause();
    const judgements = backups.map((backup) =>
      withContext(backup.name, checkBackup(backup, secrets, load)),
    );
    // Wait for all of them: after a violation no other check may still be running.
    await Promise.allSettled(judgements);
    await Promise.all(judgements);
    load.resume();
  }
  await load.stop();
  counts.requests += load.answers.length;
  collectDurations(load, allBackups);
  if ((await server.stop()) !== 0)
    throw new BackupViolation("served", "the server did not stop cleanly");
  await readFacts(spawnBerth(["verify", "--data", site, "--json"]), "served");
  const leftovers = readdirSync(out);
  if (leftovers.length > 0)
    throw new BackupViolation("created", `berth backup left files behind: ${leftovers.join(", ")}`);
  rmSync(root, { recursive: true });
}

/** Runs the commands of a plan; returns the backups they made. */
async function runCommands(
  plan: InterleavingPlan,
  interleaver: Interleaver,
  site: string,
  out: string,
): Promise<Backup[]> {
  const running: Promise<Backup>[] = [];
  const before = interleaver.completedCheckpoints;
  const isBackup = plan.command === "backup";
  await interleaver.runPlan(plan, () =>
    Array.from({ length: plan.commandCount }, () => {
      counts.commands += 1;
      const file = join(out, `${counts.commands}.berth`);
      const name = `${plan.command} ${counts.commands} (${JSON.stringify(plan)})`;
      const startedAt = performance.now();
      const args = [plan.command, ...(isBackup ? [file] : []), "--data", site, "--json"];
      const child = spawnBerth(args);
      const endedAt = child.exited.then(() => performance.now());
      const facts = withContext(name, readFacts(child, isBackup ? "created" : "verified"));
      const result = facts.then(async (parsed) => ({
        name,
        file,
        facts: parsed,
        startedAt,
        endedAt: await endedAt,
      }));
      // A rejection is handled below, when the plan has run.
      result.catch(() => {});
      running.push(result);
      return child;
    }),
  );
  const results = await Promise.all(running);
  if (interleaver.completedCheckpoints > before) counts.overlaps += results.length;
  counts[isBackup ? "backups" : "verifications"] += results.length;
  return isBackup ? results : [];
}

async function checkBackup(
  backup: Backup,
  secrets: Secrets,
  { requestLogs }: ClientLoad,
): Promise<void> {
  const { file, facts } = backup;
  const bytes = readFileSync(file);
  const leaked = findLeaks(secrets, bytes);
  if (leaked.length > 0)
    throw new BackupViolation("secrets", `the backup contains ${leaked.join(", ")}`);
  const restored = `${file}.restored`;
  mkdirSync(restored, { mode: 0o700 });
  const { answeredBefore, inFlight } = await judgeBackup(backup, restored, requestLogs);
  compared.answeredBefore += answeredBefore;
  compared.inFlight += inFlight;
  compared.auditLines += facts.audit_seq + 1;
  compared.megabytes += bytes.length / 1e6;
  rmSync(restored, { recursive: true });
  rmSync(file);
}

function collectDurations({ answers }: ClientLoad, backups: readonly Backup[]): void {
  const firstStart = Math.min(...backups.map(({ startedAt }) => startedAt));
  for (const { sentAt, durationMs } of answers) {
    const isDuringBackup = backups.some(
      ({ startedAt, endedAt }) => sentAt + durationMs > startedAt && sentAt + durationMs < endedAt,
    );
    if (isDuringBackup) durationsDuring.push(durationMs);
    else if (sentAt + durationMs < firstStart) durationsBefore.push(durationMs);
  }
}

/**
 * After a violation the other promises are not reported: the run stopped before it could test them.
 */
function report(violation: BackupViolation | null): void {
  const { backups, verifications, overlaps, requests } = counts;
  const { answeredBefore, inFlight, auditLines, megabytes } = compared;
  // Each promise, and whether the run tested it at all.
  const promises: Readonly<Record<BackupPromise, readonly [string, boolean]>> = {
    created: [
      `berth backup makes all ${backups} backups of a server under load`,
      backups === ROUNDS * 10,
    ],
    verified: [
      `${verifications} runs of berth verify find no damage under load (${overlaps} backups and verify runs overlapped the end of a checkpoint)`,
      overlaps > ROUNDS * 3,
    ],
    served: [
      `the server grants all ${requests} requests of ${CLIENTS} clients while backups run`,
      requests > 0,
    ],
    secrets: [
      `${Math.round(megabytes)} MB of backups contain no cloud key and no file that seals one`,
      megabytes > 0,
    ],
    restored: [
      "each backup restores into an empty folder, which verifies, serves and stops cleanly",
      backups > 0,
    ],
    auditLog: [
      `each restored audit log is intact and ends with Restored (${auditLines} lines read)`,
      auditLines > 0,
    ],
    requests: [
      `each backup contains all requests answered before it started (${answeredBefore}), those of ` +
        `the ${inFlight} under way up to one instant, and matching consumption totals`,
      answeredBefore > 0 && inFlight > 0,
    ],
  };
  if (violation !== null) {
    const [promise] = promises[violation.promise];
    check(promise, false, violation.message);
    return;
  }
  for (const [promise, wasTested] of Object.values(promises)) {
    check(promise, wasTested, "the run did not test this");
  }
  const describeDurations = (durations: number[]): string => {
    const sorted = durations.toSorted((a, b) => a - b);
    const quantile = (share: number) =>
      (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1);
    return `half within ${quantile(0.5)} ms, 99 % within ${quantile(0.99)} ms, the longest ${quantile(1)} ms`;
  };
  console.log(
    `       answers before the first backup (${durationsBefore.length}): ${describeDurations(durationsBefore)}`,
  );
  console.log(
    `       answers while a backup ran (${durationsDuring.length}): ${describeDurations(durationsDuring)}`,
  );
}
