// Every sync held up for two seconds, and a watch on when answers come. An answer can only stand
// for what is on disk if it comes after the syncs that bring it there: neither the operation's own
// answer, nor that of whoever looks at the same time, may come earlier.
import { statSync } from "node:fs";
import { realDisk } from "../../src/platform/disk.ts";
import { listSegments } from "../../src/store/files.ts";
import { begin, logIn, onStage, type Stage } from "./syscalls-play.ts";
import {
  heartbeat,
  readSlots,
  readStatus,
  refused,
  takeLast,
  tip,
  tooLate,
  type Scene,
  type Step,
} from "./syscalls-scenes.ts";
import { binary, until, type Reply, type Server, type Wrapped } from "./syscalls-server.ts";
import { DELAY, strace } from "./syscalls-trace.ts";

/** One thing that was waited for. */
export interface Waited {
  readonly what: string;
  /** Null: as it should be. */
  readonly wrong: string | null;
}

/** On a busy machine this process may stand still for longer than a sync is held up. */
const TRIES = 20;

/** `syncs`: how many the part of the scene that is meant has, one after the other. */
export async function delay(root: string, scene: Scene, syncs: number): Promise<Waited[]> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const all = await delayOnce(root, scene, syncs);
    if (all !== null) return all;
  }
  const wrong = `nothing was seen to be written while its sync was held up, in ${TRIES} runs`;
  return [waited(scene, "a line", wrong)];
}

/** Null: whoever was to look in the meantime came too late. */
const delayOnce = (root: string, scene: Scene, syncs: number): Promise<Waited[] | null> =>
  onStage(root, scene, async (stage) => {
    const words = strace(stage.folder, logIn(stage.home), "delay", binary);
    const began = Date.now();
    const { server, checkpoint } = await begin(stage, words);
    try {
      if (server.ready === null) return [waited(scene, "ready", await server.complaint())];
      if (scene.part === "start") {
        return [notBefore(scene, "ready", began + syncs * DELAY, server.ready)];
      }
      if (checkpoint !== null) {
        return await duringCheckpoint(stage, server, checkpoint, syncs);
      }
      if (scene.folds) return await duringRotation(stage, server);
      if (scene.stops) return await duringStop(stage, server, syncs);
      return await duringStep(stage, server, syncs);
    } finally {
      server.kill("SIGKILL");
      await server.ended;
      checkpoint?.unlink();
    }
  });

const waited = ({ name }: Scene, what: string, wrong: string | null): Waited => ({
  what,
  wrong: wrong === null ? null : `${name}, ${what}: ${wrong}`,
});

const notBefore = (scene: Scene, what: string, earliest: number, got: number): Waited =>
  waited(scene, what, got >= earliest ? null : `came ${earliest - got} ms too early`);

function answered(scene: Scene, step: Step, earliest: number, reply: Reply | null): Waited {
  const wanted = step.isRefused === true ? 400 : 200;
  if (reply?.status === wanted) return notBefore(scene, step.name, earliest, reply.got);
  return waited(scene, step.name, `was answered ${reply?.status} ${reply?.code}`);
}

const journalSize = (folder: string): number =>
  listSegments(realDisk, folder).reduce((total, { path }) => total + statSync(path).size, 0);

/** Who comes while the sync is held up could see what is not safe yet, and waits as well. */
async function duringStep(stage: Stage, server: Server, syncs: number): Promise<Waited[] | null> {
  const { scene, folder } = stage;
  const [step = heartbeat] = scene.steps;
  const before = journalSize(folder);
  const sent = Date.now();
  const answer = server.ask(step);
  const written = await until(() => journalSize(folder) > before, DELAY, 2);
  const late = step === takeLast ? tooLate : refused;
  const onlookers = [readSlots, readStatus, late];
  const looked = Date.now();
  const seen = await Promise.all(onlookers.map((one) => server.ask(one)));
  if (!written || looked >= sent + DELAY) return null;
  return [
    answered(scene, step, sent + syncs * DELAY, await answer),
    ...onlookers.map((one, place) => answered(scene, one, sent + DELAY, seen[place] ?? null)),
  ];
}

/** The name of a new segment is safe before anything in it is answered. */
async function duringRotation({ scene, folder }: Stage, server: Server): Promise<Waited[]> {
  await server.ask(tip);
  const segments = listSegments(realDisk, folder).length;
  let before = Date.now();
  const rotated = await until(
    () => {
      const now = Date.now();
      if (listSegments(realDisk, folder).length > segments) return true;
      before = now;
      return false;
    },
    undefined,
    2,
  );
  if (!rotated) return [waited(scene, "a new segment", "did not come")];
  // The folder's sync, and then the line's own.
  return [answered(scene, takeLast, before + 2 * DELAY, await server.ask(takeLast))];
}

async function duringStop({ scene }: Stage, server: Server, syncs: number): Promise<Waited[]> {
  for (const step of scene.steps) await server.ask(step);
  const told = Date.now();
  server.kill("SIGTERM");
  const ended = await server.ended;
  if (ended !== "0") return [waited(scene, "the end", `with ${ended}`)];
  return [notBefore(scene, "the end", told + syncs * DELAY, Date.now())];
}

/** A checkpoint that hangs in its syncs holds nobody up. */
async function duringCheckpoint(
  { scene }: Stage,
  server: Server,
  checkpoint: Wrapped,
  syncs: number,
): Promise<Waited[]> {
  await server.ask(tip);
  if (!(await until(() => checkpoint.began(), undefined, 5))) {
    return [waited(scene, "a checkpoint", "did not come")];
  }
  let answers = 0;
  while (checkpoint.code() === null) {
    const reply = await server.ask(heartbeat);
    if (reply?.status !== 200) {
      return [waited(scene, heartbeat.name, `was answered ${reply?.status} ${reply?.code}`)];
    }
    answers += 1;
  }
  // Held up by each of its syncs, there would be one answer between two of them.
  const few = `got ${answers} answers while a checkpoint was held up in ${syncs} syncs`;
  const wrong = checkpoint.code() === 0 ? null : `ended with ${checkpoint.code()}`;
  return [
    waited(scene, heartbeat.name, answers > 5 * syncs ? null : few),
    waited(scene, "the checkpoint", wrong),
  ];
}
