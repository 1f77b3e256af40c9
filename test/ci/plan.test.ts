import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json";
import { repositoryRoot } from "../support/sources.ts";
import type { ChangedFiles } from "./changed-files.ts";
import { JOBS, planJobs, type Job } from "./plan.ts";

const byName = (a: Job, b: Job): number => (a.name < b.name ? -1 : 1);
const changed = (...files: string[]): ChangedFiles => ({ files, since: "HEAD^1" });
/** The jobs that are left out or run with smaller numbers. */
const reduced = (files: ChangedFiles): string[] => {
  const { jobs, leftOut } = planJobs(files);
  const short = jobs.filter(({ command }) => command.includes("--short"));
  return [
    ...leftOut.map(({ name }) => name),
    ...short.map(({ name }) => `${name}, short`),
  ].toSorted();
};

const PERSISTENCE = [
  "faults backups",
  "faults damage",
  "faults disk-full",
  "faults kill, short",
  "faults planted-bugs",
  "faults power",
  "faults simulation, short",
  "faults storage-growth",
  "faults syscalls",
  "slow operations store",
];
const ATTACKS = ["attacks requests, short"];
const OTHER_SITES = ["browser other-sites"];
const PAGE = JOBS.map(({ name }) => name).filter((name) => name.startsWith("browser page-"));
const DESK = ["slow desk"];
const BUILD = ["build", "systemd"];
const ALL = [...BUILD, ...ATTACKS, ...PERSISTENCE, ...OTHER_SITES, ...PAGE, ...DESK];

const without = (names: readonly string[], ...removed: (readonly string[])[]): string[] =>
  names.filter((name) => !removed.flat().includes(name));

describe("the plan of .ci/run", () => {
  test("runs everything if it cannot be told what changed, and says why", () => {
    const plan = planJobs({ files: null, reason: "these sources are not under git" });
    expect(plan.leftOut).toEqual([]);
    expect(plan.jobs.toSorted(byName)).toEqual(JOBS.toSorted(byName));
    expect(plan.reasons).toEqual(["runs all: these sources are not under git"]);
  });

  test.each([
    ["a document", ["README.md", "src/cli/README.md"], ALL],
    ["a command", ["src/cli/commands/status.ts"], ALL],
    ["a client", ["src/clients/berth.py"], ALL],
    ["the page", ["src/web/page.tsx"], without(ALL, OTHER_SITES, PAGE)],
    ["a rule", ["src/domain/slots/register.ts"], without(ALL, PAGE, DESK)],
    ["a test of a rule", ["test/domain/slots/register.test.ts"], ALL],
    ["a route", ["src/http/routes/register.ts"], [...BUILD, ...PERSISTENCE, ...DESK]],
    ["an attack", ["test/attacks/odd-values.ts"], without(ALL, ATTACKS)],
    ["an operation", ["src/operations/slots.ts"], without(ALL, ATTACKS, PAGE)],
    ["the desk", ["src/desk/key-file.ts"], without(ALL, DESK)],
    ["the store", ["src/store/store.ts"], ["build", ...ATTACKS, ...OTHER_SITES, ...DESK]],
    ["backups", ["src/operations/folder/backup.ts"], ["build", ...DESK]],
    ["what opens a folder", ["src/operations/wire.ts"], ["build", ...DESK]],
    ["the command that serves", ["src/cli/serve/run-server.ts"], ["build", ...DESK]],
    ["a fault suite", ["test/faults/kill/kill.suite.ts"], without(ALL, PERSISTENCE)],
    ["the service", ["src/cli/service/install.ts"], without(ALL, BUILD)],
    ["a slow test", ["test/operations/folder/restore.slow.ts"], without(ALL, PERSISTENCE)],
    ["a slow test of the desk", ["test/desk/key-file.slow.ts"], without(ALL, DESK)],
    ["the suite of the service", ["test/systemd/upgrade-tests.ts"], without(ALL, ["systemd"])],
    ["the build", ["build/targets.ts"], []],
    ["the platform", ["src/platform/files/disk.ts"], []],
    ["the packages", ["bun.lock"], []],
    ["this plan", ["test/ci/plan.ts"], []],
    ["what suites share", ["test/support/binary.ts"], []],
    ["a folder that the plan does not know", ["src/new-folder/file.ts"], []],
    [
      "a page and the store",
      ["src/web/page.tsx", "src/store/store.ts"],
      ["build", ...ATTACKS, ...DESK],
    ],
  ] as const)("after a change of %s reduces only what it cannot affect", (_, files, expected) => {
    expect(reduced(changed(...files))).toEqual([...expected].toSorted());
  });

  test("names the file because of which a long suite is run", () => {
    const { reasons } = planJobs(changed("src/web/page.tsx", "src/store/store.ts"));
    expect(reasons).toContain("runs faults syscalls: src/store/store.ts changed");
    expect(reasons).toContain("leaves out build: no file changed that can affect it");
    expect(reasons).toContain(
      "runs attacks requests with smaller numbers: no file changed that can affect it",
    );
  });

  test("begins with the job that takes longest", () => {
    const seconds = planJobs(changed("bun.lock")).jobs.map((job) => job.seconds);
    expect(seconds).toEqual(seconds.toSorted((a, b) => b - a));
  });

  test("runs scripts of package.json, and every script that runs suites", () => {
    const scripts = Object.keys(manifest.scripts);
    const used = new Set(["test", ...JOBS.map(({ command: [script = ""] }) => script)]);
    expect([...used].filter((script) => !scripts.includes(script))).toEqual([]);
    const suites = scripts.filter((name) => name.startsWith("test:") && name !== "test:all");
    expect(suites.filter((script) => !used.has(script))).toEqual([]);
  });

  test.each(["faults", "attacks", "browser", "clients"])("runs every suite of test:%s", (kind) => {
    const text = readFileSync(join(repositoryRoot, "test", kind, "run.ts"), "utf8");
    const [, everyRun = ""] = /everyRun: \[([^\]]*)\]/.exec(text) ?? [];
    const suites = [...everyRun.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name);
    const planned = JOBS.flatMap(({ command }) =>
      command[0] === `test:${kind}` ? command.slice(1) : [],
    );
    expect(planned.toSorted()).toEqual(suites.toSorted());
  });

  test("runs every slow test once", () => {
    const files = [...new Bun.Glob("**/*.slow.ts").scanSync(join(repositoryRoot, "test"))];
    const folders = JOBS.flatMap(({ command: [script, ...names] }) =>
      script === "test:slow" ? names : [],
    );
    const runs = files.map((file) => folders.filter((name) => file.startsWith(`${name}/`)).length);
    expect(files.filter((_, index) => runs[index] !== 1)).toEqual([]);
  });

  test("names folders that exist in the rules about what is not affected", () => {
    const rules = JOBS.flatMap(({ unaffectedBy = [] }) => unaffectedBy.map(({ source }) => source));
    const folders = rules.flatMap((rule) => {
      const [, parent = "", names = ""] =
        /^\^(src|test|src\\\/cli|src\\\/operations)\\\/\(\?[:!]([^)]+)\)/.exec(rule) ?? [];
      const inFolder = parent.replaceAll("\\", "");
      return names === ""
        ? []
        : names.split("|").map((name) => join(inFolder, name.replace("\\/", "")));
    });
    expect(folders.length).toBeGreaterThan(10);
    expect(
      [...new Set(folders)].filter((folder) => !existsSync(join(repositoryRoot, folder))),
    ).toEqual([]);
  });
});
