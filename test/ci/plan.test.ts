import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json";
import { repositoryRoot } from "../support/sources.ts";
import { TESTED, type ChangedFiles } from "./changed-files.ts";
import { DecisiveFiles } from "./decisive-files.ts";
import { readMeasured } from "./measured.ts";
import { FIRST_STEPS, JOBS, planJobs, type Job } from "./plan.ts";
import { makeFolder } from "./temp-repository.ts";

const changed = (...files: string[]): ChangedFiles => ({ files, since: "0123456" });

const decisive = new DecisiveFiles(repositoryRoot);
const planAfter = (...files: string[]) =>
  planJobs(repositoryRoot, changed(...files), JOBS, decisive);

/** The long suites that run after these files changed. */
const longAfter = (...files: string[]): string[] =>
  planAfter(...files).jobs.flatMap(({ name, judges, command }) =>
    judges === "everything" || command.includes("--short") ? [] : [name],
  );

const KINDS = ["slow", "faults", "attacks", "clients", "pair", "browser", "systemd", "build"];

describe("the plan of .ci/run", () => {
  test("runs everything if it cannot be told what changed, and says why", () => {
    const plan = planJobs(repositoryRoot, { files: null, reason: "there is no git" });
    expect(plan.leftOut).toEqual([]);
    expect(plan.jobs.map(({ name }) => name).toSorted()).toEqual(
      JOBS.map(({ name }) => name).toSorted(),
    );
    expect(plan.reasons).toEqual(["runs all: there is no git"]);
  });

  test("always runs the tests, the demo, the conformance of clients, a walk and a short kill", () => {
    expect(
      planJobs(repositoryRoot, changed())
        .jobs.map(({ name }) => name)
        .toSorted(),
    ).toEqual([
      "browser walk",
      "clients conformance",
      "faults kill, short",
      "tests",
      "the commands of the demo",
    ]);
  });

  test.each([
    ["a document", ["README.md", "src/cli/README.md"], []],
    ["the name of the tested commit", [TESTED], []],
    ["a test of `bun run test`", ["test/domain/slots/register.test.ts"], []],
    ["a module of such tests only", ["test/support/rule-faults.ts"], []],
    ["a removed module", ["src/domain/removed.ts"], []],
    ["the page", ["src/web/page.tsx"], ["browser"]],
    ["its style", ["src/web/page.css"], ["browser"]],
    ["a client", ["src/clients/berth.py"], ["slow", "clients", "pair"]],
    ["a rule", ["src/domain/slots/register.ts"], ["slow", "faults"]],
    ["the desk", ["src/desk/key-file.ts"], ["slow", "attacks"]],
    ["the service", ["src/cli/service/unit.ts"], ["slow", "systemd", "build"]],
    ["a slow test", ["test/desk/key-file.slow.ts"], ["slow"]],
    ["a program of a suite", ["test/systemd/upgrade-tests.ts"], ["systemd"]],
    ["a file of unknown kind", ["src/new.bin"], KINDS],
    ["the packages", ["bun.lock"], KINDS],
    ["the build", ["build/targets.ts"], KINDS],
    ["this plan", ["test/ci/plan.ts"], KINDS],
    ["what prepares each test file", ["test/support/prepare-test-file.ts"], KINDS],
  ] as const)("after a change of %s runs only the kinds it decides", (_, files, kinds) => {
    const names = longAfter(...files);
    expect(KINDS.filter((kind) => names.some((name) => name.startsWith(kind)))).toEqual([...kinds]);
  });

  test("runs the suites of several areas if files of several areas changed", () => {
    const both = longAfter("src/web/page.tsx", "src/store/store.ts");
    const single = [...longAfter("src/web/page.tsx"), ...longAfter("src/store/store.ts")];
    expect(both.toSorted()).toEqual(single.toSorted());
  });

  test("names the file because of which a long suite is run", () => {
    const { reasons } = planAfter("src/web/page.tsx", "src/store/store.ts");
    expect(reasons).toContain("2 files differ from 0123456");
    expect(reasons).toContain("runs faults syscalls: src/store/store.ts changed");
    expect(reasons).toContain("leaves out build: nothing that it judges changed");
  });

  test("looks for planted bugs after a change of a fault suite, not of the store", () => {
    expect(longAfter("src/store/store.ts")).not.toContain("faults planted-bugs");
    expect(longAfter("test/faults/kill/kill.suite.ts")).toContain("faults planted-bugs");
    expect(longAfter("test/support/planted-bugs.ts")).toContain("faults planted-bugs");
  });

  test("begins with the job that takes longest, as measured", () => {
    const root = makeFolder({
      "test/ci/measured.json": `{"a": {"wall": 5, "processor": 1}, "b": {"wall": 9, "processor": 18}}`,
    });
    const jobs = ["a", "b"].map((name) => ({ name, command: [], judges: [], tests: [] }));
    const plan = planJobs(root, { files: null, reason: "" }, jobs);
    expect(plan.jobs.map(({ name, cores }) => [name, cores])).toEqual([
      ["b", 2],
      ["a", 0.2],
    ]);
  });
});

