// Starts the commands of a runner so that none of their processes outlives it: not after Ctrl-C, not
// after SIGTERM, and not when a test leaves a process behind.
import { dlopen, FFIType } from "bun:ffi";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname } from "node:path";

/**
 * How `bun run test` runs the test files: in one process more than there are processors, because
 * some tests wait. The files of a process share the modules, which take long to load.
 */
export const TEST_COMMAND = [
  "test",
  `--parallel=${availableParallelism() + 1}`,
  "--no-isolate",
] as const;

const PR_SET_PDEATHSIG = 1;
const PR_SET_CHILD_SUBREAPER = 36;
const SIGTERM = 15;
const WNOHANG = 1;
/** How long a suite may clean up (unmount, stop a container) before it is killed. */
const CLEANUP_GRACE = 5_000;

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

const isLinux = process.platform === "linux";
/** Processes that Bun waits for, so that nothing else may. */
const started = new Set<number>();
let isStopping = false;

/**
 * Makes this process the one that is responsible for all that it starts. On Linux it adopts processes
 * whose parents have ended, and it is stopped when its own parent ends.
 */
export function superviseProcesses(): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => void endAfterSignal(EXIT_CODES[signal]));
  }
  if (!isLinux) return;
  const symbols = loadLibrary();
  symbols.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  symbols.prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  // An adopted process that ends would stay a zombie; a test may wait until it is gone.
  process.on("SIGCHLD", () => {
    for (const pid of childrenOf(process.pid)) {
      if (!started.has(pid) && !isAlive(pid)) symbols.waitpid(pid, null, WNOHANG);
    }
  });
}

/** The C library: glibc, or musl. */
function loadLibrary() {
  const { i32, u64, ptr } = FFIType;
  const functions = {
    prctl: { args: [i32, u64, u64, u64, u64], returns: i32 },
    waitpid: { args: [i32, ptr, i32], returns: i32 },
  } as const;
  try {
    return dlopen("libc.so.6", functions).symbols;
  } catch {
    const machine = process.arch === "arm64" ? "aarch64" : "x86_64";
    return dlopen(`libc.musl-${machine}.so.1`, functions).symbols;
  }
}

/** For each child that this process starts with `Bun.spawn`. */
export function keepTrackOf(child: Bun.Subprocess): void {
  started.add(child.pid);
  void child.exited.then(() => started.delete(child.pid));
}

async function endAfterSignal(code: number): Promise<void> {
  isStopping = true;
  await stopProcesses();
  process.exit(code);
}

/** Ends every process that this one has started, directly or through others. */
async function stopProcesses(): Promise<void> {
  const deadline = Bun.nanoseconds() + CLEANUP_GRACE * 1_000_000;
  const signaled = new Set<number>();
  for (let pids = findDescendants(); pids.length > 0; pids = findDescendants()) {
    // One that loses its parent right now may be found only in the next turn.
    signalAll(
      pids.filter((pid) => !signaled.has(pid)),
      "SIGTERM",
    );
    for (const pid of pids) signaled.add(pid);
    if (Bun.nanoseconds() > deadline) signalAll(pids, "SIGKILL");
    await Bun.sleep(50);
  }
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** The processes that run; without /proc, those that this process has started itself. */
function findDescendants(): number[] {
  if (!isLinux) return [...started];
  const found = childrenOf(process.pid);
  // The list grows while it is read.
  for (const pid of found) found.push(...childrenOf(pid));
  return found.filter(isAlive);
}

function childrenOf(pid: number): number[] {
  return listThreads(pid).flatMap((thread) =>
    readProc(`${pid}/task/${thread}/children`).split(" ").filter(Boolean).map(Number),
  );
}

function listThreads(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** A zombie has ended. The state follows the name, which may contain anything but ends with ")". */
const isAlive = (pid: number): boolean => /\) [^ZX][^)]*$/.test(readProc(`${pid}/stat`));

function readProc(name: string): string {
  try {
    return readFileSync(`/proc/${name}`, "utf8");
  } catch {
    return "";
  }
}

interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** A file for the output of both streams, in their order; without one, that of this process. */
  readonly log?: string;
}

export interface CommandRun {
  readonly code: number;
  readonly output: string;
  /** Wall time. */
  readonly seconds: number;
  /** Processor time of the command and of all processes that it has waited for. */
  readonly processorSeconds: number;
}

/** Runs `bun` with these arguments to its end. */
export async function runBun(
  args: readonly string[],
  { cwd, env, log }: RunOptions,
): Promise<CommandRun> {
  const begun = Bun.nanoseconds();
  if (log !== undefined) mkdirSync(dirname(log), { recursive: true });
  const output = log === undefined ? "inherit" : openSync(log, "w");
  const child = Bun.spawn([process.execPath, ...args], {
    cwd,
    stdio: ["ignore", output, output],
    ...(env !== undefined && { env: { ...process.env, ...env } }),
  });
  keepTrackOf(child);
  if (typeof output === "number") closeSync(output);
  const code = await child.exited;
  return {
    code,
    output: log === undefined ? "" : readFileSync(log, "utf8"),
    seconds: (Bun.nanoseconds() - begun) / 1e9,
    processorSeconds: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6,
  };
}

/** Runs `bun` with these arguments as the only work of this process, which ends with its exit code. */
export async function becomeBun(args: readonly string[], cwd: string): Promise<never> {
  superviseProcesses();
  const { code } = await runBun(args, { cwd });
  return endWith(code);
}

/** Ends this process, and those that its commands have left running. */
export async function endWith(code: number): Promise<never> {
  // After a signal, the process ends with another code.
  if (isStopping) await new Promise(() => {});
  await stopProcesses();
  return process.exit(code);
}
