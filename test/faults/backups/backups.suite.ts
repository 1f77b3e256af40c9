// Makes backups of a server under load with the compiled binary, while the server makes
// checkpoints. Processes are stopped and continued at chosen steps, so that a backup overlaps a
// checkpoint there and not by luck. Every backup is restored and compared with what the clients
// were answered.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { seed, chooseSize, isDetectionRun } from "../../support/suite-harness.ts";
import { BackupRun } from "./backup-run.ts";
import type { InterleavingPlan } from "./interleaver.ts";
import { withContext } from "./request-cut.ts";

/** Each round has its own site: its audit log grows, and so does the time to read it. */
/** With a planted bug the rounds go on until one of them shows it. */
const ROUNDS = isDetectionRun ? 5 : chooseSize(1, 10);

const BACKUP = { command: "backup", commandCount: 1 } as const;
const VERIFY = {
  command: "verify",
  pauseCheckpointAt: "started",
  pauseCommandAt: "state read",
  checkpointsToPass: 2,
} as const;

const AT_ONCE = {
  ...BACKUP,
  pauseCheckpointAt: null,
  pauseCommandAt: null,
  checkpointsToPass: 0,
  commandCount: 2,
} as const;

/** How the commands overlap checkpoints, each with the title of its test. */
const PLANS: readonly (readonly [string, InterleavingPlan])[] = [
  [
    "a backup whose state is replaced after it was read",
    { ...BACKUP, pauseCheckpointAt: "started", pauseCommandAt: "state read", checkpointsToPass: 1 },
  ],
  [
    "a backup while the audit log has lines that the state does not cover yet",
    {
      ...BACKUP,
      pauseCheckpointAt: "audit log written",
      pauseCommandAt: null,
      checkpointsToPass: 0,
    },
  ],
  [
    "a backup whose files are removed by checkpoints before it copies them",
    {
      ...BACKUP,
      pauseCheckpointAt: "started",
      pauseCommandAt: "state copied",
      checkpointsToPass: 2,
    },
  ],
  // Several times: on a busy machine berth verify may end before it can be stopped.
  ["berth verify while checkpoints replace what it reads", { ...VERIFY, commandCount: 1 }],
  ["two backups at once", AT_ONCE],
  [
    "a backup whose state is replaced twice after it was read",
    { ...BACKUP, pauseCheckpointAt: "started", pauseCommandAt: "state read", checkpointsToPass: 2 },
  ],
  [
    "a backup whose state is replaced after it was copied",
    {
      ...BACKUP,
      pauseCheckpointAt: "started",
      pauseCommandAt: "state copied",
      checkpointsToPass: 1,
    },
  ],
  [
    "a backup whose state is replaced after it was read, beside new lines of the audit log",
    {
      ...BACKUP,
      pauseCheckpointAt: "audit log written",
      pauseCommandAt: "state read",
      checkpointsToPass: 1,
    },
  ],
  [
    "two runs of berth verify while checkpoints replace what they read",
    { ...VERIFY, commandCount: 2 },
  ],
  ["two more backups at once", AT_ONCE],
  [
    "berth verify a third time while checkpoints replace what it reads",
    { ...VERIFY, commandCount: 1 },
  ],
  [
    "berth verify a fourth time while checkpoints replace what it reads",
    { ...VERIFY, commandCount: 1 },
  ],
];

/** The last ones repeat what others do: a usual run leaves them out. */
const CHOSEN_PLANS = PLANS.slice(0, isDetectionRun ? PLANS.length : chooseSize(9, PLANS.length));
const BACKUPS = CHOSEN_PLANS.filter(([, { command }]) => command === "backup").reduce(
  (sum, [, { commandCount }]) => sum + commandCount,
  0,
);

describe.each(Array.from({ length: ROUNDS }, (_, index) => index + 1))(
  "a server under load, round %d",
  (round) => {
    const roundSeed = seed + 1_000 * (round - 1);
    let run: BackupRun;

    beforeAll(async () => {
      run = await BackupRun.start(roundSeed);
    });

    afterAll(() => console.log(run.figures));

    test.each(CHOSEN_PLANS.map(([title, plan]) => [title, plan] as const))(
      "keeps its promises: %s",
      async (_title, plan) => {
        await withContext(`SEED=${seed}, round ${round}`, run.runPlan(plan));
      },
    );

    test("stops cleanly after its backups, and leaves a folder that verifies and no other file", async () => {
      await withContext(`SEED=${seed}, round ${round}`, run.end());
    });

    test("had enough backups, most of them beside the end of a checkpoint, to show all this", () => {
      const { backups, overlaps } = run.counts;
      expect({ backups, hasOverlaps: overlaps > 3 }).toEqual({
        backups: BACKUPS,
        hasOverlaps: true,
      });
      for (const compared of Object.values(run.compared)) expect(compared).toBeGreaterThan(0);
    });
  },
);
