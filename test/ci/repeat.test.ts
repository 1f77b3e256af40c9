import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { waitUntil } from "../support/wait-until.ts";
import { makeFolder } from "./temp-repository.ts";

const SCRIPT = join(import.meta.dir, "repeat.ts");

/** Fails in its second run. */
const FLAKY = `
  import { expect, test } from "bun:test";
  import { appendFileSync, statSync } from "node:fs";
  test("it is sometimes too slow", () => {
    appendFileSync("runs", "x");
    expect(statSync("runs").size, "the cause").not.toBe(2);
  });`;
const PASSING = `import { test } from "bun:test"; test("it passes", () => {});`;
const WAITING = `import { test } from "bun:test"; test("it waits", () => Bun.sleep(1e9), 1e9);`;

function startRepeat(folder: string, ...words: string[]) {
  const stdio = ["ignore", "pipe", "pipe"] as const;
  return Bun.spawn([process.execPath, SCRIPT, ...words], { cwd: folder, stdio: [...stdio] });
}

/** The busy processes that a process has started. */
const findBusyLoops = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`)
    .flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" "))
    .filter((child) => child !== "" && commandOf(Number(child)).includes("for (;;);"))
    .map(Number);

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

test("repeated tests name each file that failed, in how many runs, and its first output", async () => {
  const folder = makeFolder({ "flaky.test.ts": FLAKY, "passing.test.ts": PASSING });
  const child = startRepeat(folder, "--repeat", "3", "flaky", "passing");
  const output = await child.stdout.text();
  expect(await child.exited).toBe(1);
  expect(output).toContain("run 2 of 3: 1 passed, 1 failed, 0 skipped");
  expect(output).toContain("flaky.test.ts failed in 1 of 3 runs; the first time:");
  expect(output).toContain("error: the cause");
  expect(output.split("error: the cause")).toHaveLength(2);
  expect(output).not.toContain("passing.test.ts");
  expect(output).toEndWith("\n2 passed, 1 failed, 0 skipped\n");
});

test.skipIf(process.platform !== "linux")(
  "busy processes run beside repeated tests, and end with them after Ctrl+C",
  async () => {
    const folder = makeFolder({ "waiting.test.ts": WAITING });
    const child = startRepeat(folder, "--load", "--repeat", "1", "waiting");
    await waitUntil(() => findBusyLoops(child.pid).length === navigator.hardwareConcurrency);
    const busy = findBusyLoops(child.pid);
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    expect(busy.filter((pid) => commandOf(pid) !== "")).toEqual([]);
  },
);

test("repeated tests need a number after --repeat", async () => {
  const child = startRepeat(makeFolder({}), "--repeat", "often");
  expect(await child.stderr.text()).toContain("--repeat needs a number");
  expect(await child.exited).toBe(1);
});
