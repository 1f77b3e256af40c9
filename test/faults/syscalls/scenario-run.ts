// Runs a scenario once: a server on a copy of its folder, with or without a fault, then a server
// without faults, and a check of what the folder contains at the end.
import { cpSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isSoak } from "../../support/suite-harness.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { listSegments } from "../../../src/store/folder/files.ts";
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
import { isEventuallyTrue } from "../../support/wait-until.ts";

export interface ScenarioResult {
  readonly trace: Trace;
  readonly ready: boolean;
  /** How the server ended by itself; null: it ran until it was stopped or killed. */
  readonly exitedWith: string | null;
  /** How the server ended after SIGTERM; null: none was sent. */
  readonly stoppedWith: string | null;
  readonly stderr: string;
  /** The answers to each step, up to the step that ended the server. */
  readonly replies: readonly StepReplies[];
  /** Whether a change was refused on a full disk and accepted later. */
  readonly hasRecovered: boolean;
  /** Whether the status after the checkpoint has a finding about the usage files. */
  readonly hasUsageFinding: boolean;
  /** The checkpoint error in the status after the checkpoint; null: none. */
  readonly checkpointError: string | null;
  /** Violations that no fault can excuse. */
  readonly violations: readonly string[];
}

export interface StepReplies {
  readonly step: ScenarioStep;
  readonly first: StepReply | null;
  /** Differs from `first` if the step was repeated after `storage_full`. */
  readonly last: StepReply | null;
}

/** A server that has not ended by then goes on; ending takes less, even on a busy machine. */
const EXIT_WAIT_MS = 10_000;

/**
 * The server learns of the end of a checkpoint between two replies; it has this many, so that
 * waiting for something that never comes does not depend on the speed of the machine.
 */
const MAX_STATUS_REPLIES = 400;

/** Bytes of a journal line that still fit on a full disk. */
const FREE_BYTES = 10;

export interface ScenarioRun {
  readonly scenario: Scenario;
  readonly workFolder: string;
  readonly dataFolder: string;
  readonly possibleStates: PossibleStates;
  readonly violations: string[];
  hasRecovered: boolean;
}

let runCount = 0;

export const runScenario = (
  root: string,
  scenario: Scenario,
  mode: TraceMode,
): Promise<ScenarioResult> => withScenarioFolder(root, scenario, (run) => executeRun(run, mode));

/** Makes a copy of the scenario's folder and removes it afterwards. */
export async function withScenarioFolder<T>(
  root: string,
  scenario: Scenario,
  use: (run: ScenarioRun) => Promise<T>,
): Promise<T> {
  runCount += 1;
  const workFolder = join(root, `run-${runCount}`);
  const dataFolder = join(workFolder, "data");
  mkdirSync(workFolder);
  try {
    if (scenario.startingSite !== null)
      cpSync(scenario.startingSite.folder, dataFolder, { recursive: true });
    const possibleStates = new PossibleStates(scenario.startingSite?.facts ?? EMPTY_FACTS);
    return await use({
      scenario,
      workFolder,
      dataFolder,
      possibleStates,
      violations: [],
      hasRecovered: false,
    });
  } finally {
    rmSync(workFolder, { recursive: true, force: true });
  }
}

