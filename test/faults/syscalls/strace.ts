// Persistence calls as strace sees them: which there are, how one of them is made to fail, and what
// a log says of it. strace counts calls for each thread by itself. All but the syncs are made by a
// process's main thread, so their number is the same in every run; a sync runs in whichever pool
// thread is free, so a run aims at one and the log says which one it hit.
import { join } from "node:path";

const SYNCS = ["fsync", "fdatasync"];

const CONTENT = "write pwrite64 writev pwritev pwritev2 ftruncate truncate fallocate msync";
const COPIES = "copy_file_range sendfile splice";
const NAMES = "rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat rmdir";
const MAKING = "open openat openat2 creat mkdir mkdirat mknod mknodat chmod fchmod fchmodat";

/** Everything that could change a file or a name; no architecture has all of it. */
const PERSISTING = [...SYNCS, ...`${CONTENT} ${COPIES} ${NAMES} ${MAKING}`.split(" ")];

export const INJECTED_FAULTS = ["kill", "EIO", "ENOSPC", "short"] as const;

export type InjectedFault = (typeof INJECTED_FAULTS)[number];

const INJECT_OPTIONS: Readonly<Record<InjectedFault, string>> = {
  kill: "signal=SIGKILL",
  EIO: "error=EIO",
  ENOSPC: "error=ENOSPC",
  // Nothing was written, and the kernel says so.
  short: "retval=0",
};

/**
 * Sent to a server when it is ready, which does nothing with it: what the log has before the line
 * that begins like this belongs to the start. Times could not tell, for clocks are too coarse.
 */
export const READY_SIGNAL = "SIGCONT";
export const READY = `--- ${READY_SIGNAL} `;

/** How long a sync is held up before it starts. */
export const SYNC_DELAY_MS = 2_000;

/** One persistence call of a process that does the same every time. */
export interface TracedCall {
  readonly name: string;
  /** Below the data folder; "." is the folder itself. */
  readonly path: string;
  /** Among the calls of this name on this path. */
  readonly nth: number;
  /** Before everything was ready. */
  readonly isDuringStart: boolean;
}

export interface InjectionTarget {
  readonly call: TracedCall;
  readonly fault: InjectedFault;
  /** What is counted for each thread by itself. */
  readonly callNumber: number;
}

export type TraceMode = InjectionTarget | "record" | "delay";

export const isSync = ({ name }: Pick<TracedCall, "name">): boolean => SYNCS.includes(name);

export const describeCall = ({ name, path, nth }: TracedCall): string => `${name} ${path} #${nth}`;

/** What makes sense for a call: only a write can be short. */
export const faultsFor = ({ name }: TracedCall): readonly InjectedFault[] =>
  INJECTED_FAULTS.filter((effect) => effect !== "short" || /^p?write/.test(name));

/** How many threads share the syncs. */
const THREADS = 2;

/**
 * What to count to for a call to be the first that is hit. The threads share the syncs before it,
 * one way or another, and none of them may have had that many.
 */
export function callNumbersFor(call: TracedCall): readonly number[] {
  if (!isSync(call)) return [call.nth];
  const least = Math.ceil((call.nth - 1) / THREADS) + 1;
  return Array.from({ length: call.nth - least + 1 }, (_, more) => least + more);
}

/**
 * The command line in front of the traced one; all paths must be real ones. Syncs are counted in
 * every process that is followed: the log must tell when another one runs `program`.
 */
export function straceCommand(
  folder: string,
  log: string,
  tracing: TraceMode,
  program: string,
): string[] {
  const common = ["strace", "-f", "-q", "-y", "-s", "16", "-o", log];
  if (tracing === "record") {
    return [...common, "-e", `trace=execve,${PERSISTING.map((name) => `?${name}`).join(",")}`];
  }
  if (tracing === "delay") {
    const delayed = `${SYNCS.join(",")}:delay_enter=${SYNC_DELAY_MS}ms`;
    return [...common, "-e", `trace=${SYNCS.join(",")}`, "-e", `inject=${delayed}`];
  }
  const { call, fault, callNumber } = tracing;
  const injected = `${call.name}:${INJECT_OPTIONS[fault]}:when=${callNumber}`;
  const traced = [...new Set([...SYNCS, call.name, "execve"])];
  const events = ["-e", `trace=${traced.join(",")}`, "-e", `inject=${injected}`];
  const paths = [join(folder, call.path), ...(isSync(call) ? [program] : [])];
  return [...common, ...events, ...paths.flatMap((path) => ["-P", path])];
}

