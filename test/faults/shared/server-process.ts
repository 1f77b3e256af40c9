// `berth serve` in its own process group. It can be killed alone, which orphans a checkpoint that
// it had started, or together with the checkpoint.
import { buildBinary } from "../../support/binary.ts";
import { atEnd } from "../../support/suite-harness.ts";

export interface ServerProcess {
  readonly pid: number;
  readonly folder: string;
  readonly url: string;
  /** False if the server ended before it was ready. */
  readonly ready: Promise<boolean>;
  /** The exit code, or null after a signal, and the error output. */
  readonly exited: Promise<{ readonly code: number | null; readonly stderr: string }>;
  hasExited(): boolean;
  /** Sends SIGTERM: the server finishes its calls, makes a checkpoint and ends. */
  terminate(): void;
  /** Sends SIGKILL before it returns. */
  kill(target: "server" | "group"): void;
}

const binary = buildBinary();

/** Running servers, and the last server of each folder, whose checkpoint may outlive it. */
const running = new Set<ServerProcess>();
const latestByFolder = new Map<string, ServerProcess>();
atEnd(() => {
  for (const server of new Set([...running, ...latestByFolder.values()])) server.kill("group");
});

/**
 * `port` must be below the kernel's ephemeral range. A client that retries an unused port of that
 * range may get the same port as its own source port, and then connects to itself.
 */
export function startServer(
  folder: string,
  port: number,
  moreFlags: readonly string[] = [],
): ServerProcess {
  const flags = ["--listen", `127.0.0.1:${port}`, "--audit-budget", "0", ...moreFlags];
  const child = Bun.spawn([binary, "serve", "--data", folder, ...flags], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    env: {},
    detached: true,
  });
  const stderrText = new Response(child.stderr).text();
  const exited = child.exited.then(async () => ({
    code: child.signalCode === null ? child.exitCode : null,
    stderr: await stderrText,
  }));
  const server: ServerProcess = {
    pid: child.pid,
    folder,
    url: `http://127.0.0.1:${port}`,
    ready: waitUntilReady(child.stdout),
    exited,
    hasExited: () => child.exitCode !== null || child.signalCode !== null,
    terminate: () => child.kill("SIGTERM"),
    kill(target) {
      if (target === "server") child.kill("SIGKILL");
      else killGroup(child.pid);
    },
  };
  latestByFolder.set(folder, server);
  running.add(server);
  void exited.then(() => running.delete(server));
  return server;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // All processes of the group have ended.
  }
}

/** Continues to read after `ready`: a full pipe would block the server. */
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