async function executeRun(run: ScenarioRun, mode: TraceMode): Promise<ScenarioResult> {
  const { scenario, workFolder, dataFolder, violations } = run;
  const log = traceLogPath(workFolder);
  const { server, checkpoint } = await startTracedServer(
    run,
    straceCommand(dataFolder, log, mode, binary),
  );
  if (server.readyAt !== null && scenario.tracedProcess === "server") await markReady(server, log);
  const replies: StepReplies[] = [];
  if (scenario.runsCheckpoint) replies.push(await runStep(run, server, longHeartbeat));
  const { checkpointError, hasUsageFinding } = scenario.runsCheckpoint
    ? await waitForCheckpoint(run, server, checkpoint)
    : NO_ERRORS;
  if (server.readyAt !== null) {
    for (const step of scenario.steps) {
      if (!replies.some(endsServer)) replies.push(await runStep(run, server, step));
    }
  }
  const exitedWith = await waitForExit(run, server, replies, mode);
  const isFaultInjected = readTextIfPresent(log).includes("(INJECTED)");
  if (exitedWith === null && scenario.stopsAtEnd) {
    server.kill("SIGTERM");
    if (!(await isEventuallyTrue(() => server.hasExited())))
      violations.push("the server did not stop after SIGTERM");
  }
  server.kill("SIGKILL");
  const exitStatus = await server.exited;
  const stoppedWith = exitedWith === null && scenario.stopsAtEnd ? exitStatus : null;
  const text = await readTraceLog(log, scenario.tracedProcess === "server" ? server.pid : null);
  const recorded = readTrace(text, {
    folder: dataFolder,
    tracedProcess: scenario.tracedProcess,
    mode,
  });
  const isFaultTooLate =
    scenario.tracedProcess === "server" &&
    exitedWith === null &&
    isFaultMissed(mode, isFaultInjected, stoppedWith);
  const trace = isFaultTooLate ? { ...recorded, injectedCall: null } : recorded;
  if (stoppedWith === "0" && scenario.runsCheckpoint)
    violations.push(...(await findAuditLogViolations(dataFolder)));
  await (needsRestart(scenario, mode) ? restartAndCheck(run) : checkFolder(run));
  const { hasRecovered } = run;
  const stderr = await server.readStderr();
  checkpoint?.remove();
  const ready = server.readyAt !== null;
  return {
    trace,
    ready,
    exitedWith,
    stoppedWith,
    stderr,
    replies,
    hasRecovered,
    hasUsageFinding,
    checkpointError,
    violations,
  };
}

/** Marks the end of the start in the trace log. */
async function markReady(server: TracedServer, log: string): Promise<void> {
  server.kill(READY_SIGNAL);
  await isEventuallyTrue(() => readTextIfPresent(log).includes(READY) || server.hasExited());
}

/** Whether the server ends after this answer, so that no further step can run. */
const endsServer = ({ last }: StepReplies): boolean =>
  last === null || last.code === "storage_failed";

/**
 * Whether the fault came after the end of the scenario. A call without a result may be one that was
 * running when the suite itself killed the server. A server that is hit after the last check has no
 * time left to react.
 */
function isFaultMissed(
  mode: TraceMode,
  isFaultInjected: boolean,
  stoppedWith: string | null,
): boolean {
  if (typeof mode !== "object") return false;
  if (mode.fault === "kill") return stoppedWith !== "SIGKILL";
  return stoppedWith === null && !isFaultInjected;
}

export const traceLogPath = (workFolder: string): string => join(workFolder, "log");

type Checkpoint = WrappedCheckpoint | null;

/** Starts the server, and runs it or its first checkpoint under `traceCommand`. */
export async function startTracedServer(
  { scenario, workFolder, dataFolder }: ScenarioRun,
  traceCommand: readonly string[],
): Promise<{ readonly server: TracedServer; readonly checkpoint: Checkpoint }> {
  if (scenario.tracedProcess === "server") {
    // -D detaches strace: the child process is the server itself, for signals and its exit code.
    const command = [
      ...traceCommand,
      "-D",
      ...(scenario.hasFullDisk ? limitCommand(dataFolder) : []),
    ];
    return { server: await startServer(dataFolder, command), checkpoint: null };
  }
  const checkpoint = wrapCheckpoint(workFolder);
  const server = await startServer(dataFolder, [], checkpoint.program);
  checkpoint.wrap(traceCommand);
  return { server, checkpoint };
}

function limitCommand(folder: string): string[] {
  const newest = listSegments(realDisk, folder).at(-1);
  const size = newest === undefined ? 0 : statSync(newest.path).size;
  return ["prlimit", `--fsize=${size + FREE_BYTES}:unlimited`];
}

