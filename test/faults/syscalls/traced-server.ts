// Starts a server under strace, or one whose checkpoint runs under strace, and sends calls to it.
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { buildMultiMachineBinary, MACHINE_VARIABLE } from "../../support/binary.ts";
import { PATIENCE } from "../../support/patience.ts";
import { atEnd } from "../../support/suite-harness.ts";
import type { AnswerBody } from "./site-facts.ts";
import type { ScenarioStep } from "./scenarios.ts";
import { isEventuallyTrue } from "../../support/wait-until.ts";

export interface StepReply {
  readonly status: number;
  /** The code of a refusal; empty if there is none. */
  readonly code: string;
  readonly body: AnswerBody;
  /** By `Date.now`. */
  readonly sentAt: number;
  readonly receivedAt: number;
}

export interface TracedServer {
  readonly pid: number;
  /** When it printed `ready`; null: it ended before. */
  readonly readyAt: number | null;
  /** Its exit code, or the signal that killed it. */
  readonly exited: Promise<string>;
  hasExited(): boolean;
  readStderr(): Promise<string>;
  /** Null: no answer, because the server has ended or did not answer in time. */
  send(step: ScenarioStep, timeout?: number): Promise<StepReply | null>;
  kill(signal: "SIGKILL" | "SIGTERM" | "SIGCONT"): void;
}

/**
 * UV_THREADPOOL_SIZE=1 gives two threads for syncs on any machine, the fewest that are possible.
 */
const ENVIRONMENT = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", UV_THREADPOOL_SIZE: "1" };

export const binary = realpathSync(buildMultiMachineBinary());
const running = new Set<TracedServer>();
atEnd(() => {
  for (const server of running) server.kill("SIGKILL");
});

/** `prefix`: a command to put in front; `program`: the path of the binary. */
export async function startServer(
  folder: string,
  prefix: readonly string[] = [],
  program = binary,
): Promise<TracedServer> {
  const child = Bun.spawn(
    [...prefix, program, "serve", "--data", folder, "--listen", "127.0.0.1:0"],
    {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      cwd: "/",
      // Several copies of one folder are served at the same time.
      env: { ...ENVIRONMENT, [MACHINE_VARIABLE]: folder },
    },
  );
  const stderrText = new Response(child.stderr).text();
  const exited = child.exited.then(() => String(child.signalCode ?? child.exitCode));
  const unreadyServer: TracedServer = {
    pid: child.pid,
    readyAt: null,
    exited,
    hasExited: () => child.exitCode !== null || child.signalCode !== null,
    readStderr: () => stderrText,
    send: async () => null,
    kill: (signal) => child.kill(signal),
  };
  running.add(unreadyServer);
  void exited.then(() => running.delete(unreadyServer));
  const startOutput = await waitUntilReady(child.stdout);
  const url = /http:\/\/[\d.]+:\d+/.exec(startOutput)?.[0];
  if (url === undefined) return unreadyServer;
  return {
    ...unreadyServer,
    readyAt: Date.now(),
    send: (step, timeout) => sendStep(url, step, timeout),
  };
}

async function waitUntilReady(stdout: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  const reader = stdout.getReader();
  let text = "";
  while (!/^ready$/m.test(text)) {
    const { done, value } = await reader.read();
    if (done) return "";
    text += decoder.decode(value, { stream: true });
  }
  reader.releaseLock();
  return text;
}

async function sendStep(
  url: string,
  step: ScenarioStep,
  timeout = PATIENCE,
): Promise<StepReply | null> {
  const { method, path, body, headers } = step;
  const sentAt = Date.now();
  try {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(method === "POST" && { body: JSON.stringify(body) }),
      // A new connection: on a reused one, fetch could send the request a second time.
      keepalive: false,
      signal: AbortSignal.timeout(timeout),
    });
    const text = await response.text();
    const receivedAt = Date.now();
    const parsed = /^[{[]/.test(text) ? (JSON.parse(text) as AnswerBody) : {};
    const code = response.ok ? "" : String(parsed["code"]);
    return { status: response.status, code, body: parsed, sentAt, receivedAt };
  } catch {
    return null;
  }
}

/** Reads a trace log, which is complete when it shows the end of the process. */
export async function readTraceLog(path: string, pid: number | null): Promise<string> {
  const exitLine = new RegExp(`^${pid} .*\\+\\+\\+ `, "m");
  if (pid !== null) await isEventuallyTrue(() => exitLine.test(readTextIfPresent(path)));
  return readTextIfPresent(path);
}

export const readTextIfPresent = (path: string): string =>
  existsSync(path) ? readFileSync(path, "utf8") : "";

const linkFolder = join(dirname(binary), `syscalls-${process.pid}`);
mkdirSync(linkFolder, { recursive: true });
atEnd(() => rmSync(linkFolder, { recursive: true, force: true }));
let linkCount = 0;

export interface WrappedCheckpoint {
  /** The path to start the server by. */
  readonly program: string;
  /** Replaces the program by a script that runs the first checkpoint under `prefix`. */
  wrap(prefix: readonly string[]): void;
  /** Whether that checkpoint has started. */
  hasStarted(): boolean;
  /** The checkpoint's exit code; null: it has not ended. */
  exitCode(): number | null;
  remove(): void;
}

/**
 * Runs a checkpoint, but not its server, under strace, which follows either all children of a
 * process or none. A server starts its checkpoint by the path of its own executable. This path is a
 * link to the binary, and a script can replace it while the server runs.
 */
export function wrapCheckpoint(workFolder: string): WrappedCheckpoint {
  linkCount += 1;
  const program = join(linkFolder, `berth-${linkCount}`);
  const [startedMarker, codeFile] = [join(workFolder, "started"), join(workFolder, "code")];
  linkSync(binary, program);
  return {
    program,
    wrap(prefix) {
      const script = [
        "#!/bin/sh",
        `mkdir ${startedMarker} 2>/dev/null || exec ${binary} "$@"`,
        `${prefix.join(" ")} ${binary} "$@"`,
        `ended=$?; echo $ended >${codeFile}.new; mv ${codeFile}.new ${codeFile}; exit $ended`,
      ];
      writeFileSync(`${program}.new`, `${script.join("\n")}\n`, { mode: 0o700 });
      renameSync(`${program}.new`, program);
    },
    hasStarted: () => existsSync(startedMarker),
    exitCode: () => (existsSync(codeFile) ? Number(readFileSync(codeFile, "utf8")) : null),
    remove: () => rmSync(program, { force: true }),
  };
}