interface LogEntry {
  readonly name: string;
  readonly path: string;
  readonly text: string;
  readonly isDuringStart: boolean;
  result: string;
}

export interface Trace {
  /** The persistence calls, in order, of the process that was traced. */
  readonly calls: readonly TracedCall[];
  /** The one that was made to fail: the first one, if there were several. */
  readonly injectedCall: TracedCall | null;
  /** Syncs of that same file after that. */
  readonly laterSyncs: number;
}

/** What else is known about a log. */
export interface TraceContext {
  readonly folder: string;
  readonly tracedProcess: "server" | "checkpoint";
  readonly mode: TraceMode;
}

/** Reads a log; without what a checkpoint did that a traced server started. */
export function readTrace(log: string, logged: TraceContext): Trace {
  const { mode } = logged;
  const entries = entriesIn(log, logged);
  const counts = new Map<string, number>();
  const calls: TracedCall[] = [];
  let hit: TracedCall | null = null;
  let syncsAfter = 0;
  for (const entry of entries) {
    const { name, path, isDuringStart } = entry;
    if (hit !== null && SYNCS.includes(name) && path === hit.path) syncsAfter += 1;
    const key = `${name} ${path}`;
    const nth = (counts.get(key) ?? 0) + 1;
    counts.set(key, nth);
    const call: TracedCall = { name, path, nth, isDuringStart };
    if (changesSomething(entry)) calls.push(call);
    if (hit === null && typeof mode === "object" && isInjected(entry, mode)) hit = call;
  }
  return { calls, injectedCall: hit, laterSyncs: syncsAfter };
}

/** A call that the process died in has no result. */
const isInjected = ({ name, result }: LogEntry, { call, fault }: InjectionTarget): boolean =>
  name === call.name &&
  (fault === "kill" ? /^\??$/.test(result.trim()) : result.includes("(INJECTED)"));

const changesSomething = ({ name, text }: LogEntry): boolean =>
  !name.startsWith("open") || text.includes("O_CREAT");

const LINE = /^(\d+) +(.*)$/;
const CALL = /^(\w+)\((.*)$/;
const RESUMED = /^<\.\.\. \w+ resumed>(.*)$/;

/** Calls on anything below the folder, each with its result; an empty one: it never returned. */
function entriesIn(log: string, { folder, tracedProcess }: TraceContext): LogEntry[] {
  const entries: LogEntry[] = [];
  const pending = new Map<string, LogEntry>();
  let inCheckpoint = false;
  let starting = true;
  for (const line of log.split("\n")) {
    const [, thread = "", rest = ""] = LINE.exec(line) ?? [];
    const resumed = RESUMED.exec(rest)?.[1];
    const waiting = pending.get(thread);
    if (resumed !== undefined && waiting !== undefined) waiting.result = resultOf(resumed);
    const [, name = "", text = ""] = CALL.exec(rest) ?? [];
    if (name === "execve" && text.includes('"checkpoint"'))
      inCheckpoint = tracedProcess === "server";
    else if (rest.startsWith("--- SIGCHLD")) inCheckpoint = false;
    else if (rest.startsWith(READY)) starting = false;
    const path = name === "" || name === "execve" ? null : pathOf(text, folder);
    if (path === null) continue;
    const entry: LogEntry = { name, path, text, isDuringStart: starting, result: resultOf(text) };
    if (!inCheckpoint) entries.push(entry);
    pending.set(thread, entry);
  }
  return entries;
}

const resultOf = (text: string): string => /\) += (.*)$/.exec(text)?.[1] ?? "";

/** The first path a call names, by itself or by a descriptor; null: not one of ours. */
function pathOf(text: string, folder: string): string | null {
  const named = /^(?:AT_FDCWD(?:<[^>]*>)?, )?"([^"]*)"/.exec(text)?.[1];
  const path = named ?? /^\d+<([^>]*)>/.exec(text)?.[1] ?? "";
  if (path === folder || path === `${folder}/`) return ".";
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : null;
}
