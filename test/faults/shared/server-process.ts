// `berth serve` as a process group of its own: it can be killed alone, which leaves a checkpoint it
// had started behind as an orphan, or together with it.
import { buildBinary } from "../../support/binary.ts";
import { atEnd } from "../../support/suite-harness.ts";

export interface ServerProcess {
  readonly pid: number;
  readonly url: string;
  /** False when it ended without ever getting ready. */
  readonly ready: Promise<boolean>;
  /** How it ended: the exit code, or null after a signal; with what it had complained of. */
  readonly exited: Promise<{ readonly code: number | null; readonly stderr: string }>;
  hasExited(): boolean;
  /** SIGTERM: finish, fold, end. */
  terminate(): void;
  /** SIGKILL, sent before this returns. */
  kill(whom: "server" | "group"): void;
}

const binary = buildBinary();

/** Those that run, and the last one on each folder, whose checkpoint may outlive it. */
const running = new Set<ServerProcess>();
const newest = new Map<string, ServerProcess>();
atEnd(() => {
  for (const served of new Set([...running, ...newest.values()])) served.kill("group");
});

/**
 * Ports are fixed ones below those the kernel hands out: a client that tries a dead port of that
 * range again may be given the very same one for itself, and then talks to itself.
 */
export function startServer(folder: string, port: number): ServerProcess {
  const words = ["--listen", `127.0.0.1:${port}`, "--audit-budget", "0"];
  const child = Bun.spawn([binary, "serve", "--data", folder, ...words], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    env: {},
    detached: true,
  });
  const complaint = new Response(child.stderr).text();
  const ended = child.exited.then(async () => ({
    code: child.signalCode === null ? child.exitCode : null,
    stderr: await complaint,
  }));
  const served: ServerProcess = {
    pid: child.pid,
    url: `http://127.0.0.1:${port}`,
    ready: waitUntilReady(child.stdout),
    exited: ended,
    hasExited: () => child.exitCode !== null || child.signalCode !== null,
    terminate: () => child.kill("SIGTERM"),
    kill(whom) {
      if (whom === "server") child.kill("SIGKILL");
      else killGroup(child.pid);
    },
  };
  newest.set(folder, served);
  running.add(served);
  void ended.then(() => running.delete(served));
  return served;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nobody is left in it.
  }
}

/** Goes on reading after `ready`: a pipe nobody empties would stop the server one day. */
function waitUntilReady(stdout: ReadableStream<Uint8Array>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  void (async () => {
    const decoder = new TextDecoder();
    let text = "";
    for await (const part of stdout) {
      text += decoder.decode(part, { stream: true });
      if (/^ready$/m.test(text)) resolve(true);
    }
    resolve(false);
  })();
  return promise;
}

/** Consecutive ports that can be had now, below the kernel's own range. */
export function findFreePorts(count: number, random: () => number): number[] {
  for (let tries = 0; tries < 1_000; tries += 1) {
    const first = 20_000 + Math.floor(random() * (12_000 - count));
    const ports = Array.from({ length: count }, (_, index) => first + index);
    if (ports.every(isFree)) return ports;
  }
  throw new Error(`no ${count} free ports in a row below 32000`);
}

function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
    return true;
  } catch {
    return false;
  }
}
