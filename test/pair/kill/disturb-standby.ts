// Kills the host that follows, while the other one answers clients.
import type { ServerRun } from "../../faults/kill/calls.ts";
import { findNewestSegment, sizeOfJournal } from "../../faults/kill/kill-site.ts";
import type { ServerProcess } from "../../faults/shared/server-process.ts";
import { isEventuallyTrue } from "../../support/wait-until.ts";

/** How often a standby was killed in which work. */
export interface DisturbanceCounts {
  standbyCopying: number;
  standbyStopping: number;
  standbyRotating: number;
}

interface Disturbance {
  readonly folder: string;
  readonly process: ServerProcess;
  readonly restart: () => void;
  readonly run: ServerRun;
  readonly random: () => number;
  readonly counts: DisturbanceCounts;
}

/** A standby reads the log five times a second. */
const COPY_MS = 1_000;
const MAX_COPY_MS = 4;
const MAX_STOP_MS = 120;
const MAX_ROTATION_MS = 300;

export async function disturbStandby(disturbance: Disturbance): Promise<void> {
  const { folder, process, restart, run, random, counts } = disturbance;
  const choice = random();
  if (process.hasExited() || (choice < 0.3 && !run.usesLongTexts)) return;
  let point: keyof DisturbanceCounts = "standbyCopying";
  if (run.usesLongTexts) {
    point = "standbyRotating";
    const before = findNewestSegment(folder);
    await waitFor(run, process, () => findNewestSegment(folder) > before);
    await Bun.sleep(random() * MAX_ROTATION_MS);
  } else if (choice < 0.7) {
    const before = sizeOfJournal(folder);
    await waitFor(run, process, () => sizeOfJournal(folder) !== before, COPY_MS);
    await Bun.sleep(random() * MAX_COPY_MS);
  } else {
    point = "standbyStopping";
    process.terminate();
    await Promise.race([Bun.sleep(random() * MAX_STOP_MS), process.exited]);
  }
  // Without its group, a checkpoint that it started goes on.
  process.kill(random() < 0.5 ? "group" : "server");
  if ((await process.exited).code === null) counts[point] += 1;
  // The next kill of the leader may come while it starts, or while it copies what it missed.
  if (random() < 0.7) restart();
}

const waitFor = (
  run: ServerRun,
  process: ServerProcess,
  holds: () => boolean,
  patience?: number,
): Promise<boolean> =>
  isEventuallyTrue(() => run.isOver || process.hasExited() || holds(), {
    maxPause: 1,
    ...(patience !== undefined && { patience }),
  });
