import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "./temp-folder.ts";
import { waitUntil } from "./wait-until.ts";

const PROCESSES = join(import.meta.dir, "processes.ts");

/** Processes that left their session, and whose parent has ended. */
const PROCESS_TREE = `
  setsid sh -c 'echo $$ > session; exec sleep 10000' &
  (sh -c 'echo $$ > orphan; exec sleep 10000' &)
  wait`;

/** The same, with a process that ignores SIGTERM. */
const STUBBORN_TREE = `
  sh -c 'trap "" TERM; echo $$ > stubborn; while :; do sleep 0.1; done' &
  ${PROCESS_TREE}`;

/** A test that waits for a shell without its event loop, so that it handles no signal. */
const blockedTest = (shell: string): string => `
  import { test } from "bun:test";
  test("it waits", () => void Bun.spawnSync(["sh", "-c", ${JSON.stringify(shell)}]));`;

const isRunning = (pid: string): boolean =>
  existsSync(`/proc/${pid}/stat`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));

/** Runs a script that starts commands with processes.ts, in a folder with a blocked test. */
function startRunner(script: string, shell = PROCESS_TREE, command = [process.execPath, "run.ts"]) {
  const folder = tempFolder();
  writeFileSync(join(folder, "blocked.test.ts"), blockedTest(shell));
  const imports = `import { becomeBun } from ${JSON.stringify(PROCESSES)};`;
  writeFileSync(join(folder, "run.ts"), `${imports}\n${script}`);
  // A process group of its own, as that of a terminal's foreground job.
  const runner = Bun.spawn(command, {
    cwd: folder,
    stdio: ["ignore", "ignore", "ignore"],
    detached: true,
  });
  const pidsOf = (names: readonly string[]): string[] =>
    names.map((name) => readFileSync(join(folder, name), "utf8").trim());
  const started = async (names: readonly string[]): Promise<string[]> => {
    await waitUntil(() =>
      names.every((name) => readdirSync(folder).includes(name) && pidsOf([name])[0] !== ""),
    );
    return pidsOf(names);
  };
  return { runner, started };
}

const RUN_TEST = `await becomeBun(["test", "--parallel", "./blocked.test.ts"], ".");`;

describe.skipIf(process.platform !== "linux")("a runner of tests leaves no process behind", () => {
  test("after SIGTERM to itself alone", async () => {
    const { runner, started } = startRunner(RUN_TEST);
    const pids = await started(["session", "orphan"]);
    expect(pids.filter(isRunning)).toEqual(pids);
    runner.kill("SIGTERM");
    expect(await runner.exited).toBe(143);
    expect(pids.filter(isRunning)).toEqual([]);
  });

  test("after Ctrl+C, also if one of them ignores SIGTERM", async () => {
    const { runner, started } = startRunner(RUN_TEST, STUBBORN_TREE);
    const pids = await started(["stubborn", "session", "orphan"]);
    process.kill(-runner.pid, "SIGINT");
    expect(await runner.exited).toBe(130);
    expect(pids.filter(isRunning)).toEqual([]);
  });

  test("after its parent was killed", async () => {
    const shell = `"${process.execPath}" run.ts & wait`;
    const { runner, started } = startRunner(RUN_TEST, PROCESS_TREE, ["sh", "-c", shell]);
    const pids = await started(["session", "orphan"]);
    runner.kill("SIGKILL");
    await waitUntil(() => !pids.some(isRunning));
  });

  test("after a command that ended and left some", async () => {
    const shell = `(sh -c 'echo $$ > orphan; exec sleep 10000' >/dev/null 2>&1 &)
      while [ ! -s orphan ]; do sleep 0.01; done`;
    const script = `Bun.spawnSync(["sh", "-c", ${JSON.stringify(shell)}])`;
    const { runner, started } = startRunner(
      `await becomeBun(["-e", ${JSON.stringify(script)}], ".");`,
    );
    const pids = await started(["orphan"]);
    expect(await runner.exited).toBe(0);
    expect(pids.filter(isRunning)).toEqual([]);
  });
});

test("the processor time of a command counts processes that its processes started", async () => {
  const busy =
    "let n = 0; const end = process.cpuUsage().user + 300_000;\
    while (process.cpuUsage().user < end) n += 1;";
  const nested = `Bun.spawnSync([process.execPath, "-e", ${JSON.stringify(busy)}])`;
  const outer = `Bun.spawnSync([process.execPath, "-e", ${JSON.stringify(nested)}])`;
  const { runBun } = await import("./processes.ts");
  const run = await runBun(["-e", outer], { cwd: tempFolder() });
  expect(run.code).toBe(0);
  expect(run.processorSeconds).toBeGreaterThan(0.3);
});
