// The program of on_event, as real processes: also programs that behave badly.
import { describe, expect, test } from "bun:test";
import { chmodSync, closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram, type ProgramOptions } from "../../../src/platform/system/run-program.ts";
import { isRunning } from "../../../src/platform/system/processes.ts";
import { PATIENCE } from "../../support/patience.ts";
import { tempFolder } from "../../support/temp-folder.ts";
import { isEventuallyTrue, waitUntil } from "../../support/wait-until.ts";

const run = (command: readonly string[], options: Partial<ProgramOptions> = {}) =>
  runProgram({
    command,
    input: '{"event":"test"}\n',
    environment: { PATH: "/usr/bin:/bin", EVENT: "test" },
    timeoutMs: PATIENCE,
    signal: new AbortController().signal,
    ...options,
  });

const shell = (script: string, options: Partial<ProgramOptions> = {}) =>
  run(["/bin/sh", "-c", script], options);

/** The process that a script wrote to a file. */
async function readPid(path: string): Promise<number> {
  await waitUntil(() => existsSync(path) && readFileSync(path, "utf8").endsWith("\n"));
  return Number(readFileSync(path, "utf8"));
}

describe.skipIf(process.platform === "win32")("a program that is run for an event", () => {
  test("gets the input, the arguments as they are, and only the given variables", async () => {
    const script = 'cat; printf "%s|" "$@"; echo; env | sort; pwd';
    const { exitCode, failure, output } = await run(
      ["/bin/sh", "-c", script, "name"].concat(["a b", "$(id)", "", "*"]),
    );
    expect([exitCode, failure]).toEqual([0, null]);
    expect(output.split("\n")).toEqual([
      '{"event":"test"}',
      "a b|$(id)||*|",
      "EVENT=test",
      "PATH=/usr/bin:/bin",
      "PWD=/",
      "/",
      "",
    ]);
  });

  test.skipIf(process.platform !== "linux")("inherits no open file of this process", async () => {
    const secret = join(tempFolder(), "secret");
    const file = openSync(secret, "w");
    const { output } = await shell("for fd in /proc/self/fd/*; do readlink $fd; done; exit 0");
    expect(output).not.toBe("");
    expect(output).not.toContain(secret);
    closeSync(file);
  });

  test.skipIf(process.platform !== "linux")(
    "is killed before the server if memory runs out",
    async () => {
      const own = Number(readFileSync("/proc/self/oom_score_adj", "utf8"));
      // The score is raised after the start: the program waits for it.
      const script = `until [ "$(cat /proc/$$/oom_score_adj)" -gt ${own} ]; do sleep 0.01; done; echo raised`;
      expect((await shell(script)).output).toBe("raised\n");
    },
  );

  test("fails with its exit code, and its output says why", async () => {
    const outcome = await shell("echo out; echo err >&2; exit 3");
    expect(outcome).toMatchObject({ exitCode: 3, failure: "it exited with code 3" });
    expect(outcome.output.split("\n").toSorted()).toEqual(["", "err", "out"]);
  });

  test("fails if a signal ends it", async () => {
    expect(await shell("kill -SEGV $$")).toMatchObject({
      exitCode: null,
      failure: "it was ended by SIGSEGV",
    });
  });

  test("may exit without reading a large input", async () => {
    const input = "x".repeat(1_000_000);
    expect(await shell("exit 0", { input })).toMatchObject({ exitCode: 0, failure: null });
  });

  test.each([
    ["does not exist", null, "it cannot be started: the file does not exist (ENOENT)"],
    [
      "is not executable",
      0o644,
      "it cannot be started: the user of the server may not execute it (EACCES)",
    ],
    [
      "is no program",
      0o755,
      "it cannot be started: it is no program, and its first line does not name one (ENOEXEC)",
    ],
  ])("that %s is reported", async (_, mode, failure) => {
    const path = join(tempFolder(), "program");
    if (mode !== null) {
      writeFileSync(path, "no program\n");
      chmodSync(path, mode);
    }
    expect(await run([path])).toMatchObject({ exitCode: null, failure, output: "" });
  });

  test("is killed at the time limit, although it ignores SIGTERM", async () => {
    const path = join(tempFolder(), "pid");
    const script = `trap '' TERM INT HUP; echo $$ > ${path}; while :; do sleep 3600; done`;
    const outcome = await shell(script, { timeoutMs: 500 });
    expect(outcome).toMatchObject({
      exitCode: null,
      failure: "it did not end within 0.5 seconds and was killed",
    });
    expect(isRunning(await readPid(path))).toBe(false);
  });

  test("is killed together with the processes that it started", async () => {
    const path = join(tempFolder(), "pid");
    const ended = shell(`sleep 3600 & echo $! > ${path}; wait`, { timeoutMs: 500 });
    const child = await readPid(path);
    expect((await ended).failure).toContain("was killed");
    expect(await isEventuallyTrue(() => !isRunning(child))).toBe(true);
  });

  test("leaves no process of its group when it exits", async () => {
    const path = join(tempFolder(), "pid");
    const { exitCode } = await shell(`sleep 3600 & echo $! > ${path}`);
    expect(exitCode).toBe(0);
    const child = await readPid(path);
    expect(await isEventuallyTrue(() => !isRunning(child))).toBe(true);
  });

  test("is killed when the signal aborts", async () => {
    const stopping = new AbortController();
    const path = join(tempFolder(), "pid");
    const ended = shell(`echo $$ > ${path}; sleep 3600`, { signal: stopping.signal });
    const pid = await readPid(path);
    expect(isRunning(pid)).toBe(true);
    stopping.abort();
    expect((await ended).failure).toBe("it was killed: the server is stopping");
    expect(isRunning(pid)).toBe(false);
    const afterwards = await shell("exit 0", { signal: stopping.signal });
    expect(afterwards.failure).toBe("it was not started: the server is stopping");
  });

  test("cannot fill the memory with its output: it is read up to 64 KiB", async () => {
    const { output, failure } = await shell("exec yes 0123456789abcdef");
    expect(output.length).toBe(64 * 1024);
    // Its next write to the closed pipe fails.
    expect(failure).not.toBeNull();
  });

  test("does not hold up this process with a pipe that a process outside its group keeps", async () => {
    const path = join(tempFolder(), "pid");
    const { exitCode, output } = await shell(
      `echo before; setsid sh -c 'echo $$ > ${path}; exec sleep 3600' & while [ ! -s ${path} ]; do sleep 0.01; done`,
    );
    expect([exitCode, output]).toEqual([0, "before\n"]);
    process.kill(await readPid(path), "SIGKILL");
  });
});
