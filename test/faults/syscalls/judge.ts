// Judges what a fault must lead to, depending on the call that it hit.
import type { Scenario } from "./scenarios.ts";
import type { ScenarioResult } from "./scenario-run.ts";
import { isSync, describeCall, type TracedCall, type InjectedFault } from "./strace.ts";

/** The promises, each with the description of its check. */
export const SYSCALL_PROMISES = {
  kept: "after a fault the next start works and finds every answered change and no other",
  killed: "a server killed at a persistence call does not answer the waiting call",
  failed:
    "after a failed write or sync of the journal the server answers 503 storage_failed, " +
    "answers no more reads and exits with code 1",
  full:
    "on a full disk the server answers 503 storage_full and serves reads, and changes work " +
    "again when there is space",
  once: "a failed sync is never repeated",
  short: "a short write is completed, and no call or checkpoint fails",
  start: "a start that fails exits with code 1, an error and a hint",
  unsynced: "a change whose file could not be synced is not answered with 200",
  child:
    "a fault in a checkpoint or in its update of the usage files shows in the status, the " +
    "server continues, and the next checkpoint succeeds",
  rotation:
    "a segment that cannot be opened shows in the status, and one whose name may be lost " +
    "ends the server with code 1",
  stop: "a stop whose checkpoint fails exits with code 1, an error and a hint",
  recovery:
    "a second fault on a full disk ends the server with code 1, or changes work again when " +
    "there is space",
} as const;

export type SyscallPromise = keyof typeof SYSCALL_PROMISES;

export interface Verdict {
  readonly promise: SyscallPromise;
  /** Null: the promise is kept. */
  readonly violation: string | null;
}

/** Judges every promise that this run tests, by the call that was really hit. */
export function judgeRun(
  scenario: Scenario,
  fault: InjectedFault,
  call: TracedCall,
  result: ScenarioResult,
): Verdict[] {
  const rules: readonly (readonly [SyscallPromise, boolean, () => string | null])[] = [
    ["kept", true, () => result.violations.join("; ") || null],
    ["killed", fault === "kill" && !isChild(scenario), () => checkKilled(scenario, call, result)],
    ["failed", failsJournal(scenario, call, fault), () => checkFailed(result)],
    ["full", fillsJournal(scenario, call, fault), () => checkFull(result)],
    ["once", isSync(call) && isError(fault) && call.path !== "probe", () => checkOnce(result)],
    ["short", fault === "short", () => checkShort(scenario, result)],
    ["start", call.isDuringStart && !isChild(scenario) && isError(fault), () => checkStart(result)],
    ["unsynced", failsOtherSync(scenario, call, fault), () => checkUnsynced(result)],
    ["child", failsCheckpoint(scenario, call, fault), () => checkChild(call, fault, result)],
    ["stop", failsStop(scenario, call, fault), () => checkStop(result)],
    ["recovery", scenario.hasFullDisk && isError(fault), () => checkRecovery(result)],
    ["rotation", failsRotation(scenario, call, fault), () => checkRotation(call, result)],
  ];
  const position = `${scenario.name}, ${fault} at ${describeCall(call)}`;
  return rules
    .filter(([, applies]) => applies)
    .map(([promise, , findViolation]) => {
      const violation = findViolation();
      return { promise, violation: violation === null ? null : `${position}: ${violation}` };
    });
}

const isError = (fault: InjectedFault): boolean => fault === "EIO" || fault === "ENOSPC";

const isJournal = ({ path, name }: TracedCall): boolean =>
  /^journal-\d+\.jsonl$/.test(path) && (isSync({ name }) || name === "write");

const isChild = ({ tracedProcess }: Scenario): boolean => tracedProcess === "checkpoint";

/**
 * Whether the fault hit the erasure of the pid in a lock file, which is harmless: its process has
 * ended.
 */
const isLockNoteErasure = ({ name, path, nth }: TracedCall, fault: InjectedFault): boolean =>
  /^(?:checkpoint\.|usage\/)?lock$/.test(path) &&
  /^(?:ftruncate|pwrite64)$/.test(name) &&
  nth === 2 &&
  isError(fault);

const failsCheckpoint = (scenario: Scenario, call: TracedCall, fault: InjectedFault): boolean =>
  isChild(scenario) &&
  scenario.runsCheckpoint &&
  fault !== "short" &&
  !isLockNoteErasure(call, fault);

/** Whether a client waits for the call: during a stop or a start none does. */
const isAwaited = (scenario: Scenario, call: TracedCall): boolean =>
  !isChild(scenario) && !scenario.stopsAtEnd && !call.isDuringStart;

/** A socket that cannot be removed is harmless. */
const failsStop = (scenario: Scenario, call: TracedCall, fault: InjectedFault): boolean =>
  scenario.stopsAtEnd &&
  !scenario.runsCheckpoint &&
  call.path !== "berth.sock" &&
  !isLockNoteErasure(call, fault) &&
  (isChild(scenario) ? fault !== "short" : isError(fault));

const failsJournal = (scenario: Scenario, call: TracedCall, fault: InjectedFault): boolean =>
  isAwaited(scenario, call) && isJournal(call) && (isSync(call) ? isError(fault) : fault === "EIO");

const fillsJournal = (scenario: Scenario, call: TracedCall, fault: InjectedFault): boolean =>
  isAwaited(scenario, call) && isJournal(call) && !isSync(call) && fault === "ENOSPC";

