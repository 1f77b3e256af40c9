// Every sync held up for two seconds, and a watch on when answers come. An answer can only stand
// for what is on disk if it comes after the syncs that bring it there: neither the operation's own
// answer, nor that of whoever looks at the same time, may come earlier.
import { statSync } from "node:fs";
import { realDisk } from "../../../src/platform/disk.ts";
import { listSegments } from "../../../src/store/files.ts";
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
  waitUntil,
  type StepReply,
  type TracedServer,
  type WrappedCheckpoint,
} from "./traced-server.ts";
import { SYNC_DELAY_MS, straceCommand } from "./strace.ts";

/** One thing that was waited for. */
export interface DelayCheck {
  readonly subject: string;
  /** Null: as it should be. */
  readonly violation: string | null;
}

/** On a busy machine this process may stand still for longer than a sync is held up. */
const TRIES = 20;

/** `syncs`: how many the part of the scene that is meant has, one after the other. */
export async function checkDelayedSyncs(
  root: string,
  scene: Scenario,
  syncs: number,
): Promise<DelayCheck[]> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const all = await delayOnce(root, scene, syncs);
    if (all !== null) return all;
  }
  const wrong = `nothing was seen to be written while its sync was held up, in ${TRIES} runs`;
  return [waited(scene, "a line", wrong)];
}

/** Null: whoever was to look in the meantime came too late. */
const delayOnce = (root: string, scene: Scenario, syncs: number): Promise<DelayCheck[] | null> =>
  withScenarioFolder(root, scene, async (stage) => {
    const words = straceCommand(stage.dataFolder, traceLogPath(stage.workFolder), "delay", binary);
    const began = Date.now();
    const { server, checkpoint } = await startTracedServer(stage, words);
    try {
      if (server.readyAt === null) return [waited(scene, "ready", await server.readStderr())];
      if (scene.tracedPart === "start") {
        return [notBefore(scene, "ready", began + syncs * SYNC_DELAY_MS, server.readyAt)];
      }
      if (checkpoint !== null) {
        return await duringCheckpoint(stage, server, checkpoint, syncs);
      }
      if (scene.runsCheckpoint) return await duringRotation(stage, server);
      if (scene.stopsAtEnd) return await duringStop(stage, server, syncs);
      return await duringStep(stage, server, syncs);
    } finally {
      server.kill("SIGKILL");
      await server.exited;
      checkpoint?.remove();
    }
  });

const waited = ({ name }: Scenario, what: string, wrong: string | null): DelayCheck => ({
  subject: what,
  violation: wrong === null ? null : `${name}, ${what}: ${wrong}`,
});

const notBefore = (scene: Scenario, what: string, earliest: number, got: number): DelayCheck =>
  waited(scene, what, got >= earliest ? null : `came ${earliest - got} ms too early`);

function answered(
  scene: Scenario,
  step: ScenarioStep,
  earliest: number,
  reply: StepReply | null,
): DelayCheck {
  const wanted = step.expectsRefusal === true ? 400 : 200;
  if (reply?.status === wanted) return notBefore(scene, step.name, earliest, reply.receivedAt);
  return waited(scene, step.name, `was answered ${reply?.status} ${reply?.code}`);
}

const journalSize = (folder: string): number =>
  listSegments(realDisk, folder).reduce((total, { path }) => total + statSync(path).size, 0);

/** Who comes while the sync is held up could see what is not safe yet, and waits as well. */
async function duringStep(
  stage: ScenarioRun,
  server: TracedServer,
  syncs: number,
): Promise<DelayCheck[] | null> {
  const { scenario, dataFolder } = stage;
  const [step = heartbeat] = scenario.steps;
  const before = journalSize(dataFolder);
  const sent = Date.now();
  const answer = server.send(step);
  const written = await waitUntil(() => journalSize(dataFolder) > before, SYNC_DELAY_MS, 2);
  const late = step === takeLastSlot ? registerWithoutFreeSlot : refusedRegister;
  const onlookers = [readSlots, readStatus, late];
  const looked = Date.now();
  const seen = await Promise.all(onlookers.map((one) => server.send(one)));
  if (!written || looked >= sent + SYNC_DELAY_MS) return null;
  return [
    answered(scenario, step, sent + syncs * SYNC_DELAY_MS, await answer),
    ...onlookers.map((one, place) =>
      answered(scenario, one, sent + SYNC_DELAY_MS, seen[place] ?? null),
    ),
  ];
}

/** The name of a new segment is safe before anything in it is answered. */
async function duringRotation(
  { scenario, dataFolder }: ScenarioRun,
  server: TracedServer,
): Promise<DelayCheck[]> {
  await server.send(longHeartbeat);
  const segments = listSegments(realDisk, dataFolder).length;
  let before = Date.now();
  const rotated = await waitUntil(
    () => {
      const now = Date.now();
      if (listSegments(realDisk, dataFolder).length > segments) return true;
      before = now;
      return false;
    },
    undefined,
    2,
  );
  if (!rotated) return [waited(scenario, "a new segment", "did not come")];
  // The folder's sync, and then the line's own.
  return [
    answered(scenario, takeLastSlot, before + 2 * SYNC_DELAY_MS, await server.send(takeLastSlot)),
  ];
}

async function duringStop(
  { scenario }: ScenarioRun,
  server: TracedServer,
  syncs: number,
): Promise<DelayCheck[]> {
  for (const step of scenario.steps) await server.send(step);
  const told = Date.now();
  server.kill("SIGTERM");
  const ended = await server.exited;
  if (ended !== "0") return [waited(scenario, "the end", `with ${ended}`)];
  return [notBefore(scenario, "the end", told + syncs * SYNC_DELAY_MS, Date.now())];
}

/** A checkpoint that hangs in its syncs holds nobody up. */
async function duringCheckpoint(
  { scenario }: ScenarioRun,
  server: TracedServer,
  checkpoint: WrappedCheckpoint,
  syncs: number,
): Promise<DelayCheck[]> {
  await server.send(longHeartbeat);
  if (!(await waitUntil(() => checkpoint.hasStarted(), undefined, 5))) {
    return [waited(scenario, "a checkpoint", "did not come")];
  }
  let answers = 0;
  while (checkpoint.exitCode() === null) {
    const reply = await server.send(heartbeat);
    if (reply?.status !== 200) {
      return [waited(scenario, heartbeat.name, `was answered ${reply?.status} ${reply?.code}`)];
    }
    answers += 1;
  }
  // Held up by each of its syncs, there would be one answer between two of them.
  const few = `got ${answers} answers while a checkpoint was held up in ${syncs} syncs`;
  const wrong = checkpoint.exitCode() === 0 ? null : `ended with ${checkpoint.exitCode()}`;
  return [
    waited(scenario, heartbeat.name, answers > 5 * syncs ? null : few),
    waited(scenario, "the checkpoint", wrong),
  ];
}
