// Runs commands: in this process, through the same function as the executable, or as processes.
// A command in this process takes about 2 ms, the executable 70 ms.
import { onTestFinished } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../../src/cli/frame/cli.ts";
import type { Terminal } from "../../src/cli/frame/process-terminal.ts";
import { withTerminal } from "../../src/cli/frame/terminal.ts";
import { buildBinary, startChildrenWithExecutable } from "./binary.ts";
import type { AtEnd } from "./temp-folder.ts";

startChildrenWithExecutable();

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Its standard input; absent: none. */
  readonly stdin?: string;
  /** The working folder, which the whole process has: no other command may run meanwhile. */
  readonly cwd?: string;
  /** Of a command in this process: the system that it is on; absent: the real one. */
  readonly platform?: NodeJS.Platform;
}

const environmentOf = ({ env = {} }: CommandOptions): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: tmpdir(),
  TMPDIR: tmpdir(),
  ...env,
});

/** Runs one command in this process to its end. */
export async function runBerth(
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const input = Buffer.from(options.stdin ?? "");
  const output = { stdout: "", stderr: "" };
  let readUpTo = 0;
  const terminal: Terminal = {
    isTerminal: () => false,
    columns: 80,
    write: (stream, text) => void (output[stream] += text),
    read(bytes, offset) {
      const length = input.copy(bytes, offset, readUpTo);
      readUpTo += length;
      return length;
    },
    readLine: () => Promise.resolve(null),
  };
  const code = await runOn(terminal, args, options);
  return { code, ...output };
}

async function runOn(
  terminal: Terminal,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const folder = process.cwd();
  if (options.cwd !== undefined) process.chdir(options.cwd);
  try {
    return await withTerminal(terminal, () =>
      run(args, environmentOf(options), options.platform ?? process.platform),
    );
  } finally {
    if (options.cwd !== undefined) process.chdir(folder);
  }
}

/** Runs a command that must succeed and returns its output. */
export async function runOrThrow(
  args: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  return outputOf(await runBerth(args, options));
}

/** The output of a command that must have succeeded. */
function outputOf({ code, stdout, stderr }: CommandResult): string {
  if (code !== 0) throw new Error(`exit ${code}: ${stderr}${stdout}`);
  return stdout;
}

export const runJsonOrThrow = async <T>(
  args: readonly string[],
  options: CommandOptions = {},
): Promise<T> => JSON.parse(await runOrThrow([...args, "--json"], options)) as T;

/** The exit code, and everything that was on the screen. */
export interface TerminalResult {
  readonly code: number;
  readonly text: string;
}

/** Runs a command and answers its [y/N] question; null closes the terminal instead. */
export const runWithAnswer = (
  args: readonly string[],
  answer: string | null,
): Promise<TerminalResult> => runWithAnswers(args, [["[y/N]", answer]]);

/** Runs a command in this process on a terminal where somebody types these answers, in order. */
export async function runWithAnswers(
  args: readonly string[],
  answers: readonly (readonly [question: string, answer: string | null])[],
): Promise<TerminalResult> {
  let [answerCount, readUpTo, text] = [0, 0, ""];
  const terminal: Terminal = {
    isTerminal: () => true,
    columns: 80,
    write: (_stream, part) => void (text += part),
    read: () => 0,
    async readLine(echo, prompt = "") {
      text += prompt;
      const [question, answer] = answers[answerCount] ?? [];
      answerCount += 1;
      if (question === undefined || answer === undefined || !text.includes(question, readUpTo)) {
        throw new Error(`no answer for the question at the end of: ${text}`);
      }
      text += echo === "shown" ? `${answer ?? ""}\n` : "\n";
      readUpTo = text.length;
      return answer;
    },
  };
  const code = await runOn(terminal, args, {});
  return { code, text };
}

const spawn = (args: readonly string[], options: CommandOptions) =>
  Bun.spawn([buildBinary(), ...args], {
    stdin: options.stdin === undefined ? "ignore" : Buffer.from(options.stdin),
    stdout: "pipe",
    stderr: "pipe",
    cwd: options.cwd ?? tmpdir(),
    env: environmentOf(options),
  });

/** Runs one command of the executable to its end: for what a process has and a function has not. */
export async function runProcess(
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const child = spawn(args, options);
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ]);
  return { code, stdout, stderr };
}

/** Runs the executable on a new terminal. */
export async function runOnTerminal(
  args: readonly string[],
  onText: (text: string, terminal: Bun.Terminal) => void = () => {},
): Promise<TerminalResult> {
  let text = "";
  const decoder = new TextDecoder();
  const closed = Promise.withResolvers<void>();
  const child = Bun.spawn([buildBinary(), ...args], {
    cwd: tmpdir(),
    env: environmentOf({}),
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

/** The same; answers each question, followed by Enter, as soon as it is on the screen. */
export function runOnTerminalWithAnswers(
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

export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  /** Its standard output until `ready`. */
  readonly banner: string;
  /** Sends a signal; returns the exit code and standard error. */
  stop(signal?: "SIGTERM" | "SIGINT"): Promise<{ readonly code: number; readonly stderr: string }>;
  post(operation: string, fields: object): Promise<Response>;
}

/** Starts a server and waits until it is `ready`; it is killed after the test, or as `atEnd` says. */
export async function startServer(
  args: readonly string[],
  options: CommandOptions = {},
  atEnd: AtEnd = onTestFinished,
): Promise<RunningServer> {
  // A demo that is killed leaves its temporary folder behind, so it is created in this one.
  const scratch = mkdtempSync(join(tmpdir(), "berth-scratch-"));
  const env = { TMPDIR: scratch, ...options.env };
  const child = spawn([...args, "--listen", "127.0.0.1:0"], { ...options, env });
  atEnd(async () => {
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
