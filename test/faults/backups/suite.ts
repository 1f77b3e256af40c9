// Backups of a server at work, taken with the compiled binary while its checkpoints come and go. The
// processes are stopped and let go on at chosen places, so that a backup meets a checkpoint there and
// not by luck. Every backup is brought back and compared with what clients had been promised.
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

const backup = { command: "backup", commandCount: 1 } as const;
const look = {
  command: "verify",
  pauseCheckpointAt: "begun",
  pauseCommandAt: "state read",
  checkpointsToPass: 2,
} as const;

/** Where the commands meet checkpoints. Ten backups in all. */
const PLANS: readonly InterleavingPlan[] = [
  // The state is replaced between being read and being copied.
  { ...backup, pauseCheckpointAt: "begun", pauseCommandAt: "state read", checkpointsToPass: 1 },
  // The record holds more than the state knows of.
  { ...backup, pauseCheckpointAt: "recording", pauseCommandAt: null, checkpointsToPass: 0 },
  // Files that are still to be copied are dropped.
  { ...backup, pauseCheckpointAt: "begun", pauseCommandAt: "state copied", checkpointsToPass: 2 },
  // More than once: on a busy machine a look may be over before it can be stopped.
  { ...look, commandCount: 1 },
  {
    ...backup,
    pauseCheckpointAt: null,
    pauseCommandAt: null,
    checkpointsToPass: 0,
    commandCount: 2,
  },
  { ...backup, pauseCheckpointAt: "begun", pauseCommandAt: "state read", checkpointsToPass: 2 },
  { ...backup, pauseCheckpointAt: "begun", pauseCommandAt: "state copied", checkpointsToPass: 1 },
  { ...backup, pauseCheckpointAt: "recording", pauseCommandAt: "state read", checkpointsToPass: 1 },
  {
    ...backup,
    pauseCheckpointAt: null,
    pauseCommandAt: null,
    checkpointsToPass: 0,
    commandCount: 2,
  },
  { ...look, commandCount: 2 },
  { ...look, commandCount: 1 },
  { ...look, commandCount: 1 },
];

const figures = { begun: 0, backups: 0, looks: 0, met: 0, requests: 0 };
const found = { promised: 0, open: 0, lines: 0, megabytes: 0 };
const calm: number[] = [];
const busy: number[] = [];

try {
  for (let round = 0; round < ROUNDS; round += 1) {
    await withContext(`SEED=${seed}, round ${round}`, play(seed + 1_000 * round));
    reportProgress("rounds", round + 1, ROUNDS);
  }
  tell(null);
} catch (error) {
  if (!(error instanceof BackupViolation)) throw error;
  tell(error);
}
finish();

/** A site of its own: its record grows with every backup, and so does the time to read it. */
async function play(roundSeed: number): Promise<void> {
  const root = makeTempFolder();
  const [site, out] = [join(root, "site"), join(root, "out")];
  mkdirSync(out);
  await makeLicensedSite(site, TERMS);
  const words = ["--listen", "127.0.0.1:0", "--audit-budget", "0"];
  const server = await startBinary("serve", "--data", site, ...words);
  atEnd(() => void server.kill());
  const secrets = await setCanaryKeys(site);
  const load = new ClientLoad(server.url, roundSeed);
  load.start(CLIENTS);
  const meetings = new Interleaver(site);
  const made: Backup[] = [];
  for (const plan of PLANS) {
    const backups = await take(plan, meetings, site, out);
    if (load.failures.length > 0)
      throw new BackupViolation("served", load.failures.slice(0, 3).join("; "));
    made.push(...backups);
    load.pause();
    const looks = backups.map((one) => withContext(one.name, lookAt(one, secrets, load)));
    // To the end of all of them: nothing may run on when one is broken.
    await Promise.allSettled(looks);
    await Promise.all(looks);
    load.resume();
  }
  await load.stop();
  figures.requests += load.answers.length;
  sortAnswers(load, made);
  if ((await server.stop()) !== 0)
    throw new BackupViolation("served", "the server did not stop cleanly");
  await readFacts(spawnBerth(["verify", "--data", site, "--json"]), "served");
  const left = readdirSync(out);
  if (left.length > 0) throw new BackupViolation("made", `left behind: ${left.join(", ")}`);
  rmSync(root, { recursive: true });
}