/** Whether the fault hit the sync or rename of another file that an answer depends on. */
const failsOtherSync = (scenario: Scenario, call: TracedCall, fault: InjectedFault): boolean =>
  isAwaited(scenario, call) &&
  (isSync(call) || call.name === "rename") &&
  !isJournal(call) &&
  isError(fault) &&
  !scenario.runsCheckpoint &&
  !scenario.hasFullDisk;

const failsRotation = (scenario: Scenario, call: TracedCall, fault: InjectedFault): boolean =>
  isAwaited(scenario, call) && scenario.runsCheckpoint && !isJournal(call) && isError(fault);

function checkKilled(scenario: Scenario, call: TracedCall, result: ScenarioResult): string | null {
  const { ready, exitedWith, stoppedWith, replies } = result;
  if (scenario.stopsAtEnd) {
    // If the kill hit the checkpoint process instead, the stop reports the failed checkpoint.
    return stoppedWith === "SIGKILL" || stoppedWith === "1"
      ? null
      : `the stop ended with ${stoppedWith}`;
  }
  if (exitedWith !== "SIGKILL") return `the server ended with ${exitedWith}`;
  if (call.isDuringStart) return ready ? "the server was ready before the call" : null;
  const last = replies.at(-1)?.last;
  return last === null ? null : `the server answered ${last?.status}`;
}

function checkFailed({ replies, exitedWith }: ScenarioResult): string | null {
  const last = replies.at(-1)?.last;
  if (last?.code !== "storage_failed") return `the server answered ${last?.status} ${last?.code}`;
  return exitedWith === "1" ? null : `the server ended with ${exitedWith}`;
}

function checkFull({ replies, hasRecovered }: ScenarioResult): string | null {
  const refusedStep = replies.find(({ first }) => first?.code === "storage_full");
  if (refusedStep === undefined) return `the server answered ${replies.at(-1)?.first?.status}`;
  const { last } = refusedStep;
  return hasRecovered && last?.status === 200 ? null : "changes did not work again with free space";
}

const checkOnce = ({ trace: { laterSyncs } }: ScenarioResult): string | null =>
  laterSyncs === 0 ? null : `the same file was synced ${laterSyncs} more times`;

function checkShort(scenario: Scenario, result: ScenarioResult): string | null {
  const { ready, exitedWith, stoppedWith, replies, checkpointError } = result;
  if (!ready || exitedWith !== null) return `the server ended with ${exitedWith}: ${result.stderr}`;
  if (checkpointError !== null) return `the checkpoint failed: ${checkpointError}`;
  if (scenario.stopsAtEnd && stoppedWith !== "0") return `the stop ended with ${stoppedWith}`;
  for (const { step, first, last } of replies) {
    const expectedStatus = step.expectsRefusal === true ? 400 : 200;
    // A scenario with a full disk answers 503 first, also without a fault.
    if (
      first?.status !== (scenario.hasFullDisk ? 503 : expectedStatus) ||
      last?.status !== expectedStatus
    ) {
      return `the server answered ${first?.status} and then ${last?.status}`;
    }
  }
  return null;
}

const ERROR_WITH_HINT = /^berth: error: .+\n(?:berth: )?hint: .+$/m;

function checkStart({ ready, exitedWith, stderr }: ScenarioResult): string | null {
  if (ready)
    return exitedWith === null ? null : `the server was ready and then ended with ${exitedWith}`;
  if (exitedWith !== "1") return `the server ended with ${exitedWith}: ${stderr}`;
  return ERROR_WITH_HINT.test(stderr) ? null : `there is no error with a hint: ${stderr}`;
}

function checkStop({ stoppedWith, stderr }: ScenarioResult): string | null {
  if (stoppedWith !== "1") return `the stop ended with ${stoppedWith}`;
  return ERROR_WITH_HINT.test(stderr) ? null : `there is no error with a hint: ${stderr}`;
}

function checkUnsynced({ replies, exitedWith }: ScenarioResult): string | null {
  if (exitedWith !== null) return `the server ended with ${exitedWith}`;
  return replies.at(-1)?.last?.status === 200 ? "the server answered 200" : null;
}

/** A fault in the usage files is no fault of the checkpoint, unless it kills the process. */
function checkChild(
  { path }: TracedCall,
  fault: InjectedFault,
  { exitedWith, stoppedWith, checkpointError, hasUsageFinding, replies }: ScenarioResult,
): string | null {
  if (exitedWith !== null) return `the server ended with ${exitedWith}`;
  const isUsageError = isError(fault) && /^usage(?:\/|$)/.test(path);
  if (isUsageError && checkpointError !== null) return `the checkpoint failed: ${checkpointError}`;
  if (isUsageError && !hasUsageFinding) return "the status has no finding about the usage files";
  // The data folder is synced for both.
  if (checkpointError === null && !hasUsageFinding) return "the status shows no checkpoint error";
  const last = replies.at(-1)?.last;
  if (last?.status !== 200) return `the server answered ${last?.status} ${last?.code}`;
  return stoppedWith === "0" ? null : `the stop ended with ${stoppedWith}`;
}

function checkRecovery({ exitedWith, replies }: ScenarioResult): string | null {
  if (exitedWith !== null) return exitedWith === "1" ? null : `the server ended with ${exitedWith}`;
  return replies.at(-1)?.last?.status === 200 ? null : "the server runs but changes do not work";
}

function checkRotation(
  call: TracedCall,
  { exitedWith, checkpointError, replies }: ScenarioResult,
): string | null {
  if (isSync(call)) return exitedWith === "1" ? null : `the server ended with ${exitedWith}`;
  if (checkpointError === null) return "the status shows no checkpoint error";
  const last = replies.at(-1)?.last;
  return last?.status === 200 ? null : `the server answered ${last?.status} ${last?.code}`;
}