const removeLimit = ({ pid }: TracedServer): void => {
  Bun.spawnSync(["prlimit", "--pid", String(pid), "--fsize=unlimited:unlimited"]);
};

type CheckpointErrors = Pick<ScenarioResult, "checkpointError" | "hasUsageFinding">;

const NO_ERRORS: CheckpointErrors = { checkpointError: null, hasUsageFinding: false };

/** Waits for the end of the due checkpoint and returns what the status shows of its errors. */
async function waitForCheckpoint(
  { workFolder, violations }: ScenarioRun,
  server: TracedServer,
  checkpoint: Checkpoint,
): Promise<CheckpointErrors> {
  let errors = NO_ERRORS;
  let repliesAfterExit = 0;
  const hasErrors = async (): Promise<boolean> => {
    const body = (await server.send(readStatus))?.body;
    const storage = body?.["storage"] as AnswerBody | undefined;
    const findings = (body?.["findings"] ?? []) as readonly AnswerBody[];
    errors = {
      checkpointError: (storage?.["checkpoint_error"] ?? null) as string | null,
      hasUsageFinding: findings.some(({ code }) => code === "usage_failing"),
    };
    return errors.checkpointError !== null || errors.hasUsageFinding;
  };
  /** The server may learn of a fault in the usage files a moment after the end of the process. */
  const hasFailedCall = (): boolean =>
    /= -1 .*\(INJECTED\)/.test(readTextIfPresent(traceLogPath(workFolder)));
  const isOver = async (): Promise<boolean> => {
    if (server.hasExited()) return true;
    // The trace log shows when the server is notified of the checkpoint's end.
    if (checkpoint === null)
      return readTextIfPresent(traceLogPath(workFolder)).includes("--- SIGCHLD") || hasErrors();
    const code = checkpoint.exitCode();
    if (code === null) return false;
    repliesAfterExit += 1;
    if (code === 0 && !hasFailedCall()) return true;
    return (await hasErrors()) || repliesAfterExit > MAX_STATUS_REPLIES;
  };
  // Each attempt reads the status.
  if (!(await isEventuallyTrue(isOver, { maxPause: 50 })))
    violations.push("the due checkpoint did not end");
  if (repliesAfterExit > MAX_STATUS_REPLIES && checkpoint?.exitCode() !== 0)
    violations.push("the due checkpoint failed without an error in the status");
  return errors;
}

/** Sends one step and handles its answer. */
async function runStep(
  run: ScenarioRun,
  server: TracedServer,
  step: ScenarioStep,
): Promise<StepReplies> {
  const { possibleStates, violations } = run;
  const first = await server.send(step);
  const last = first?.code === "storage_full" ? await waitForSpace(run, server, step) : first;
  if (last?.status === 200) possibleStates.applyGranted(step.change, last.body);
  else if (last === null || last.status >= 500) possibleStates.applyUnanswered(step.change);
  else if (step.expectsRefusal !== true) violations.push(`${step.name} was refused: ${last.code}`);
  if (last?.code === "storage_failed") {
    // The server's memory may contain changes that are lost at the next start.
    const read = await server.send(readSlots);
    if (read?.status === 200)
      violations.push("a read was answered after the answer storage_failed");
  }
  return { step, first, last };
}

/**
 * Checks that reads work on a full disk, then frees space and repeats the step until it is
 * accepted.
 */
async function waitForSpace(
  run: ScenarioRun,
  server: TracedServer,
  step: ScenarioStep,
): Promise<StepReply | null> {
  const { scenario, possibleStates, violations } = run;
  const read = await server.send(readSlots);
  if (read?.status === 200) {
    const slots = slotFacts(read.body as unknown as readonly AnswerBody[]);
    const mismatch = possibleStates.findMismatch(slots, true);
    if (mismatch !== null) violations.push(`a read on a full disk differs: ${mismatch}`);
  }
  // A second fault may have ended the server; otherwise it must answer the read.
  if (read?.code === "storage_full") violations.push("a read was refused on a full disk");
  if (scenario.hasFullDisk) removeLimit(server);
  let reply: StepReply | null = null;
  const isAccepted = async (): Promise<boolean> => {
    reply = await server.send(step);
    return reply === null || reply.code !== "storage_full";
  };
  if (await isEventuallyTrue(isAccepted, { maxPause: 100 })) run.hasRecovered = true;
  return reply;
}

