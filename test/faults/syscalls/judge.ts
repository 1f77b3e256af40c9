// What must come of a fault, depending on the call it hit.
import type { Scenario } from "./scenarios.ts";
import type { ScenarioResult } from "./scenario-run.ts";
import { isSync, describeCall, type TracedCall, type InjectedFault } from "./strace.ts";

/** The promises, each with how it reads in the tally. */
export const SYSCALL_PROMISES = {
  kept: "everything answered is there, nothing is that nobody asked for, and the next start works",
  killed: "who waits for a killed server gets no answer",
  failed:
    "a journal that cannot be written or synced: 503 storage_failed, no read after it, exit code 1",
  full: "no room to write: 503 storage_full, reads go on, and it works again when there is room",
  once: "a sync that failed is never tried again",
  short: "a short write is completed, and nobody notices",
  start: "a start that fails ends with exit code 1, a reason and a hint",
  unsynced: "what could not be synced is not answered with 200",
  child: "a fault in a checkpoint is told by status; the server goes on, and the next one is whole",
  rotation: "a segment that cannot be opened is told by status; one whose name may be lost ends it",
  stop: "a stop that could not fold everything ends with exit code 1, a reason and a hint",
  recovery:
    "a second fault on a full disk ends it with exit code 1, or it works again when there is room",
} as const;

export type SyscallPromise = keyof typeof SYSCALL_PROMISES;

export interface Verdict {
  readonly promise: SyscallPromise;
  /** Null: kept. */
  readonly violation: string | null;
}

/** Every promise that this run put to the test, by the call that was really hit. */
export function judgeRun(
  scene: Scenario,
  effect: InjectedFault,
  call: TracedCall,
  seen: ScenarioResult,
): Verdict[] {
  const tests: readonly (readonly [SyscallPromise, boolean, () => string | null])[] = [
    ["kept", true, () => seen.violations.join("; ") || null],
    ["killed", effect === "kill" && !isChild(scene), () => killed(scene, call, seen)],
    ["failed", failsJournal(scene, call, effect), () => failed(seen)],
    ["full", fillsJournal(scene, call, effect), () => full(seen)],
    ["once", isSync(call) && isError(effect) && call.path !== "probe", () => once(seen)],
    ["short", effect === "short", () => short(scene, seen)],
    ["start", call.isDuringStart && !isChild(scene) && isError(effect), () => start(seen)],
    ["unsynced", isOwnSync(scene, call, effect), () => unsynced(seen)],
    ["child", failsFold(scene, call, effect), () => child(seen)],
    ["stop", stopsBadly(scene, call, effect), () => stop(seen)],
    ["recovery", scene.hasFullDisk && isError(effect), () => recovery(seen)],
    ["rotation", rotates(scene, call, effect), () => rotation(call, seen)],
  ];
  const where = `${scene.name}, ${effect} at ${describeCall(call)}`;
  return tests
    .filter(([, applies]) => applies)
    .map(([promise, , test]) => {
      const violation = test();
      return { promise, violation: violation === null ? null : `${where}: ${violation}` };
    });
}

const isError = (effect: InjectedFault): boolean => effect === "EIO" || effect === "ENOSPC";

const isJournal = ({ path, name }: TracedCall): boolean =>
  /^journal-\d+\.jsonl$/.test(path) && (isSync({ name }) || name === "write");

const isChild = ({ tracedProcess }: Scenario): boolean => tracedProcess === "checkpoint";

/** A pid that cannot be erased from a lock file is in nobody's way: its holder is gone. */
const erasesNote = ({ name, path, nth }: TracedCall, effect: InjectedFault): boolean =>
  /^(?:checkpoint\.)?lock$/.test(path) &&
  /^(?:ftruncate|pwrite64)$/.test(name) &&
  nth === 2 &&
  isError(effect);

const failsFold = (scene: Scenario, call: TracedCall, effect: InjectedFault): boolean =>
  isChild(scene) && scene.runsCheckpoint && effect !== "short" && !erasesNote(call, effect);

/** While somebody waits: at a stop nobody does any more. */
const isAwaited = (scene: Scenario, call: TracedCall): boolean =>
  !isChild(scene) && !scene.stopsAtEnd && !call.isDuringStart;

/** A socket that cannot be removed is in nobody's way. */
const stopsBadly = (scene: Scenario, call: TracedCall, effect: InjectedFault): boolean =>
  scene.stopsAtEnd &&
  !scene.runsCheckpoint &&
  call.path !== "berth.sock" &&
  !erasesNote(call, effect) &&
  (isChild(scene) ? effect !== "short" : isError(effect));

const failsJournal = (scene: Scenario, call: TracedCall, effect: InjectedFault): boolean =>
  isAwaited(scene, call) && isJournal(call) && (isSync(call) ? isError(effect) : effect === "EIO");

const fillsJournal = (scene: Scenario, call: TracedCall, effect: InjectedFault): boolean =>
  isAwaited(scene, call) && isJournal(call) && !isSync(call) && effect === "ENOSPC";

