// One server under strace, or one whose checkpoint is, and how to talk to it.
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
import { buildBinary } from "../../support/binary.ts";
import { PATIENCE } from "../../support/patience.ts";
import { atEnd } from "../../support/suite-harness.ts";
import type { AnswerBody } from "./site-facts.ts";
import type { ScenarioStep } from "./scenarios.ts";

export interface StepReply {
  readonly status: number;
  /** The refusal's; empty for none. */
  readonly code: string;
  readonly body: AnswerBody;
  /** By `Date.now`. */
  readonly sentAt: number;
  readonly receivedAt: number;
}

export interface TracedServer {
  readonly pid: number;
  /** When it said so; null: it ended without. */
  readonly readyAt: number | null;
  /** Its exit code, or the signal that ended it. */
  readonly exited: Promise<string>;
  hasExited(): boolean;
  readStderr(): Promise<string>;
  /** Null: no answer, because nobody is there any more or in good time. */
  send(step: ScenarioStep, patience?: number): Promise<StepReply | null>;
  kill(signal: "SIGKILL" | "SIGTERM" | "SIGCONT"): void;
}

/** Two threads for syncs on any machine, and no more: the fewest the runtime can be told. */
const ENVIRONMENT = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", UV_THREADPOOL_SIZE: "1" };

export const binary = realpathSync(buildBinary());
const running = new Set<TracedServer>();
atEnd(() => {
  for (const server of running) server.kill("SIGKILL");
});

/** `around` stands in front of the command line, which names a binary that may be another. */
export async function startServer(
  folder: string,
  around: readonly string[] = [],
  program = binary,
): Promise<TracedServer> {
  const child = Bun.spawn(
    [...around, program, "serve", "--data", folder, "--listen", "127.0.0.1:0"],
    {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      cwd: "/",
      // Copies of one folder are served at once.
      env: { ...ENVIRONMENT, BERTH_TEST_MACHINE: folder },
    },
  );
  const complaint = new Response(child.stderr).text();
  const ended = child.exited.then(() => String(child.signalCode ?? child.exitCode));
  const early: TracedServer = {
    pid: child.pid,
    readyAt: null,
    exited: ended,
    hasExited: () => child.exitCode !== null || child.signalCode !== null,
    readStderr: () => complaint,
    send: async () => null,
    kill: (signal) => child.kill(signal),
  };
  running.add(early);
  void ended.then(() => running.delete(early));
  const banner = await waitUntilReady(child.stdout);
  const url = /http:\/\/[\d.]+:\d+/.exec(banner)?.[0];
  if (url === undefined) return early;
  return { ...early, readyAt: Date.now(), send: (step, patience) => ask(url, step, patience) };
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

async function ask(
  url: string,
  step: ScenarioStep,
  patience = PATIENCE,
): Promise<StepReply | null> {
  const { method, path, body, headers } = step;
  const sent = Date.now();
  try {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(method === "POST" && { body: JSON.stringify(body) }),
      // A connection of its own: on one that was kept, a request could be sent a second time.
      keepalive: false,
      signal: AbortSignal.timeout(patience),
    });
    const text = await response.text();
    const got = Date.now();
    const parsed = /^[{[]/.test(text) ? (JSON.parse(text) as AnswerBody) : {};
    const code = response.ok ? "" : String(parsed["code"]);
    return { status: response.status, code, body: parsed, sentAt: sent, receivedAt: got };
  } catch {
    return null;
  }
}

/** Asks again and again whether something is so; false when it took too long. */
export async function waitUntil(
  isSo: () => boolean | Promise<boolean>,
  patience = PATIENCE,
  step = 10,
): Promise<boolean> {
  const deadline = Date.now() + patience;
  while (!(await isSo())) {
    if (Date.now() > deadline) return false;
    await Bun.sleep(step);
  }
  return true;
}

/** What a log says; it is whole when it tells how the process ended. */
export async function readTraceLog(path: string, pid: number | null): Promise<string> {
  const end = new RegExp(`^${pid} .*\\+\\+\\+ `, "m");
  if (pid !== null) await waitUntil(() => end.test(readTextIfPresent(path)));
  return readTextIfPresent(path);
}

export const readTextIfPresent = (path: string): string =>
  existsSync(path) ? readFileSync(path, "utf8") : "";

const links = join(dirname(binary), `syscalls-${process.pid}`);
mkdirSync(links, { recursive: true });
atEnd(() => rmSync(links, { recursive: true, force: true }));
let linked = 0;

export interface WrappedCheckpoint {
  /** Where to start the server. */
  readonly program: string;
  /** From now on what it starts is a script: its first checkpoint runs behind `around`. */
  wrap(around: readonly string[]): void;
  /** Whether that checkpoint was started. */
  hasStarted(): boolean;
  /** Its exit code; null while there is none. */
  exitCode(): number | null;
  remove(): void;
}

/**
 * A server starts its checkpoint by the path of its own executable. Under that path, another name
 * for the binary, a script can take its place while the server runs: strace follows processes
 * either with all of their children or with none, and this way it follows only the child.
 */
export function wrapCheckpoint(home: string): WrappedCheckpoint {
  linked += 1;
  const program = join(links, `berth-${linked}`);
  const [once, code] = [join(home, "once"), join(home, "code")];
  linkSync(binary, program);
  return {
    program,
    wrap(around) {
      const script = [
        "#!/bin/sh",
        `mkdir ${once} 2>/dev/null || exec ${binary} "$@"`,
        `${around.join(" ")} ${binary} "$@"`,
        `ended=$?; echo $ended >${code}.new; mv ${code}.new ${code}; exit $ended`,
      ];
      writeFileSync(`${program}.new`, `${script.join("\n")}\n`, { mode: 0o700 });
      renameSync(`${program}.new`, program);
    },
    hasStarted: () => existsSync(once),
    exitCode: () => (existsSync(code) ? Number(readFileSync(code, "utf8")) : null),
    remove: () => rmSync(program, { force: true }),
  };
}
