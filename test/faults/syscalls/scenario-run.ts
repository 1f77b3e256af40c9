// One scene, played once: a copy of its folder, a server on it, with or without a fault, then a
// server without any, and what the folder holds in the end.
import { cpSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/disk.ts";
import { listSegments } from "../../../src/store/files.ts";
import {
  readFacts,
  EMPTY_FACTS,
  slotFacts,
  PossibleStates,
  type AnswerBody,
} from "./site-facts.ts";
import { findAuditLogViolations } from "./audit-log-check.ts";
import {
  makeRequest,
  readSlots,
  readStatus,
  longHeartbeat,
  type Scenario,
  type ScenarioStep,
} from "./scenarios.ts";
import {
  binary,
  readTraceLog,
  startServer,
  readTextIfPresent,
  waitUntil,
  wrapCheckpoint,
  type StepReply,
  type TracedServer,
  type WrappedCheckpoint,
} from "./traced-server.ts";
import {
  isSync,
  READY,
  READY_SIGNAL,
  readTrace,
  straceCommand,
  type Trace,
  type TraceMode,
} from "./strace.ts";

export interface ScenarioResult {
  readonly trace: Trace;
  readonly ready: boolean;
  /** How the server ended by itself; null: it ran until it was told or killed. */
  readonly exitedWith: string | null;
  /** How it ended when it was told to; null: it was not. */
  readonly stoppedWith: string | null;
  readonly stderr: string;
  /** The answers to each step until one came to nothing: after `storage_full` it is asked again. */
  readonly replies: readonly StepReplies[];
  /** Whether a full disk was in the way, and later was not. */
  readonly recoveryMs: boolean;
  /** What status said of the checkpoint when it was over. */
  readonly checkpointError: string | null;
  /** What must not be, whatever the fault was. */
  readonly violations: readonly string[];
}

export interface StepReplies {
  readonly step: ScenarioStep;
  readonly first: StepReply | null;
  readonly last: StepReply | null;
}

/** For a process that goes on to show that it does: what ends, ends sooner on a busy machine. */
const A_MOMENT = 10_000;

/** Bytes of a line that still fit on a full disk. */
const ROOM = 10;

export interface ScenarioRun {
  readonly scenario: Scenario;
  readonly workFolder: string;
  readonly dataFolder: string;
  readonly possibleStates: PossibleStates;
  readonly violations: string[];
  recoveryMs: boolean;
}

let played = 0;

export const runScenario = (
  root: string,
  scene: Scenario,
  tracing: TraceMode,
): Promise<ScenarioResult> => withScenarioFolder(root, scene, (stage) => perform(stage, tracing));

/** A copy of the scene's folder, gone afterwards. */
export async function withScenarioFolder<T>(
  root: string,
  scene: Scenario,
  act: (stage: ScenarioRun) => Promise<T>,
): Promise<T> {
  played += 1;
  const home = join(root, `play-${played}`);
  const folder = join(home, "data");
  mkdirSync(home);
  try {
    if (scene.startingSite !== null) cpSync(scene.startingSite.folder, folder, { recursive: true });
    const worlds = new PossibleStates(scene.startingSite?.facts ?? EMPTY_FACTS);
    return await act({
      scenario: scene,
      workFolder: home,
      dataFolder: folder,
      possibleStates: worlds,
      violations: [],
      recoveryMs: false,
    });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function perform(stage: ScenarioRun, tracing: TraceMode): Promise<ScenarioResult> {
  const { scenario, workFolder, dataFolder, violations } = stage;
  const log = traceLogPath(workFolder);
  const { server, checkpoint } = await startTracedServer(
    stage,
    straceCommand(dataFolder, log, tracing, binary),
  );
  if (server.readyAt !== null && scenario.tracedProcess === "server") await markReady(server, log);
  const replies: StepReplies[] = [];
  if (scenario.runsCheckpoint) replies.push(await take(stage, server, longHeartbeat));
  const told = scenario.runsCheckpoint ? await untilFolded(stage, server, checkpoint) : null;
  if (server.readyAt !== null) {
    for (const step of scenario.steps) {
      if (!replies.some(isLast)) replies.push(await take(stage, server, step));
    }
  }
  const ended = await endOf(stage, server, replies, tracing);
  const isStruck = readTextIfPresent(log).includes("(INJECTED)");
  if (ended === null && scenario.stopsAtEnd) {
    server.kill("SIGTERM");
    if (!(await waitUntil(() => server.hasExited())))
      violations.push("it was told to stop and did not");
  }
  server.kill("SIGKILL");
  const last = await server.exited;
  const stopped = ended === null && scenario.stopsAtEnd ? last : null;
  const text = await readTraceLog(log, scenario.tracedProcess === "server" ? server.pid : null);
  const read = readTrace(text, {
    folder: dataFolder,
    tracedProcess: scenario.tracedProcess,
    mode: tracing,
  });
  const isTooLate =
    scenario.tracedProcess === "server" && ended === null && isMissed(tracing, isStruck, stopped);
  const trace = isTooLate ? { ...read, injectedCall: null } : read;
  if (stopped === "0" && scenario.runsCheckpoint)
    violations.push(...(await findAuditLogViolations(dataFolder)));
  await startAgain(stage);
  const { recoveryMs } = stage;
  const complaint = await server.readStderr();
  checkpoint?.remove();
  const ready = server.readyAt !== null;
  return {
    trace,
    ready,
    exitedWith: ended,
    stoppedWith: stopped,
    stderr: complaint,
    replies,
    recoveryMs,
    checkpointError: told,
    violations,
  };
}

/** From here on the log has what comes after the start. */
async function markReady(server: TracedServer, log: string): Promise<void> {
  server.kill(READY_SIGNAL);
  await waitUntil(() => readTextIfPresent(log).includes(READY) || server.hasExited());
}

/** After such an answer the server ends, and there is nobody to ask. */
const isLast = ({ last }: StepReplies): boolean => last === null || last.code === "storage_failed";

/**
 * Did the fault come when the scene was over? A call without an end may be one that was under way
 * when the rig itself ended the server; and a server that is struck after everybody had looked has
 * no time left to do as it should.
 */
function isMissed(tracing: TraceMode, isStruck: boolean, stopped: string | null): boolean {
  if (typeof tracing !== "object") return false;
  if (tracing.fault === "kill") return stopped !== "SIGKILL";
  return stopped === null && !isStruck;
}

export const traceLogPath = (home: string): string => join(home, "log");

type Checkpoint = WrappedCheckpoint | null;

/** Starts the server, with itself or its first checkpoint behind `traced`. */
export async function startTracedServer(
  { scenario, workFolder, dataFolder }: ScenarioRun,
  traced: readonly string[],
): Promise<{ readonly server: TracedServer; readonly checkpoint: Checkpoint }> {
  if (scenario.tracedProcess === "server") {
    // Detached: what is signalled and what ends is the server itself.
    const words = [...traced, "-D", ...(scenario.hasFullDisk ? limited(dataFolder) : [])];
    return { server: await startServer(dataFolder, words), checkpoint: null };
  }
  const checkpoint = wrapCheckpoint(workFolder);
  const server = await startServer(dataFolder, [], checkpoint.program);
  checkpoint.wrap(traced);
  return { server, checkpoint };
}

function limited(folder: string): string[] {
  const newest = listSegments(realDisk, folder).at(-1);
  const size = newest === undefined ? 0 : statSync(newest.path).size;
  return ["prlimit", `--fsize=${size + ROOM}:unlimited`];
}

const unlimit = ({ pid }: TracedServer): void => {
  Bun.spawnSync(["prlimit", "--pid", String(pid), "--fsize=unlimited:unlimited"]);
};

/** Waits for the checkpoint that is due, and says what status tells of it. */
async function untilFolded(
  { workFolder, violations }: ScenarioRun,
  server: TracedServer,
  checkpoint: Checkpoint,
): Promise<string | null> {
  let told: string | null = null;
  const isTold = async (): Promise<boolean> => {
    const storage = (await server.send(readStatus))?.body["storage"] as AnswerBody | undefined;
    told = (storage?.["checkpoint_error"] ?? null) as string | null;
    return told !== null;
  };
  const isOver = async (): Promise<boolean> => {
    if (server.hasExited()) return true;
    // The server has heard of its end when the log has.
    if (checkpoint === null)
      return readTextIfPresent(traceLogPath(workFolder)).includes("--- SIGCHLD") || isTold();
    const code = checkpoint.exitCode();
    return code !== null && (code === 0 || isTold());
  };
  if (!(await waitUntil(isOver, undefined, 50))) {
    violations.push("the checkpoint that was due did not come to an end that status tells of");
  }
  return told;
}

/** Asks for one step and what follows from the answer. */
async function take(
  stage: ScenarioRun,
  server: TracedServer,
  step: ScenarioStep,
): Promise<StepReplies> {
  const { possibleStates, violations } = stage;
  const first = await server.send(step);
  const last = first?.code === "storage_full" ? await sitOut(stage, server, step) : first;
  if (last?.status === 200) possibleStates.applyGranted(step.change, last.body);
  else if (last === null || last.status >= 500) possibleStates.applyUnanswered(step.change);
  else if (step.expectsRefusal !== true) violations.push(`${step.name} was refused: ${last.code}`);
  if (last?.code === "storage_failed") {
    // What memory holds may not be there after the next start.
    const read = await server.send(readSlots);
    if (read?.status === 200) violations.push("a read was answered after the disk had failed");
  }
  return { step, first, last };
}

/** Nothing changed, reads go on, and changes are accepted again when there is room. */
async function sitOut(
  stage: ScenarioRun,
  server: TracedServer,
  step: ScenarioStep,
): Promise<StepReply | null> {
  const { scenario, possibleStates, violations } = stage;
  const read = await server.send(readSlots);
  if (read?.status === 200) {
    const slots = slotFacts(read.body as unknown as readonly AnswerBody[]);
    const mismatch = possibleStates.findMismatch(slots, true);
    if (mismatch !== null) violations.push(`a read on a full disk: ${mismatch}`);
  }
  // A second fault may have ended it meanwhile; otherwise there is no reason not to answer.
  if (read?.code === "storage_full") violations.push("a full disk refused a read");
  if (scenario.hasFullDisk) unlimit(server);
  let reply: StepReply | null = null;
  const again = async (): Promise<boolean> => {
    reply = await server.send(step);
    return reply === null || reply.code !== "storage_full";
  };
  if (await waitUntil(again, undefined, 100)) stage.recoveryMs = true;
  return reply;
}

/** Null: it runs, and answers. */
async function endOf(
  { scenario, workFolder, possibleStates, violations }: ScenarioRun,
  server: TracedServer,
  replies: readonly StepReplies[],
  tracing: TraceMode,
): Promise<string | null> {
  const over = replies.some(isLast);
  if (server.readyAt === null || over) await waitUntil(() => server.hasExited());
  if (await hasEndedByFault(workFolder, server, tracing)) return server.exited;
  if (over) {
    violations.push("it did not answer, or its disk had failed, and it did not end");
    return null;
  }
  // What is recorded is the scene alone.
  if (scenario.stopsAtEnd || tracing === "record") return null;
  const alive = await server.send(makeRequest);
  if (alive?.status === 200) possibleStates.applyGranted(makeRequest.change, alive.body);
  else possibleStates.applyUnanswered(makeRequest.change);
  // What a server does in its own time may be struck only now.
  if (await hasEndedByFault(workFolder, server, tracing)) return server.exited;
  if (alive?.status !== 200)
    violations.push(`it goes on and does not work: ${alive?.code ?? "silence"}`);
  return null;
}

/** A sync that failed ends it, a moment after it was answered for; most of them do. */
async function hasEndedByFault(
  home: string,
  server: TracedServer,
  tracing: TraceMode,
): Promise<boolean> {
  const isOfSync = typeof tracing === "object" && isSync(tracing.call) && tracing.fault !== "kill";
  if (isOfSync && readTextIfPresent(traceLogPath(home)).includes("(INJECTED)")) {
    await waitUntil(() => server.hasExited(), A_MOMENT);
  }
  return server.hasExited();
}

/** The next start must work, and find what was answered and nothing that nobody asked for. */
async function startAgain({ dataFolder, possibleStates, violations }: ScenarioRun): Promise<void> {
  const server = await startServer(dataFolder);
  const reply = server.readyAt === null ? null : await server.send(makeRequest);
  server.kill("SIGKILL");
  const ended = await server.exited;
  if (server.readyAt === null) {
    violations.push(`the next start ended with ${ended}: ${await server.readStderr()}`);
    return;
  }
  if (reply?.status === 200) possibleStates.applyGranted(makeRequest.change, reply.body);
  else violations.push(`the next start does not work: ${reply?.code ?? "no answer"}`);
  const mismatch = possibleStates.findMismatch(await readFacts(dataFolder));
  if (mismatch !== null) violations.push(`after the next start: ${mismatch}`);
}
