// Runs commands as separate processes with their own environment.
import { onTestFinished } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildBinary } from "./binary.ts";

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const MAIN = join(import.meta.dir, "..", "..", "src", "main.ts");

export interface ProcessOptions {
  /** Runs the sources instead of the executable, which starts seven times faster. */
  readonly fromSources?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Its standard input; absent: none. */
  readonly stdin?: string;
}

const spawn = (
  args: readonly string[],
  { env = {}, cwd = tmpdir(), fromSources = false, stdin }: ProcessOptions,
) =>
  Bun.spawn([...(fromSources ? [process.execPath, MAIN] : [buildBinary()]), ...args], {
    stdin: stdin === undefined ? "ignore" : Buffer.from(stdin),
    stdout: "pipe",
    stderr: "pipe",
    cwd,
    env: { PATH: process.env["PATH"] ?? "", HOME: tmpdir(), TMPDIR: tmpdir(), ...env },
  });

/** Runs one command to its end. */
export async function runBerth(
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<CommandResult> {
  const child = spawn(args, options);
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ]);
  return { code, stdout, stderr };
}

/** Runs a command that must succeed and returns its output. */
export async function runOrThrow(
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await runBerth(args, options);
  if (code !== 0) throw new Error(`exit ${code}: ${stderr}${stdout}`);
  return stdout;
}

/** The exit code, and everything that was on the screen. */
export interface TerminalResult {
  readonly code: number;
  readonly text: string;
}

/** Runs one command on a new terminal. */
export async function runOnTerminal(
  args: readonly string[],
  onText: (text: string, terminal: Bun.Terminal) => void = () => {},
): Promise<TerminalResult> {
  let text = "";
  const decoder = new TextDecoder();
  const closed = Promise.withResolvers<void>();
  const child = Bun.spawn([buildBinary(), ...args], {
    cwd: tmpdir(),
    env: { PATH: process.env["PATH"] ?? "", HOME: tmpdir(), TMPDIR: tmpdir() },
    terminal: {
      data(terminal, part) {
        text += decoder.decode(part, { stream: true });
        onText(text, terminal);
      },
      exit: () => closed.resolve(),
    },
  });
  const code = await child.exited;
  await closed.promise;
  return { code, text };
}

/** Runs a command and answers its [y/N] question; null closes the terminal instead. */
export const runWithAnswer = (
  args: readonly string[],
  answer: string | null,
): Promise<TerminalResult> => runWithAnswers(args, [["[y/N]", answer]]);

/** Runs a command and answers each question, followed by Enter, as soon as it is on the screen. */
export function runWithAnswers(
  args: readonly string[],
  answers: readonly (readonly [question: string, answer: string | null])[],
): Promise<TerminalResult> {
  let [answerCount, readUpTo] = [0, 0];
  return runOnTerminal(args, (text, terminal) => {
    const next = answers[answerCount];
    if (next === undefined) return;
    const [question, answer] = next;
    const at = text.indexOf(question, readUpTo);
    if (at < 0) return;
    answerCount += 1;
    readUpTo = at + question.length;
    if (answer === null) terminal.close();
    else terminal.write(`${answer}\r`);
  });
}

export const runJsonOrThrow = async <T>(
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<T> => JSON.parse(await runOrThrow([...args, "--json"], options)) as T;

export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  /** Its standard output until `ready`. */
  readonly banner: string;
  /** Sends a signal; returns the exit code and standard error. */
  stop(signal?: "SIGTERM" | "SIGINT"): Promise<{ readonly code: number; readonly stderr: string }>;
  post(operation: string, fields: object): Promise<Response>;
}

/** Starts a server and waits until it is `ready`; it is killed after the test. */
export async function startServer(
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<RunningServer> {
  // A demo that is killed leaves its temporary folder behind, so it is created in this one.
  const scratch = mkdtempSync(join(tmpdir(), "berth-scratch-"));
  const env = { TMPDIR: scratch, ...options.env };
  const child = spawn([...args, "--listen", "127.0.0.1:0"], { ...options, env });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await child.exited;
    rmSync(scratch, { recursive: true, force: true });
  });
  const stderr = child.stderr.text();
  let banner = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    banner += decoder.decode(chunk, { stream: true });
    if (/^ready$/m.test(banner)) break;
  }
  const url = /http:\/\/[\d.]+:\d+/.exec(banner)?.[0];
  if (url === undefined) throw new Error(`the server did not start: ${banner}${await stderr}`);
  return {
    url,
    pid: child.pid,
    banner,
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      return { code: await child.exited, stderr: await stderr };
    },
    post: (operation, fields) =>
      fetch(`${url}/api/v4/${operation}`, {
        method: "POST",
        body: JSON.stringify(fields),
        headers: { "content-type": "application/json" },
      }),
  };
}
