// Persistence calls as strace sees them: which calls there are, how one of them is made to fail,
// and how the log is read. strace counts calls separately for each thread. All calls except syncs
// are made by the main thread, so their numbers are the same in every run. A sync runs in any free
// pool thread, so a run targets one sync and the log says which one it hit.
import { join } from "node:path";

const SYNC_CALLS = ["fsync", "fdatasync"];

const CONTENT_CALLS = "write pwrite64 writev pwritev pwritev2 ftruncate truncate fallocate msync";
const COPY_CALLS = "copy_file_range sendfile splice";
const NAME_CALLS = "rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat rmdir";
const CREATE_CALLS = "open openat openat2 creat mkdir mkdirat mknod mknodat chmod fchmod fchmodat";

/** All calls that can change a file or a name; no architecture has all of them. */
const PERSISTENCE_CALLS = [
  ...SYNC_CALLS,
  ...`${CONTENT_CALLS} ${COPY_CALLS} ${NAME_CALLS} ${CREATE_CALLS}`.split(" "),
];

const INJECTED_FAULTS = ["kill", "EIO", "ENOSPC", "short"] as const;

export type InjectedFault = (typeof INJECTED_FAULTS)[number];

const INJECT_OPTIONS: Readonly<Record<InjectedFault, string>> = {
  kill: "signal=SIGKILL",
  EIO: "error=EIO",
  ENOSPC: "error=ENOSPC",
  // The kernel reports that nothing was written.
  short: "retval=0",
};

/**
 * Sent to a server when it is ready; the server ignores it. All log lines before the one that
 * begins with `READY` belong to the start. Timestamps would be too coarse to tell.
 */
export const READY_SIGNAL = "SIGCONT";
export const READY = `--- ${READY_SIGNAL} `;

/** How long each sync is delayed before it starts. */
export const SYNC_DELAY_MS = 2_000;

/** One persistence call of a process that makes the same calls in every run. */
export interface TracedCall {
  readonly name: string;
  /** Relative to the data folder; "." is the folder itself. */
  readonly path: string;
  /** Its number among the calls of this name on this path, from 1. */
  readonly nth: number;
  /** Whether it came before the server was ready. */
  readonly isDuringStart: boolean;
}

export interface InjectionTarget {
  readonly call: TracedCall;
  readonly fault: InjectedFault;
  /** The number of the call in its thread, as strace counts. */
  readonly callNumber: number;
}

export type TraceMode = InjectionTarget | "record" | "delay";

export const isSync = ({ name }: Pick<TracedCall, "name">): boolean => SYNC_CALLS.includes(name);

export const describeCall = ({ name, path, nth }: TracedCall): string => `${name} ${path} #${nth}`;

/** The faults that are possible for a call: only a write can be short. */
export const faultsFor = ({ name }: TracedCall): readonly InjectedFault[] =>
  INJECTED_FAULTS.filter((fault) => fault !== "short" || /^p?write/.test(name));

/** Number of threads that run syncs. */
const SYNC_THREADS = 2;

/**
 * The per-thread numbers that can make this call the first one hit. The threads share the earlier
 * syncs in any way, and none of them may have reached that number.
 */
export function callNumbersFor(call: TracedCall): readonly number[] {
  if (!isSync(call)) return [call.nth];
  const lowest = Math.ceil((call.nth - 1) / SYNC_THREADS) + 1;
  return Array.from({ length: call.nth - lowest + 1 }, (_, offset) => lowest + offset);
}

/**
 * The strace command line to put in front of the traced command; all paths must be real paths.
 * Syncs are counted in all child processes too, so the log must show when a child runs `program`.
 */
export function straceCommand(
  folder: string,
  log: string,
  mode: TraceMode,
  program: string,
): string[] {
  const common = ["strace", "-f", "-q", "-y", "-s", "16", "-o", log];
  if (mode === "record") {
    return [
      ...common,
      "-e",
      `trace=execve,${PERSISTENCE_CALLS.map((name) => `?${name}`).join(",")}`,
    ];
  }
  if (mode === "delay") {
    const delayed = `${SYNC_CALLS.join(",")}:delay_enter=${SYNC_DELAY_MS}ms`;
    return [...common, "-e", `trace=${SYNC_CALLS.join(",")}`, "-e", `inject=${delayed}`];
  }
  const { call, fault, callNumber } = mode;
  const injected = `${call.name}:${INJECT_OPTIONS[fault]}:when=${callNumber}`;
  const traced = [...new Set([...SYNC_CALLS, call.name, "execve"])];
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
  /** The persistence calls of the traced process, in order. */
  readonly calls: readonly TracedCall[];
  /** The first call that was made to fail; null: none was. */
  readonly injectedCall: TracedCall | null;
  /** Number of later syncs of the same file. */
  readonly laterSyncs: number;
}

