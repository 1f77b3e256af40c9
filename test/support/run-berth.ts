// The command line as a process of its own, with an environment of its own.
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
  /** Not the executable, which starts in a seventh of the time, but what it is made of. */
  readonly fromSources?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** What stands on its standard input; left out: nothing. */
  readonly stdin?: string;
}

const spawn = (
  words: readonly string[],
  { env = {}, cwd = tmpdir(), fromSources = false, stdin }: ProcessOptions,
) =>
  Bun.spawn([...(fromSources ? [process.execPath, MAIN] : [buildBinary()]), ...words], {
    stdin: stdin === undefined ? "ignore" : Buffer.from(stdin),
    stdout: "pipe",
    stderr: "pipe",
    cwd,
    env: { PATH: process.env["PATH"] ?? "", HOME: tmpdir(), TMPDIR: tmpdir(), ...env },
  });

/** Runs one command to its end. */
export async function runBerth(
  words: readonly string[],
  around: ProcessOptions = {},
): Promise<CommandResult> {
  const child = spawn(words, around);
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ]);
  return { code, stdout, stderr };
}

/** A command that is meant to be done; what it printed. */
export async function runOrThrow(
  words: readonly string[],
  around: ProcessOptions = {},
): Promise<string> {
  const said = await runBerth(words, around);
  if (said.code !== 0) throw new Error(`exit ${said.code}: ${said.stderr}${said.stdout}`);
  return said.stdout;
}

/** What stood on the screen at the end, and how it ended. */
export interface TerminalResult {
  readonly code: number;
  readonly text: string;
}

/** Runs one command on a terminal of its own. */
export async function runOnTerminal(
  words: readonly string[],
  read: (text: string, terminal: Bun.Terminal) => void = () => {},
): Promise<TerminalResult> {
  let text = "";
  const decoder = new TextDecoder();
  let closed = (): void => {};
  const whole = new Promise<void>((resolve) => (closed = resolve));
  const child = Bun.spawn([buildBinary(), ...words], {
    cwd: tmpdir(),
    env: { PATH: process.env["PATH"] ?? "", HOME: tmpdir(), TMPDIR: tmpdir() },
    terminal: {
      data(terminal, part) {
        text += decoder.decode(part, { stream: true });
        read(text, terminal);
      },
      exit: () => closed(),
    },
  });
  const code = await child.exited;
  await whole;
  return { code, text };
}

/** The same with an answer to its question; null closes the terminal instead. */
export const runWithAnswer = (
  words: readonly string[],
  answer: string | null,
): Promise<TerminalResult> => runWithAnswers(words, [["[y/N]", answer]]);

/** The same with several questions, each answered with an Enter as soon as it is on the screen. */
export function runWithAnswers(
  words: readonly string[],
  answers: readonly (readonly [question: string, answer: string | null])[],
): Promise<TerminalResult> {
  let [answered, readUpTo] = [0, 0];
  return runOnTerminal(words, (text, terminal) => {
    const next = answers[answered];
    if (next === undefined) return;
    const [question, answer] = next;
    const at = text.indexOf(question, readUpTo);
    if (at < 0) return;
    answered += 1;
    readUpTo = at + question.length;
    if (answer === null) terminal.close();
    else terminal.write(`${answer}\r`);
  });
}

export const runJsonOrThrow = async <T>(
  words: readonly string[],
  around: ProcessOptions = {},
): Promise<T> => JSON.parse(await runOrThrow([...words, "--json"], around)) as T;

export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  /** All it printed until it was ready. */
  readonly banner: string;
  /** Tells it to stop; how it ended and what it complained of. */
  stop(signal?: "SIGTERM" | "SIGINT"): Promise<{ readonly code: number; readonly stderr: string }>;
  post(operation: string, fields: object): Promise<Response>;
}

/** Starts a server and waits until it is `ready`; it is gone with the end of the test at the latest. */
export async function startServer(
  words: readonly string[],
  around: ProcessOptions = {},
): Promise<RunningServer> {
  // A demo that is killed leaves its temporary folder behind: it goes with this one.
  const scratch = mkdtempSync(join(tmpdir(), "berth-scratch-"));
  const env = { TMPDIR: scratch, ...around.env };
  const child = spawn([...words, "--listen", "127.0.0.1:0"], { ...around, env });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await child.exited;
    rmSync(scratch, { recursive: true, force: true });
  });
  const complaints = child.stderr.text();
  let banner = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    banner += decoder.decode(chunk, { stream: true });
    if (/^ready$/m.test(banner)) break;
  }
  const url = /http:\/\/[\d.]+:\d+/.exec(banner)?.[0];
  if (url === undefined) throw new Error(`it is not ready: ${banner}${await complaints}`);
  return {
    url,
    pid: child.pid,
    banner,
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      return { code: await child.exited, stderr: await complaints };
    },
    post: (operation, fields) =>
      fetch(`${url}/api/v4/${operation}`, {
        method: "POST",
        body: JSON.stringify(fields),
        headers: { "content-type": "application/json" },
      }),
  };
}
