// Delays every sync by two seconds and checks when answers come. An answer may only come after the
// syncs of the data that it depends on. This holds for the answer to an operation and for the
// answers to concurrent reads.
import { statSync } from "node:fs";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { listSegments } from "../../../src/store/folder/files.ts";
import {
  startTracedServer,
  traceLogPath,
  withScenarioFolder,
  type ScenarioRun,
} from "./scenario-run.ts";
import {
  heartbeat,
  readSlots,
  readStatus,
  refusedRegister,
  takeLastSlot,
  longHeartbeat,
  registerWithoutFreeSlot,
  type Scenario,
  type ScenarioStep,
} from "./scenarios.ts";
import {
  binary,
  type StepReply,
  type TracedServer,
  type WrappedCheckpoint,
} from "./traced-server.ts";
import { SYNC_DELAY_MS, straceCommand } from "./strace.ts";
import { isEventuallyTrue } from "../../support/wait-until.ts";

/** The check of one answer or other event. */
export interface DelayCheck {
  readonly subject: string;
  /** Null: it did not come too early. */
  readonly violation: string | null;
}

/** Many heartbeats come during one delayed sync, and the machine has time for other work. */
const HEARTBEAT_PAUSE_MS = 50;

/** On a busy machine this process may pause for longer than a sync is delayed. */
const MAX_ATTEMPTS = 20;

/** `syncs`: the number of consecutive syncs in the tested part of the scenario. */
export async function checkDelayedSyncs(
  root: string,
  scenario: Scenario,
  syncs: number,
): Promise<DelayCheck[]> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const checks = await delayOnce(root, scenario, syncs);
    if (checks !== null) return checks;
  }
  const violation = `no write was observed while its sync was delayed, in ${MAX_ATTEMPTS} runs`;
  return [makeCheck(scenario, "journal line", violation)];
}

/** Null: the concurrent reads were sent too late. */
const delayOnce = (root: string, scenario: Scenario, syncs: number): Promise<DelayCheck[] | null> =>
  withScenarioFolder(root, scenario, async (run) => {
    const traceCommand = straceCommand(
      run.dataFolder,
      traceLogPath(run.workFolder),
      "delay",
      binary,
    );
    const startedAt = Date.now();
    const { server, checkpoint } = await startTracedServer(run, traceCommand);
    try {
      if (server.readyAt === null) return [makeCheck(scenario, "ready", await server.readStderr())];
      if (scenario.tracedPart === "start") {
        return [
          checkNotBefore(scenario, "ready", startedAt + syncs * SYNC_DELAY_MS, server.readyAt),
        ];
      }
      if (checkpoint !== null) {
        return await duringCheckpoint(run, server, checkpoint, syncs);
      }
      if (scenario.runsCheckpoint) return await duringRotation(run, server);
      if (scenario.stopsAtEnd) return await duringStop(run, server, syncs);
      return await duringStep(run, server, syncs);
    } finally {
      server.kill("SIGKILL");
      await server.exited;
      checkpoint?.remove();
    }
  });

const makeCheck = ({ name }: Scenario, subject: string, violation: string | null): DelayCheck => ({
  subject,
  violation: violation === null ? null : `${name}, ${subject}: ${violation}`,
});

const checkNotBefore = (
  scenario: Scenario,
  subject: string,
  earliest: number,
  receivedAt: number,
): DelayCheck =>
  makeCheck(
    scenario,
    subject,
    receivedAt >= earliest ? null : `came ${earliest - receivedAt} ms too early`,
  );

function checkAnswer(
  scenario: Scenario,
  step: ScenarioStep,
  earliest: number,
  reply: StepReply | null,
): DelayCheck {
  const expectedStatus = step.expectsRefusal === true ? 400 : 200;
  if (reply?.status === expectedStatus)
    return checkNotBefore(scenario, step.name, earliest, reply.receivedAt);
  return makeCheck(scenario, step.name, `was answered ${reply?.status} ${reply?.code}`);
}

const journalSize = (folder: string): number =>
  listSegments(realDisk, folder).reduce((total, { path }) => total + statSync(path).size, 0);

