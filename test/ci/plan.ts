// What `.ci/run` runs: some jobs always, and a long suite if a file has changed that decides what the
// suite judges. `bun run test:all` runs every job.
import { WRITTEN_BY_RUNS, type ChangedFiles } from "./changed-files.ts";
import { DecisiveFiles } from "./decisive-files.ts";
import { readMeasured, type Measured } from "./measured.ts";

/**
 * Files and folders (these end with a slash) whose behavior a job judges. What they import counts too,
 * and the files of the suite with what these import from `test`.
 */
type Judged = "everything" | readonly string[];

export interface Job {
  readonly name: string;
  /** Arguments of `bun`. */
  readonly command: readonly string[];
  readonly judges: Judged;
  /** Patterns of the files of its tests. */
  readonly tests: readonly string[];
  /** It counts no tests, and passes if it ends with code 0. */
  readonly isStep?: boolean;
  /** With these arguments it runs with smaller numbers if nothing has changed that it judges. */
  readonly short?: readonly string[];
}

export interface PlannedJob extends Job {
  /** The expected wall time. */
  readonly seconds: number;
  /** How many processors it keeps busy on average. */
  readonly cores: number;
}

/** What writes, reads, copies and replaces the files of a data folder. */
const FOLDERS = [
  "src/store/",
  "src/platform/files/",
  "src/operations/access/access-control.ts",
  "src/operations/access/",
  "src/operations/audit/audit-maintenance.ts",
  "src/operations/backups/",
  "src/operations/appliance/cloud-credentials.ts",
  "src/operations/folder/",
  "src/operations/appliance/identity.ts",
  "src/operations/usage/",
  "src/operations/wire.ts",
  "src/cli/maintenance/",
  "src/cli/serve/",
];
const RULES = ["src/domain/", "src/rules/"];
const REQUESTS = ["src/http/", "src/faults/", "src/cli/serve/"];
const OPERATIONS = ["src/operations/", "src/license/"];
const PAGE = ["src/web/", "src/http/"];
const PAIR = ["src/operations/pair/", "src/store/", "src/cli/serve/"];
const CLIENTS = ["src/clients/", "src/license/", "src/http/"];
const DESK = ["src/desk/", "src/license/", "src/cli/vendor/"];
const SERVICE = ["src/cli/service/", "src/cli/serve/", "src/platform/system/", "src/store/"];
const TARGETS = ["src/platform/", "src/cli/service/"];

function step(name: string, ...command: string[]): Job {
  return { name, command, judges: "everything", tests: [], isStep: true };
}

/** Suites of `bun run test:KIND`, in one process; all of them if none is named. */
function suites(
  kind: string,
  names: readonly string[],
  judges: Judged,
  name = [kind, ...names].join(" "),
): Job {
  const paths = names.flatMap((suite) => [`${suite}.suite`, `${suite}/**/*`]);
  return {
    name,
    command: ["run", `test:${kind}`, ...names],
    judges,
    tests: (paths.length > 0 ? paths : ["**/*"]).map((path) => `test/${kind}/${path}.ts`),
  };
}

/** The slow tests of some folders. */
const slow = (folders: readonly string[], judges: Judged): Job => ({
  name: `slow ${folders.join(" ")}`,
  command: ["run", "test:slow", ...folders],
  judges,
  tests: folders.map((folder) => `test/${folder}/**/*.slow.ts`),
});

/** Without them nothing else makes sense. */
export const FIRST_STEPS: readonly Job[] = [
  step("format, types, lint, dead code", "run", "tidy"),
  step("the executable", "run", "build"),
];

export const JOBS: readonly Job[] = [
  { ...step("tests", "run", "test"), isStep: false },
  step("the commands of the demo", "test/binary/paste-demo.ts"),
  suites("clients", ["conformance"], "everything"),
  suites("browser", ["walk"], "everything"),
  { ...suites("faults", ["kill"], FOLDERS), short: ["--short"] },

  slow(["bench"], []),
  slow(["binary"], [...RULES, ...REQUESTS, ...OPERATIONS, ...FOLDERS, "src/usage/", "src/cli/"]),
  slow(["cli"], ["src/cli/"]),
  slow(["desk"], DESK),
  slow(["model", "sharing"], RULES),
  slow(["exhaustive/site"], RULES),
  slow(["election"], PAIR),
  slow(["exhaustive/pair"], PAIR),
  slow(["exhaustive/orders"], DESK),
  slow(["http"], REQUESTS),
  slow(["operations", "store"], FOLDERS),
  slow(["platform"], ["src/platform/"]),
  slow(["usage"], ["src/usage/", "src/operations/usage/", "src/operations/demand/", ...RULES]),

  suites("faults", ["backups"], FOLDERS),
  suites("faults", ["clock"], ["src/domain/", "src/operations/", "src/store/", "src/cli/serve/"]),
  suites("faults", ["concurrent-starts"], FOLDERS),
  suites("faults", ["damage"], FOLDERS),
  suites("faults", ["disk-full"], FOLDERS),
  suites("faults", ["mutated-documents"], [...FOLDERS, "src/license/"]),
  // It judges the suites, which the sources do not change: `bun run test` shows that each bug still fits.
  { ...suites("faults", ["planted-bugs"], []), tests: ["test/faults/**/*.ts"] },
  suites("faults", ["power"], FOLDERS),
  suites("faults", ["simulation"], [...FOLDERS, ...OPERATIONS, ...RULES]),
  suites("faults", ["storage-growth"], FOLDERS),
  suites("faults", ["syscalls"], FOLDERS),
  suites("attacks", ["forged-documents"], [...DESK, ...OPERATIONS]),
  suites("attacks", ["malformed-http"], REQUESTS),
  suites("attacks", ["requests"], [...REQUESTS, ...OPERATIONS]),
  suites("attacks", ["slow-connections"], REQUESTS),
  suites("clients", ["conformance-leases", "conformance-browser"], CLIENTS),
  suites("clients", ["conformance-builds"], CLIENTS),
  suites("clients", ["examples"], CLIENTS),
  suites("clients", ["typescript", "python", "go"], REQUESTS),
  suites(
    "clients",
    ["prometheus"],
    ["src/http/metrics/", "src/operations/metrics/", "src/cli/monitoring/"],
  ),
  suites("clients", ["schedulers"], ["src/cli/run/"]),
  suites("pair", [], [...PAIR, "src/clients/"]),
  suites("browser", ["other-sites"], [...REQUESTS, "src/web/"]),
  suites(
    "browser",
    ["page-connection", "page-layout", "page-pair", "page-rules"],
    PAGE,
    "browser, the longest suites of the page",
  ),
  suites(
    "browser",
    [
      "page-sign-in",
      "page-licenses",
      "page-requests",
      "page-air-gap",
      "page-overview",
      "page-reports",
      "page-health",
      "page-slots",
      "page-queue",
      "page-audit-log",
      "page-settings",
      "page-backups",
      "page-clock",
      "page-tasks",
      "page-hostile-texts",
      "page-docs",
      "page-docs-access",
    ],
    PAGE,
    "browser, the other suites of the page",
  ),
  suites("systemd", [], SERVICE),
  suites("build", [], TARGETS),
];

