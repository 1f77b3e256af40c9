// What must come of a fault, depending on the call it hit.
import type { Scene } from "./syscalls-scenes.ts";
import type { Seen } from "./syscalls-play.ts";
import { isSync, labelOf, type Call, type Effect } from "./syscalls-trace.ts";

/** The promises, each with how it reads in the tally. */
export const PROMISES = {
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

export type Promised = keyof typeof PROMISES;

export interface Verdict {
  readonly promise: Promised;
  /** Null: kept. */
  readonly broken: string | null;
}

/** Every promise that this run put to the test, by the call that was really hit. */
export function judge(scene: Scene, effect: Effect, call: Call, seen: Seen): Verdict[] {
  const tests: readonly (readonly [Promised, boolean, () => string | null])[] = [
    ["kept", true, () => seen.wrong.join("; ") || null],
    ["killed", effect === "kill" && !isChild(scene), () => killed(scene, call, seen)],
    ["failed", failsJournal(scene, call, effect), () => failed(seen)],
    ["full", fillsJournal(scene, call, effect), () => full(seen)],
    ["once", isSync(call) && isError(effect) && call.path !== "probe", () => once(seen)],
    ["short", effect === "short", () => short(scene, seen)],
    ["start", call.starting && !isChild(scene) && isError(effect), () => start(seen)],
    ["unsynced", isOwnSync(scene, call, effect), () => unsynced(seen)],
    ["child", failsFold(scene, call, effect), () => child(seen)],
    ["stop", stopsBadly(scene, call, effect), () => stop(seen)],
    ["recovery", scene.full && isError(effect), () => recovery(seen)],
    ["rotation", rotates(scene, call, effect), () => rotation(call, seen)],
  ];
  const where = `${scene.name}, ${effect} at ${labelOf(call)}`;
  return tests
    .filter(([, applies]) => applies)
    .map(([promise, , test]) => {
      const broken = test();
      return { promise, broken: broken === null ? null : `${where}: ${broken}` };
    });
}

const isError = (effect: Effect): boolean => effect === "EIO" || effect === "ENOSPC";

const isJournal = ({ path, name }: Call): boolean =>
  /^journal-\d+\.jsonl$/.test(path) && (isSync({ name }) || name === "write");

const isChild = ({ traced }: Scene): boolean => traced === "checkpoint";

/** A pid that cannot be erased from a lock file is in nobody's way: its holder is gone. */
const erasesNote = ({ name, path, nth }: Call, effect: Effect): boolean =>
  /^(?:checkpoint\.)?lock$/.test(path) &&
  /^(?:ftruncate|pwrite64)$/.test(name) &&
  nth === 2 &&
  isError(effect);

const failsFold = (scene: Scene, call: Call, effect: Effect): boolean =>
  isChild(scene) && scene.folds && effect !== "short" && !erasesNote(call, effect);

/** While somebody waits: at a stop nobody does any more. */
const isAwaited = (scene: Scene, call: Call): boolean =>
  !isChild(scene) && !scene.stops && !call.starting;

/** A socket that cannot be removed is in nobody's way. */
const stopsBadly = (scene: Scene, call: Call, effect: Effect): boolean =>
  scene.stops &&
  !scene.folds &&
  call.path !== "berth.sock" &&
  !erasesNote(call, effect) &&
  (isChild(scene) ? effect !== "short" : isError(effect));

const failsJournal = (scene: Scene, call: Call, effect: Effect): boolean =>
  isAwaited(scene, call) && isJournal(call) && (isSync(call) ? isError(effect) : effect === "EIO");

const fillsJournal = (scene: Scene, call: Call, effect: Effect): boolean =>
  isAwaited(scene, call) && isJournal(call) && !isSync(call) && effect === "ENOSPC";

/** Of another file that an answer stands for. */
const isOwnSync = (scene: Scene, call: Call, effect: Effect): boolean =>
  isAwaited(scene, call) &&
  (isSync(call) || call.name === "rename") &&
  !isJournal(call) &&
  isError(effect) &&
  !scene.folds &&
  !scene.full;

const rotates = (scene: Scene, call: Call, effect: Effect): boolean =>
  isAwaited(scene, call) && scene.folds && !isJournal(call) && isError(effect);

function killed(scene: Scene, call: Call, seen: Seen): string | null {
  const { ready, ended, stopped, replies } = seen;
  if (scene.stops) {
    // Where it met the checkpoint's process instead, the stop says that it could not fold.
    return stopped === "SIGKILL" || stopped === "1" ? null : `it stopped with ${stopped}`;
  }
  if (ended !== "SIGKILL") return `it ended with ${ended}`;
  if (call.starting) return ready ? "it was ready before" : null;
  const last = replies.at(-1)?.last;
  return last === null ? null : `it answered ${last?.status}`;
}

function failed({ replies, ended }: Seen): string | null {
  const last = replies.at(-1)?.last;
  if (last?.code !== "storage_failed") return `it answered ${last?.status} ${last?.code}`;
  return ended === "1" ? null : `it ended with ${ended}`;
}

function full({ replies, recovered }: Seen): string | null {
  const refused = replies.find(({ first }) => first?.code === "storage_full");
  if (refused === undefined) return `it answered ${replies.at(-1)?.first?.status}`;
  const { last } = refused;
  return recovered && last?.status === 200 ? null : "it did not work again";
}

const once = ({ trace: { syncsAfter } }: Seen): string | null =>
  syncsAfter === 0 ? null : `${syncsAfter} more syncs of the same file`;

function short(scene: Scene, seen: Seen): string | null {
  const { ready, ended, stopped, replies, told } = seen;
  if (!ready || ended !== null) return `it ended with ${ended}: ${seen.complaint}`;
  if (told !== null) return `the checkpoint failed: ${told}`;
  if (scene.stops && stopped !== "0") return `it stopped with ${stopped}`;
  for (const { step, first, last } of replies) {
    const wanted = step.isRefused === true ? 400 : 200;
    // A disk that is full by itself stays so.
    if (first?.status !== (scene.full ? 503 : wanted) || last?.status !== wanted) {
      return `it answered ${first?.status} and then ${last?.status}`;
    }
  }
  return null;
}

const REASON = /^berth: error: .+\n(?:berth: )?hint: .+$/m;

function start({ ready, ended, complaint }: Seen): string | null {
  if (ready) return ended === null ? null : `it was ready and then ended with ${ended}`;
  if (ended !== "1") return `it ended with ${ended}: ${complaint}`;
  return REASON.test(complaint) ? null : `it said: ${complaint}`;
}

function stop({ stopped, complaint }: Seen): string | null {
  if (stopped !== "1") return `it stopped with ${stopped}`;
  return REASON.test(complaint) ? null : `it said: ${complaint}`;
}

function unsynced({ replies, ended }: Seen): string | null {
  if (ended !== null) return `it ended with ${ended}`;
  return replies.at(-1)?.last?.status === 200 ? "it answered 200" : null;
}

function child({ ended, stopped, told, replies }: Seen): string | null {
  if (ended !== null) return `the server ended with ${ended}`;
  if (told === null) return "status told nothing";
  const last = replies.at(-1)?.last;
  if (last?.status !== 200) return `it answered ${last?.status} ${last?.code}`;
  return stopped === "0" ? null : `it stopped with ${stopped}`;
}

function recovery({ ended, replies }: Seen): string | null {
  if (ended !== null) return ended === "1" ? null : `it ended with ${ended}`;
  return replies.at(-1)?.last?.status === 200 ? null : "it goes on and does not work";
}

function rotation(call: Call, { ended, told, replies }: Seen): string | null {
  if (isSync(call)) return ended === "1" ? null : `it ended with ${ended}`;
  if (told === null) return "status told nothing";
  const last = replies.at(-1)?.last;
  return last?.status === 200 ? null : `it answered ${last?.status} ${last?.code}`;
}