/** Of another file that an answer stands for. */
const isOwnSync = (scene: Scenario, call: TracedCall, effect: InjectedFault): boolean =>
  isAwaited(scene, call) &&
  (isSync(call) || call.name === "rename") &&
  !isJournal(call) &&
  isError(effect) &&
  !scene.runsCheckpoint &&
  !scene.hasFullDisk;

const rotates = (scene: Scenario, call: TracedCall, effect: InjectedFault): boolean =>
  isAwaited(scene, call) && scene.runsCheckpoint && !isJournal(call) && isError(effect);

function killed(scene: Scenario, call: TracedCall, seen: ScenarioResult): string | null {
  const { ready, exitedWith, stoppedWith, replies } = seen;
  if (scene.stopsAtEnd) {
    // Where it met the checkpoint's process instead, the stop says that it could not fold.
    return stoppedWith === "SIGKILL" || stoppedWith === "1"
      ? null
      : `it stopped with ${stoppedWith}`;
  }
  if (exitedWith !== "SIGKILL") return `it ended with ${exitedWith}`;
  if (call.isDuringStart) return ready ? "it was ready before" : null;
  const last = replies.at(-1)?.last;
  return last === null ? null : `it answered ${last?.status}`;
}

function failed({ replies, exitedWith }: ScenarioResult): string | null {
  const last = replies.at(-1)?.last;
  if (last?.code !== "storage_failed") return `it answered ${last?.status} ${last?.code}`;
  return exitedWith === "1" ? null : `it ended with ${exitedWith}`;
}

function full({ replies, recoveryMs }: ScenarioResult): string | null {
  const refused = replies.find(({ first }) => first?.code === "storage_full");
  if (refused === undefined) return `it answered ${replies.at(-1)?.first?.status}`;
  const { last } = refused;
  return recoveryMs && last?.status === 200 ? null : "it did not work again";
}

const once = ({ trace: { laterSyncs } }: ScenarioResult): string | null =>
  laterSyncs === 0 ? null : `${laterSyncs} more syncs of the same file`;

function short(scene: Scenario, seen: ScenarioResult): string | null {
  const { ready, exitedWith, stoppedWith, replies, checkpointError } = seen;
  if (!ready || exitedWith !== null) return `it ended with ${exitedWith}: ${seen.stderr}`;
  if (checkpointError !== null) return `the checkpoint failed: ${checkpointError}`;
  if (scene.stopsAtEnd && stoppedWith !== "0") return `it stopped with ${stoppedWith}`;
  for (const { step, first, last } of replies) {
    const wanted = step.expectsRefusal === true ? 400 : 200;
    // A disk that is full by itself stays so.
    if (first?.status !== (scene.hasFullDisk ? 503 : wanted) || last?.status !== wanted) {
      return `it answered ${first?.status} and then ${last?.status}`;
    }
  }
  return null;
}

const REASON = /^berth: error: .+\n(?:berth: )?hint: .+$/m;

function start({ ready, exitedWith, stderr }: ScenarioResult): string | null {
  if (ready) return exitedWith === null ? null : `it was ready and then ended with ${exitedWith}`;
  if (exitedWith !== "1") return `it ended with ${exitedWith}: ${stderr}`;
  return REASON.test(stderr) ? null : `it said: ${stderr}`;
}

function stop({ stoppedWith, stderr }: ScenarioResult): string | null {
  if (stoppedWith !== "1") return `it stopped with ${stoppedWith}`;
  return REASON.test(stderr) ? null : `it said: ${stderr}`;
}

function unsynced({ replies, exitedWith }: ScenarioResult): string | null {
  if (exitedWith !== null) return `it ended with ${exitedWith}`;
  return replies.at(-1)?.last?.status === 200 ? "it answered 200" : null;
}

function child({
  exitedWith,
  stoppedWith,
  checkpointError,
  replies,
}: ScenarioResult): string | null {
  if (exitedWith !== null) return `the server ended with ${exitedWith}`;
  if (checkpointError === null) return "status told nothing";
  const last = replies.at(-1)?.last;
  if (last?.status !== 200) return `it answered ${last?.status} ${last?.code}`;
  return stoppedWith === "0" ? null : `it stopped with ${stoppedWith}`;
}

function recovery({ exitedWith, replies }: ScenarioResult): string | null {
  if (exitedWith !== null) return exitedWith === "1" ? null : `it ended with ${exitedWith}`;
  return replies.at(-1)?.last?.status === 200 ? null : "it goes on and does not work";
}

function rotation(
  call: TracedCall,
  { exitedWith, checkpointError, replies }: ScenarioResult,
): string | null {
  if (isSync(call)) return exitedWith === "1" ? null : `it ended with ${exitedWith}`;
  if (checkpointError === null) return "status told nothing";
  const last = replies.at(-1)?.last;
  return last?.status === 200 ? null : `it answered ${last?.status} ${last?.code}`;
}