/** Runs the commands of a plan; what they made, if they were to make something. */
async function take(
  plan: InterleavingPlan,
  meetings: Interleaver,
  site: string,
  out: string,
): Promise<Backup[]> {
  const running: Promise<Backup>[] = [];
  const before = meetings.completedCheckpoints;
  const isBackup = plan.command === "backup";
  await meetings.runPlan(plan, () =>
    Array.from({ length: plan.commandCount }, () => {
      figures.begun += 1;
      const file = join(out, `${figures.begun}.berth`);
      const name = `${plan.command} ${figures.begun} (${JSON.stringify(plan)})`;
      const began = performance.now();
      const words = [plan.command, ...(isBackup ? [file] : []), "--data", site, "--json"];
      const child = spawnBerth(words);
      const ended = child.exited.then(() => performance.now());
      const facts = withContext(name, readFacts(child, isBackup ? "made" : "looked"));
      const one = facts.then(async (told) => ({
        name,
        file,
        facts: told,
        startedAt: began,
        endedAt: await ended,
      }));
      // It is looked at later, when the meeting is over.
      one.catch(() => {});
      running.push(one);
      return child;
    }),
  );
  const done = await Promise.all(running);
  if (meetings.completedCheckpoints > before) figures.met += done.length;
  figures[isBackup ? "backups" : "looks"] += done.length;
  return isBackup ? done : [];
}

async function lookAt(
  backup: Backup,
  secrets: Secrets,
  { requestLogs }: ClientLoad,
): Promise<void> {
  const { file, facts } = backup;
  const bytes = readFileSync(file);
  const leaked = findLeaks(secrets, bytes);
  if (leaked.length > 0) throw new BackupViolation("secret", leaked.join(", "));
  const restored = `${file}.restored`;
  mkdirSync(restored, { mode: 0o700 });
  const { answeredBefore, inFlight } = await judgeBackup(backup, restored, requestLogs);
  found.promised += answeredBefore;
  found.open += inFlight;
  found.lines += facts.audit_seq + 1;
  found.megabytes += bytes.length / 1e6;
  rmSync(restored, { recursive: true });
  rmSync(file);
}

function sortAnswers({ answers }: ClientLoad, backups: readonly Backup[]): void {
  const first = Math.min(...backups.map(({ startedAt }) => startedAt));
  for (const { sentAt, durationMs } of answers) {
    const during = backups.some(
      ({ startedAt, endedAt }) => sentAt + durationMs > startedAt && sentAt + durationMs < endedAt,
    );
    if (during) busy.push(durationMs);
    else if (sentAt + durationMs < first) calm.push(durationMs);
  }
}

/** After a broken promise nothing can be said of the others. */
function tell(broken: BackupViolation | null): void {
  const { backups, looks, met, requests } = figures;
  const { promised, open, lines, megabytes } = found;
  // With what shows that it was tried at all.
  const promises: Readonly<Record<BackupPromise, readonly [string, boolean]>> = {
    made: [`${backups} backups of a server at work are made`, backups === ROUNDS * 10],
    looked: [
      `berth verify looks ${looks} times and finds nothing wrong; ${met} of both met the end of a checkpoint`,
      met > ROUNDS * 3,
    ],
    served: [`${requests} requests of ${CLIENTS} clients meanwhile are all granted`, requests > 0],
    secret: [
      `no cloud key and nothing that seals them is in ${Math.round(megabytes)} MB of backups`,
      megabytes > 0,
    ],
    restored: [
      "each comes back into an empty folder, verifies, serves and stops cleanly",
      backups > 0,
    ],
    recorded: [
      `each says Restored at the end of a whole record; ${lines} lines read one by one`,
      lines > 0,
    ],
    kept: [
      `${promised} requests answered before a backup began are in it, of ${open} under way those ` +
        "up to one moment, and the counters fit",
      promised > 0 && open > 0,
    ],
  };
  if (broken !== null) {
    const [promise] = promises[broken.promise];
    check(promise, false, broken.message);
    return;
  }
  for (const [promise, tried] of Object.values(promises)) {
    check(promise, tried, "it was not tried");
  }
  const spread = (took: number[]): string => {
    const sorted = took.toSorted((a, b) => a - b);
    const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1);
    return `half within ${at(0.5)} ms, 99 % within ${at(0.99)} ms, the longest ${at(1)} ms`;
  };
  console.log(`       answers before the first backup (${calm.length}): ${spread(calm)}`);
  console.log(`       answers while a backup ran (${busy.length}): ${spread(busy)}`);
}
