// One scene, played once: a copy of its folder, a server on it, with or without a fault, then a
// server without any, and what the folder holds in the end.
import { cpSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/disk.ts";
import { listSegments } from "../../src/store/files.ts";
import { factsIn, NOTHING, slotsIn, Worlds, type Answered } from "./syscalls-facts.ts";
import { wrongInRecord } from "./syscalls-record.ts";
import {
  makeRequest,
  readSlots,
  readStatus,
  tip,
  type Scene,
  type Step,
} from "./syscalls-scenes.ts";
import {
  binary,
  logOf,
  start,
  textOf,
  until,
  wrapped,
  type Reply,
  type Server,
  type Wrapped,
} from "./syscalls-server.ts";
import {
  isSync,
  READY,
  READY_SIGNAL,
  readTrace,
  strace,
  type Trace,
  type Tracing,
} from "./syscalls-trace.ts";

export interface Seen {
  readonly trace: Trace;
  readonly ready: boolean;
  /** How the server ended by itself; null: it ran until it was told or killed. */
  readonly ended: string | null;
  /** How it ended when it was told to; null: it was not. */
  readonly stopped: string | null;
  readonly complaint: string;
  /** The answers to each step until one came to nothing: after `storage_full` it is asked again. */
  readonly replies: readonly Replies[];
  /** Whether a full disk was in the way, and later was not. */
  readonly recovered: boolean;
  /** What status said of the checkpoint when it was over. */
  readonly told: string | null;
  /** What must not be, whatever the fault was. */
  readonly wrong: readonly string[];
}

export interface Replies {
  readonly step: Step;
  readonly first: Reply | null;
  readonly last: Reply | null;
}

/** For a process that goes on to show that it does: what ends, ends sooner on a busy machine. */
const A_MOMENT = 10_000;

/** Bytes of a line that still fit on a full disk. */
const ROOM = 10;

export interface Stage {
  readonly scene: Scene;
  readonly home: string;
  readonly folder: string;
  readonly worlds: Worlds;
  readonly wrong: string[];
  recovered: boolean;
}

let played = 0;

export const play = (root: string, scene: Scene, tracing: Tracing): Promise<Seen> =>
  onStage(root, scene, (stage) => perform(stage, tracing));

/** A copy of the scene's folder, gone afterwards. */
export async function onStage<T>(
  root: string,
  scene: Scene,
  act: (stage: Stage) => Promise<T>,
): Promise<T> {
  played += 1;
  const home = join(root, `play-${played}`);
  const folder = join(home, "data");
  mkdirSync(home);
  try {
    if (scene.from !== null) cpSync(scene.from.folder, folder, { recursive: true });
    const worlds = new Worlds(scene.from?.facts ?? NOTHING);
    return await act({ scene, home, folder, worlds, wrong: [], recovered: false });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function perform(stage: Stage, tracing: Tracing): Promise<Seen> {
  const { scene, home, folder, wrong } = stage;
  const log = logIn(home);
  const { server, checkpoint } = await begin(stage, strace(folder, log, tracing, binary));
  if (server.ready !== null && scene.traced === "server") await markReady(server, log);
  const replies: Replies[] = [];
  if (scene.folds) replies.push(await take(stage, server, tip));
  const told = scene.folds ? await untilFolded(stage, server, checkpoint) : null;
  if (server.ready !== null) {
    for (const step of scene.steps) {
      if (!replies.some(isLast)) replies.push(await take(stage, server, step));
    }
  }
  const ended = await endOf(stage, server, replies, tracing);
  const isStruck = textOf(log).includes("(INJECTED)");
  if (ended === null && scene.stops) {
    server.kill("SIGTERM");
    if (!(await until(() => server.hasEnded()))) wrong.push("it was told to stop and did not");
  }
  server.kill("SIGKILL");
  const last = await server.ended;
  const stopped = ended === null && scene.stops ? last : null;
  const text = await logOf(log, scene.traced === "server" ? server.pid : null);
  const read = readTrace(text, { folder, traced: scene.traced, tracing });
  const isTooLate =
    scene.traced === "server" && ended === null && isMissed(tracing, isStruck, stopped);
  const trace = isTooLate ? { ...read, hit: null } : read;
  if (stopped === "0" && scene.folds) wrong.push(...(await wrongInRecord(folder)));
  await startAgain(stage);
  const { recovered } = stage;
  const complaint = await server.complaint();
  checkpoint?.unlink();
  const ready = server.ready !== null;
  return { trace, ready, ended, stopped, complaint, replies, recovered, told, wrong };
}

/** From here on the log has what comes after the start. */
async function markReady(server: Server, log: string): Promise<void> {
  server.kill(READY_SIGNAL);
  await until(() => textOf(log).includes(READY) || server.hasEnded());
}

/** After such an answer the server ends, and there is nobody to ask. */
const isLast = ({ last }: Replies): boolean => last === null || last.code === "storage_failed";

/**
 * Did the fault come when the scene was over? A call without an end may be one that was under way
 * when the rig itself ended the server; and a server that is struck after everybody had looked has
 * no time left to do as it should.
 */
function isMissed(tracing: Tracing, isStruck: boolean, stopped: string | null): boolean {
  if (typeof tracing !== "object") return false;
  if (tracing.effect === "kill") return stopped !== "SIGKILL";
  return stopped === null && !isStruck;
}

export const logIn = (home: string): string => join(home, "log");

type Checkpoint = Wrapped | null;

/** Starts the server, with itself or its first checkpoint behind `traced`. */
export async function begin(
  { scene, home, folder }: Stage,
  traced: readonly string[],
): Promise<{ readonly server: Server; readonly checkpoint: Checkpoint }> {
  if (scene.traced === "server") {
    // Detached: what is signalled and what ends is the server itself.
    const words = [...traced, "-D", ...(scene.full ? limited(folder) : [])];
    return { server: await start(folder, words), checkpoint: null };
  }
  const checkpoint = wrapped(home);
  const server = await start(folder, [], checkpoint.program);
  checkpoint.wrap(traced);
  return { server, checkpoint };
}

function limited(folder: string): string[] {
  const newest = listSegments(realDisk, folder).at(-1);
  const size = newest === undefined ? 0 : statSync(newest.path).size;
  return ["prlimit", `--fsize=${size + ROOM}:unlimited`];
}

const unlimit = ({ pid }: Server): void => {
  Bun.spawnSync(["prlimit", "--pid", String(pid), "--fsize=unlimited:unlimited"]);
};

/** Waits for the checkpoint that is due, and says what status tells of it. */
async function untilFolded(
  { home, wrong }: Stage,
  server: Server,
  checkpoint: Checkpoint,
): Promise<string | null> {
  let told: string | null = null;
  const isTold = async (): Promise<boolean> => {
    const storage = (await server.ask(readStatus))?.body["storage"] as Answered | undefined;
    told = (storage?.["checkpoint_error"] ?? null) as string | null;
    return told !== null;
  };
  const isOver = async (): Promise<boolean> => {
    if (server.hasEnded()) return true;
    // The server has heard of its end when the log has.
    if (checkpoint === null) return textOf(logIn(home)).includes("--- SIGCHLD") || isTold();
    const code = checkpoint.code();
    return code !== null && (code === 0 || isTold());
  };
  if (!(await until(isOver, undefined, 50))) {
    wrong.push("the checkpoint that was due did not come to an end that status tells of");
  }
  return told;
}

/** Asks for one step and what follows from the answer. */
async function take(stage: Stage, server: Server, step: Step): Promise<Replies> {
  const { worlds, wrong } = stage;
  const first = await server.ask(step);
  const last = first?.code === "storage_full" ? await sitOut(stage, server, step) : first;
  if (last?.status === 200) worlds.granted(step.change, last.body);
  else if (last === null || last.status >= 500) worlds.unanswered(step.change);
  else if (step.isRefused !== true) wrong.push(`${step.name} was refused: ${last.code}`);
  if (last?.code === "storage_failed") {
    // What memory holds may not be there after the next start.
    const read = await server.ask(readSlots);
    if (read?.status === 200) wrong.push("a read was answered after the disk had failed");
  }
  return { step, first, last };
}

/** Nothing changed, reads go on, and changes are accepted again when there is room. */
async function sitOut(stage: Stage, server: Server, step: Step): Promise<Reply | null> {
  const { scene, worlds, wrong } = stage;
  const read = await server.ask(readSlots);
  if (read?.status === 200) {
    const slots = slotsIn(read.body as unknown as readonly Answered[]);
    const mismatch = worlds.mismatch(slots, true);
    if (mismatch !== null) wrong.push(`a read on a full disk: ${mismatch}`);
  }
  // A second fault may have ended it meanwhile; otherwise there is no reason not to answer.
  if (read?.code === "storage_full") wrong.push("a full disk refused a read");
  if (scene.full) unlimit(server);
  let reply: Reply | null = null;
  const again = async (): Promise<boolean> => {
    reply = await server.ask(step);
    return reply === null || reply.code !== "storage_full";
  };
  if (await until(again, undefined, 100)) stage.recovered = true;
  return reply;
}

/** Null: it runs, and answers. */
async function endOf(
  { scene, home, worlds, wrong }: Stage,
  server: Server,
  replies: readonly Replies[],
  tracing: Tracing,
): Promise<string | null> {
  const over = replies.some(isLast);
  if (server.ready === null || over) await until(() => server.hasEnded());
  if (await hasEndedByFault(home, server, tracing)) return server.ended;
  if (over) {
    wrong.push("it did not answer, or its disk had failed, and it did not end");
    return null;
  }
  // What is recorded is the scene alone.
  if (scene.stops || tracing === "record") return null;
  const alive = await server.ask(makeRequest);
  if (alive?.status === 200) worlds.granted(makeRequest.change, alive.body);
  else worlds.unanswered(makeRequest.change);
  // What a server does in its own time may be struck only now.
  if (await hasEndedByFault(home, server, tracing)) return server.ended;
  if (alive?.status !== 200)
    wrong.push(`it goes on and does not work: ${alive?.code ?? "silence"}`);
  return null;
}

/** A sync that failed ends it, a moment after it was answered for; most of them do. */
async function hasEndedByFault(home: string, server: Server, tracing: Tracing): Promise<boolean> {
  const isOfSync = typeof tracing === "object" && isSync(tracing.call) && tracing.effect !== "kill";
  if (isOfSync && textOf(logIn(home)).includes("(INJECTED)")) {
    await until(() => server.hasEnded(), A_MOMENT);
  }
  return server.hasEnded();
}

/** The next start must work, and find what was answered and nothing that nobody asked for. */
async function startAgain({ folder, worlds, wrong }: Stage): Promise<void> {
  const server = await start(folder);
  const reply = server.ready === null ? null : await server.ask(makeRequest);
  server.kill("SIGKILL");
  const ended = await server.ended;
  if (server.ready === null) {
    wrong.push(`the next start ended with ${ended}: ${await server.complaint()}`);
    return;
  }
  if (reply?.status === 200) worlds.granted(makeRequest.change, reply.body);
  else wrong.push(`the next start does not work: ${reply?.code ?? "no answer"}`);
  const mismatch = worlds.mismatch(await factsIn(folder));
  if (mismatch !== null) wrong.push(`after the next start: ${mismatch}`);
}