/** They run every test, so they decide all results. `build/` and main.ts are part of all programs. */
const DECIDES_EVERYTHING =
  /^(?:src\/main\.ts|build\/.*|package\.json|bun\.lock|bunfig\.toml|tsconfig.*\.json|\.ci\/.*|test\/ci\/(?!.*\.test\.ts$).*|test\/support\/(?:install|prepare-test-file|processes|run-suites|suite-harness|summary)\.ts)$/;

/** Only `tidy` and `bun run test` read them, and these always run. */
const DECIDES_NOTHING_LONG =
  /\.md$|\.test\.ts$|^\.pictures\/|^LICENSE$|^\.gitignore$|^\.oxlintrc\.json$/;

export interface Plan {
  /** The longest first. */
  readonly jobs: readonly PlannedJob[];
  readonly leftOut: readonly Job[];
  /** Why, in sentences for the log. */
  readonly reasons: readonly string[];
}

/** Chooses the jobs and their sizes. In doubt it chooses all of them in their usual size. */
export function planJobs(
  root: string,
  changed: ChangedFiles,
  jobs: readonly Job[] = JOBS,
  decisive = new DecisiveFiles(root),
): Plan {
  const measured = readMeasured(root);
  const decided = decideJobs(decisive, changed, jobs);
  const reasons = [
    changed.files === null
      ? `runs all: ${changed.reason}`
      : `${changed.files.length} files differ from ${changed.since}`,
    ...decided.flatMap(({ reason }) => (reason === null ? [] : [reason])),
  ];
  return {
    jobs: decided
      .flatMap(({ job, runs }) => (runs ? [withExpectation(job, measured)] : []))
      .toSorted((a, b) => b.seconds - a.seconds),
    leftOut: decided.flatMap(({ job, runs }) => (runs ? [] : [job])),
    reasons,
  };
}

interface Decision {
  readonly job: Job;
  readonly runs: boolean;
  readonly reason: string | null;
}

function decideJobs(
  decisive: DecisiveFiles,
  changed: ChangedFiles,
  jobs: readonly Job[],
): Decision[] {
  if (changed.files === null) return jobs.map((job) => ({ job, runs: true, reason: null }));
  const files = changed.files.filter(
    (file) => !WRITTEN_BY_RUNS.includes(file) && !DECIDES_NOTHING_LONG.test(file),
  );
  const isJudged = (file: string): boolean =>
    jobs.some((job) => job.judges !== "everything" && decisive.includes(job, file));
  const everything = files.find(
    (file) =>
      DECIDES_EVERYTHING.test(file) ||
      // A file of an unknown kind. If a module was removed, the modules that imported it have changed.
      !(/^(?:src|test)\/.*\.tsx?$/.test(file) || isJudged(file)),
  );
  return jobs.map((job) => {
    if (job.judges === "everything") return { job, runs: true, reason: null };
    const file = everything ?? files.find((path) => decisive.includes(job, path));
    if (file !== undefined) return { job, runs: true, reason: `runs ${job.name}: ${file} changed` };
    return job.short === undefined
      ? { job, runs: false, reason: `leaves out ${job.name}: nothing that it judges changed` }
      : {
          job: { ...job, name: `${job.name}, short`, command: [...job.command, ...job.short] },
          runs: true,
          reason: `runs ${job.name} with smaller numbers: nothing that it judges changed`,
        };
  });
}

/** A job that was not measured yet is expected to keep one processor busy. */
const UNKNOWN = { wall: 60, processor: 60 };

function withExpectation(job: Job, measured: Measured): PlannedJob {
  const { wall, processor } = measured[job.name] ?? UNKNOWN;
  return { ...job, seconds: wall, cores: processor / Math.max(wall, 1) };
}