/** Returns how the server ended; null: it still runs and answers. */
async function waitForExit(
  run: ScenarioRun,
  server: TracedServer,
  replies: readonly StepReplies[],
  mode: TraceMode,
): Promise<string | null> {
  const { scenario, possibleStates, violations } = run;
  const isServerEnding = replies.some(endsServer);
  if (server.readyAt === null || isServerEnding) await isEventuallyTrue(() => server.hasExited());
  if (await hasEndedByFault(run, server, mode)) return server.exited;
  if (isServerEnding) {
    violations.push("the server gave no answer or storage_failed, but did not end");
    return null;
  }
  // A recording contains only the calls of the scenario.
  if (scenario.stopsAtEnd || mode === "record") return null;
  const reply = await server.send(makeRequest);
  if (reply?.status === 200) possibleStates.applyGranted(makeRequest.change, reply.body);
  else possibleStates.applyUnanswered(makeRequest.change);
  // The fault may only now hit a call that the server makes in the background.
  if (await hasEndedByFault(run, server, mode)) return server.exited;
  if (reply?.status !== 200)
    violations.push(`the server runs but does not work: ${reply?.code ?? "no answer"}`);
  return null;
}

/** Most failed syncs end the server, shortly after the answer; waits for that. */
async function hasEndedByFault(
  { scenario, workFolder }: ScenarioRun,
  server: TracedServer,
  mode: TraceMode,
): Promise<boolean> {
  const isSyncFault = typeof mode === "object" && isSync(mode.call) && mode.fault !== "kill";
  // A failed sync of a checkpoint does not end the server.
  if (
    isSyncFault &&
    scenario.tracedProcess === "server" &&
    readTextIfPresent(traceLogPath(workFolder)).includes("(INJECTED)")
  ) {
    await isEventuallyTrue(() => server.hasExited(), { patience: EXIT_WAIT_MS });
  }
  return server.hasExited();
}

/**
 * Whether a new process checks what the run left behind; in a soak always. A fault that is no kill
 * leaves nothing that a kill at the same call does not leave, so reading the folder is enough.
 */
const needsRestart = ({ tracedPart }: Scenario, mode: TraceMode): boolean =>
  isSoak || (typeof mode === "object" && (tracedPart === "start" || mode.fault === "kill"));

/** The folder must contain everything that was answered and nothing else. */
async function checkFolder({ dataFolder, possibleStates, violations }: ScenarioRun): Promise<void> {
  try {
    const mismatch = possibleStates.findMismatch(await readFacts(dataFolder));
    if (mismatch !== null) violations.push(`after the run: ${mismatch}`);
  } catch (error) {
    violations.push(`the folder cannot be read after the run: ${String(error)}`);
  }
}

/** The next start must work, and find everything that was answered and nothing else. */
async function restartAndCheck({
  dataFolder,
  possibleStates,
  violations,
}: ScenarioRun): Promise<void> {
  const server = await startServer(dataFolder);
  const reply = server.readyAt === null ? null : await server.send(makeRequest);
  server.kill("SIGKILL");
  const exitedWith = await server.exited;
  if (server.readyAt === null) {
    violations.push(`the next start ended with ${exitedWith}: ${await server.readStderr()}`);
    return;
  }
  if (reply?.status === 200) possibleStates.applyGranted(makeRequest.change, reply.body);
  else violations.push(`the next start does not work: ${reply?.code ?? "no answer"}`);
  const mismatch = possibleStates.findMismatch(await readFacts(dataFolder));
  if (mismatch !== null) violations.push(`after the next start: ${mismatch}`);
}