/** What is needed to read a log. */
export interface TraceContext {
  readonly folder: string;
  readonly tracedProcess: "server" | "checkpoint";
  readonly mode: TraceMode;
}

/** Reads a log, without the calls of a checkpoint that a traced server started. */
export function readTrace(log: string, context: TraceContext): Trace {
  const { mode } = context;
  const entries = parseEntries(log, context);
  const counts = new Map<string, number>();
  const calls: TracedCall[] = [];
  let injectedCall: TracedCall | null = null;
  let laterSyncs = 0;
  for (const entry of entries) {
    const { name, path, isDuringStart } = entry;
    if (injectedCall !== null && SYNC_CALLS.includes(name) && path === injectedCall.path)
      laterSyncs += 1;
    const key = `${name} ${path}`;
    const nth = (counts.get(key) ?? 0) + 1;
    counts.set(key, nth);
    const call: TracedCall = { name, path, nth, isDuringStart };
    if (changesFiles(entry)) calls.push(call);
    if (injectedCall === null && typeof mode === "object" && isInjected(entry, mode))
      injectedCall = call;
  }
  return { calls, injectedCall, laterSyncs };
}

/** A call in which the process was killed has no result. */
const isInjected = ({ name, result }: LogEntry, { call, fault }: InjectionTarget): boolean =>
  name === call.name &&
  (fault === "kill" ? /^\??$/.test(result.trim()) : result.includes("(INJECTED)"));

const changesFiles = ({ name, text }: LogEntry): boolean =>
  !name.startsWith("open") || text.includes("O_CREAT");

const LINE = /^(\d+) +(.*)$/;
const CALL = /^(\w+)\((.*)$/;
const RESUMED = /^<\.\.\. \w+ resumed>(.*)$/;

/** Calls on paths in the folder, each with its result; empty: the call never returned. */
function parseEntries(log: string, { folder, tracedProcess }: TraceContext): LogEntry[] {
  const entries: LogEntry[] = [];
  const pending = new Map<string, LogEntry>();
  let isInCheckpoint = false;
  let isStarting = true;
  for (const line of log.split("\n")) {
    const [, thread = "", rest = ""] = LINE.exec(line) ?? [];
    const resumed = RESUMED.exec(rest)?.[1];
    const pendingEntry = pending.get(thread);
    if (resumed !== undefined && pendingEntry !== undefined)
      pendingEntry.result = parseResult(resumed);
    const [, name = "", text = ""] = CALL.exec(rest) ?? [];
    if (name === "execve" && text.includes('"checkpoint"'))
      isInCheckpoint = tracedProcess === "server";
    else if (rest.startsWith("--- SIGCHLD")) isInCheckpoint = false;
    else if (rest.startsWith(READY)) isStarting = false;
    const path = name === "" || name === "execve" ? null : parsePath(text, folder);
    if (path === null) continue;
    const entry: LogEntry = {
      name,
      path,
      text,
      isDuringStart: isStarting,
      result: parseResult(text),
    };
    if (!isInCheckpoint) entries.push(entry);
    pending.set(thread, entry);
  }
  return entries;
}

const parseResult = (text: string): string => /\) += (.*)$/.exec(text)?.[1] ?? "";

/** The first path of a call, by name or by descriptor; null: it is outside the data folder. */
function parsePath(text: string, folder: string): string | null {
  const quotedPath = /^(?:AT_FDCWD(?:<[^>]*>)?, )?"([^"]*)"/.exec(text)?.[1];
  const path = quotedPath ?? /^\d+<([^>]*)>/.exec(text)?.[1] ?? "";
  if (path === folder || path === `${folder}/`) return ".";
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : null;
}