/** A read during the delayed sync could show data that is not safe yet, so it must wait too. */
async function duringStep(
  run: ScenarioRun,
  server: TracedServer,
  syncs: number,
): Promise<DelayCheck[] | null> {
  const { scenario, dataFolder } = run;
  const [step = heartbeat] = scenario.steps;
  const sizeBefore = journalSize(dataFolder);
  const sentAt = Date.now();
  const answer = server.send(step);
  const isWritten = await isEventuallyTrue(() => journalSize(dataFolder) > sizeBefore, {
    patience: SYNC_DELAY_MS,
    maxPause: 2,
  });
  const refusedStep = step === takeLastSlot ? registerWithoutFreeSlot : refusedRegister;
  const concurrentSteps = [readSlots, readStatus, refusedStep];
  const readSentAt = Date.now();
  const replies = await Promise.all(
    concurrentSteps.map((concurrentStep) => server.send(concurrentStep)),
  );
  if (!isWritten || readSentAt >= sentAt + SYNC_DELAY_MS) return null;
  return [
    checkAnswer(scenario, step, sentAt + syncs * SYNC_DELAY_MS, await answer),
    ...concurrentSteps.map((concurrentStep, index) =>
      checkAnswer(scenario, concurrentStep, sentAt + SYNC_DELAY_MS, replies[index] ?? null),
    ),
  ];
}

/** The name of a new segment must be synced before a line in it is answered. */
async function duringRotation(
  { scenario, dataFolder }: ScenarioRun,
  server: TracedServer,
): Promise<DelayCheck[]> {
  await server.send(longHeartbeat);
  const segments = listSegments(realDisk, dataFolder).length;
  let notRotatedAt = Date.now();
  const hasRotated = await isEventuallyTrue(
    () => {
      const now = Date.now();
      if (listSegments(realDisk, dataFolder).length > segments) return true;
      notRotatedAt = now;
      return false;
    },
    { maxPause: 2 },
  );
  if (!hasRotated) return [makeCheck(scenario, "new segment", "was not opened")];
  // The folder's sync, and then the line's own.
  return [
    checkAnswer(
      scenario,
      takeLastSlot,
      notRotatedAt + 2 * SYNC_DELAY_MS,
      await server.send(takeLastSlot),
    ),
  ];
}

async function duringStop(
  { scenario }: ScenarioRun,
  server: TracedServer,
  syncs: number,
): Promise<DelayCheck[]> {
  for (const step of scenario.steps) await server.send(step);
  const stopSentAt = Date.now();
  server.kill("SIGTERM");
  const exitedWith = await server.exited;
  if (exitedWith !== "0")
    return [makeCheck(scenario, "exit after SIGTERM", `ended with ${exitedWith}`)];
  return [
    checkNotBefore(scenario, "exit after SIGTERM", stopSentAt + syncs * SYNC_DELAY_MS, Date.now()),
  ];
}

/** Delayed syncs of a checkpoint must not delay answers. */
async function duringCheckpoint(
  { scenario }: ScenarioRun,
  server: TracedServer,
  checkpoint: WrappedCheckpoint,
  syncs: number,
): Promise<DelayCheck[]> {
  await server.send(longHeartbeat);
  if (!(await isEventuallyTrue(() => checkpoint.hasStarted()))) {
    return [makeCheck(scenario, "checkpoint", "did not start")];
  }
  let answers = 0;
  while (checkpoint.exitCode() === null) {
    const reply = await server.send(heartbeat);
    if (reply?.status !== 200) {
      return [makeCheck(scenario, heartbeat.name, `was answered ${reply?.status} ${reply?.code}`)];
    }
    answers += 1;
    await Bun.sleep(HEARTBEAT_PAUSE_MS);
  }
  // If each sync delayed the answers, there would be one answer between two syncs.
  const tooFewText = `only ${answers} answers came while a checkpoint waited for ${syncs} delayed syncs`;
  const violation = checkpoint.exitCode() === 0 ? null : `ended with ${checkpoint.exitCode()}`;
  return [
    makeCheck(scenario, heartbeat.name, answers > 5 * syncs ? null : tooFewText),
    makeCheck(scenario, "checkpoint", violation),
  ];
}
