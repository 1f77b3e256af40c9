import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { TESTED } from "./changed-files.ts";
import type { Job } from "./plan.ts";
import { runCi } from "./run.ts";
import { makeFolder, makeRepository, writeFiles } from "./temp-repository.ts";

const job = (name: string, file: string, more: Partial<Job> = {}): Job => ({
  name,
  command: ["test", `./${file}`],
  judges: "everything",
  tests: [file],
  ...more,
});

const passing = `import { test } from "bun:test"; test("it passes", () => {});`;

/** Fails, with a long message, as long as the file `runs` has fewer than `failures` lines. */
const failing = (failures: number): string => `
  import { expect, test } from "bun:test";
  import { appendFileSync, readFileSync } from "node:fs";
  test("it passes", () => {});
  test("it decides", () => {
    appendFileSync("runs", process.env.RUN_SEED + "\\n");
    expect(readFileSync("runs", "utf8").trim().split("\\n").length, "the cause").toBeGreaterThan(${failures});
  });
  test.skip("it waits: no root", () => {});`;

/** Runs jobs in a folder; what is printed must end with the total. */
async function run(folder: string, jobs: readonly Job[], flags = {}, firstSteps: Job[] = []) {
  const printed: string[] = [];
  const code = await runCi(folder, firstSteps, jobs, flags, (text) => void printed.push(text));
  const output = printed.join("\n");
  return { code, output, total: output.split("\n").at(-1) ?? "" };
}

const count = (text: string, part: string): number => text.split(part).length - 1;

describe("a run of CI", () => {
  test("adds up the tests of its jobs, and names those that were skipped", async () => {
    const folder = makeFolder({ "a.test.ts": passing, "b.test.ts": failing(0) });
    const { code, output, total } = await run(folder, [
      job("first", "a.test.ts"),
      job("second", "b.test.ts"),
    ]);
    expect({ code, total }).toEqual({ code: 0, total: "3 passed, 0 failed, 1 skipped" });
    expect(output).toContain("== skipped by second\n(skip) it waits: no root");
  });

  test("passes if a file passes when it runs once more, and prints its first failure", async () => {
    const folder = makeFolder({ "b.test.ts": failing(1) });
    const { code, output, total } = await run(folder, [job("second", "b.test.ts")]);
    expect({ code, total }).toEqual({ code: 0, total: "2 passed, 0 failed, 1 skipped" });
    const [, flaky = ""] = output.split("\n== failed, and passed when run once more, alone");
    expect(flaky).toContain("b.test.ts, in second:");
    expect(flaky).toContain("(fail) it decides");
    expect(output).not.toContain("== what failed");
  });

  test("fails if a file fails again, and prints the cause once", async () => {
    const folder = makeFolder({ "b.test.ts": failing(9) });
    const { code, output, total } = await run(folder, [job("second", "b.test.ts")]);
    expect({ code, total }).toEqual({ code: 1, total: "1 passed, 1 failed, 1 skipped" });
    expect(count(readFileSync(join(folder, "runs"), "utf8"), "\n")).toBe(2);
    expect(count(output, "error: the cause")).toBe(1);
    expect(output).not.toContain("(pass)");
  });

  test.each(["test/model/b.test.ts", "test/faults/b.test.ts", "test/x/planted-bugs.test.ts"])(
    "fails although %s passes with the same seed when it runs again",
    async (path) => {
      const folder = makeFolder({ [path]: failing(1) });
      const { code, output, total } = await run(folder, [job("search", path)]);
      expect({ code, total }).toEqual({ code: 1, total: "1 passed, 1 failed, 1 skipped" });
      const seeds = readFileSync(join(folder, "runs"), "utf8").trim().split("\n");
      expect(seeds).toEqual([seeds[0] ?? "", seeds[0] ?? ""]);
      expect(output).toContain(`${path} passes with the same seed, ${seeds[0]}`);
    },
  );

  test("runs a job again whose output names no test file", async () => {
    const script = `import { appendFileSync, statSync } from "node:fs";
      appendFileSync("runs", "x");
      process.exit(statSync("runs").size > 1 ? 0 : 7);`;
    const folder = makeFolder({ "step.ts": script });
    const step = job("a step", "step.ts", { command: ["step.ts"], isStep: true });
    const { code, output, total } = await run(folder, [step]);
    expect({ code, total }).toEqual({ code: 0, total: "1 passed, 0 failed, 0 skipped" });
    expect(output).toContain("mend these\n\na step:");
  });

  test("runs no job if a first step fails", async () => {
    const folder = makeFolder({
      "a.test.ts": passing,
      "step.ts": `throw new Error("no " + "types");`,
    });
    const step = job("types", "step.ts", { command: ["step.ts"], isStep: true });
    const { code, output } = await run(folder, [job("first", "a.test.ts")], {}, [step]);
    expect(code).toBe(1);
    expect(count(output, "no types")).toBe(1);
    expect(output).not.toContain("first:");
  });

  test("does not run a file again if more than ten failed", async () => {
    const names = Array.from({ length: 11 }, (_, index) => `${index}.test.ts`);
    const folder = makeFolder(Object.fromEntries(names.map((name) => [name, failing(99)])));
    const all = job("all", ".", { command: ["test"] });
    expect(await run(folder, [all])).toMatchObject({ total: "11 passed, 11 failed, 11 skipped" });
    expect(count(readFileSync(join(folder, "runs"), "utf8"), "\n")).toBe(11);
  });
});

describe.skipIf(Bun.which("git") === null)("bun run test:all", () => {
  const first = job("first", "a.test.ts", { judges: ["src/a.ts"] });
  const files = { "a.test.ts": passing, "src/a.ts": "", "src/b.ts": "", ".gitignore": "build/out" };

  test("names the commit that passed, so that the next run leaves out what is the same", async () => {
    const { folder, commit, first: tested } = makeRepository(files);
    expect(await run(folder, [first])).toMatchObject({ total: "1 passed, 0 failed, 0 skipped" });
    expect(existsSync(join(folder, TESTED))).toBe(false);
    await run(folder, [first], { all: true });
    expect(readFileSync(join(folder, TESTED), "utf8")).toBe(`${tested}\n`);
    expect(await run(folder, [first])).toMatchObject({ total: "0 passed, 0 failed, 0 skipped" });
    commit({ "src/a.ts": "export {};" });
    const after = await run(folder, [first]);
    expect(after.output).toContain("runs first: src/a.ts changed");
    expect(after.total).toBe("1 passed, 0 failed, 0 skipped");
  });

  test.each([
    ["a test failed", { "a.test.ts": failing(9) }, {}],
    ["a file was not committed", {}, { "src/a.ts": "export {};" }],
  ])("names no commit if %s", async (_, committed, uncommitted) => {
    const { folder } = makeRepository({ ...files, ...committed, ".gitignore": "build/out\nruns" });
    writeFiles(folder, uncommitted);
    await run(folder, [first], { all: true });
    expect(existsSync(join(folder, TESTED))).toBe(false);
  });

  test("measures each job and each test file with --profile", async () => {
    const { folder, first: tested } = makeRepository({ ...files, "test/c.test.ts": passing });
    const { output } = await run(folder, [first], { all: true, profile: true });
    const measured = JSON.parse(readFileSync(join(folder, "test/ci/measured.json"), "utf8"));
    expect(measured).toEqual({
      first: { wall: expect.any(Number), processor: expect.any(Number) },
    });
    expect(output).toMatch(/\d\.\d s +\d+\.\d s {2}test\/c\.test\.ts/);
    expect(readFileSync(join(folder, TESTED), "utf8")).toBe(`${tested}\n`);
  });
});