describe("the files that decide what a job judges", () => {
  const files = {
    "src/a/a.ts": `import { b } from "../b/b.ts"; import type { T } from "../types.ts"; b();`,
    "src/b/b.ts": `import text from "./b.txt" with { type: "text" }; export const b = () => text;`,
    "src/b/b.txt": "",
    "src/types.ts": "",
    "src/main.ts": `import "./a/a.ts"; import "./other.ts";`,
    "src/other.ts": "",
    "src/domain/rule.ts": "",
    "src/c/c.ts": `import "../domain/rule.ts";`,
    "test/a.suite.ts": `import "./help.ts"; import "../src/other.ts"; run("child.ts");`,
    "test/help.ts": "",
    "test/child.ts": "",
  };
  const filesOf = (judges: readonly string[], tests: readonly string[] = []): string[] =>
    [...new DecisiveFiles(makeFolder(files)).of({ judges, tests })].toSorted();

  test("are those that it names, and what these import by value", () => {
    expect(filesOf(["src/a/"])).toEqual(["src/a/a.ts", "src/b/b.ts", "src/b/b.txt"]);
  });

  test("are not the imports of the file that puts the program together", () => {
    expect(filesOf(["src/main.ts"])).toEqual(["src/main.ts"]);
  });

  test("are pure functions only if it names them", () => {
    expect(filesOf(["src/c/"])).toEqual(["src/c/c.ts"]);
    expect(filesOf(["src/c/", "src/domain/"])).toEqual(["src/c/c.ts", "src/domain/rule.ts"]);
  });

  test("are its tests with the tests that they import or name, and nothing of src", () => {
    expect(filesOf([], ["test/*.suite.ts"])).toEqual([
      "test/a.suite.ts",
      "test/child.ts",
      "test/help.ts",
    ]);
  });
});

describe("the jobs", () => {
  const long = JOBS.filter(({ judges }) => judges !== "everything");
  const allFiles = (pattern: string): string[] =>
    [...new Bun.Glob(pattern).scanSync(repositoryRoot)].toSorted();

  test("judge every source file: a change of any one runs a long suite", () => {
    const sources = allFiles("src/**/*.{ts,tsx}").filter((path) => !path.endsWith(".d.ts"));
    const judged = (path: string): boolean => long.some((job) => decisive.includes(job, path));
    // The start of the program runs everything.
    expect(sources.filter((path) => !judged(path))).toEqual(["src/main.ts"]);
  });

  test("name files and folders that exist", () => {
    const named = long.flatMap(({ judges }) => (judges === "everything" ? [] : judges));
    const missing = named.filter((path) => !existsSync(join(repositoryRoot, path)));
    expect(missing).toEqual([]);
    const patterns = long.filter(({ tests }) => tests.flatMap(allFiles).length === 0);
    expect(patterns).toEqual([]);
  });

  test("have different names, and each figure in measured.json is that of a job", () => {
    const names = [...FIRST_STEPS, ...JOBS].map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const measured = Object.keys(readMeasured(repositoryRoot));
    const short = JOBS.filter((job) => job.short).map(({ name }) => `${name}, short`);
    expect(measured.filter((name) => ![...names, ...short].includes(name))).toEqual([]);
  });

  test("run scripts of package.json, and every script that runs suites", () => {
    const scripts = Object.keys(manifest.scripts);
    const used = new Set(
      JOBS.flatMap(({ command: [run, script = ""] }) => (run === "run" ? [script] : [])),
    );
    expect([...used].filter((script) => !scripts.includes(script))).toEqual([]);
    const suites = scripts.filter((name) => /^test(?!:(?:all|repeat)$)/.test(name));
    expect(suites.filter((script) => !used.has(script))).toEqual([]);
  });

  const argumentsOf = (script: string): string[] =>
    JOBS.flatMap(({ command }: Job) => (command[1] === script ? command.slice(2) : []));

  test.each(["faults", "attacks", "browser", "clients"])("run every suite of test:%s", (kind) => {
    const text = readFileSync(join(repositoryRoot, "test", kind, "run.ts"), "utf8");
    const [, everyRun = ""] = /everyRun: \[([^\]]*)\]/.exec(text) ?? [];
    const suites = [...everyRun.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name);
    expect(argumentsOf(`test:${kind}`).toSorted()).toEqual(suites.toSorted());
  });

  test("run every slow test once, and name no folder without one", () => {
    const folders = argumentsOf("test:slow");
    expect(
      folders.filter((folder) => allFiles(`test/${folder}/**/*.slow.ts`).length === 0),
    ).toEqual([]);
    const times = (path: string): number =>
      folders.filter((folder) => path.startsWith(`test/${folder}/`)).length;
    expect(allFiles("test/**/*.slow.ts").filter((path) => times(path) !== 1)).toEqual([]);
  });
});
