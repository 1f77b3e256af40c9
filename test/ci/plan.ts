// What `.ci/run` runs. If a change cannot affect what a long suite tests, the suite runs with smaller
// numbers or not at all.
import type { ChangedFiles } from "./changed-files.ts";

export interface Job {
  readonly name: string;
  /** The script of package.json, with arguments. */
  readonly command: readonly string[];
  /** How long it takes on two cores that do nothing else. The longest job starts first. */
  readonly seconds: number;
  /** Files whose change cannot affect what the job tests; without rules it always runs. */
  readonly unaffectedBy?: readonly RegExp[];
  /** How long it takes with smaller numbers; without a value it is left out if unaffected. */
  readonly secondsIfShort?: number;
}

const OTHER_TESTS = /^test\/(?!ci\/|support\/|faults\/|build\/|systemd\/|model\/|store\/)/;

/** Documents, and what neither a server nor a build contains. */
const NO_SOURCES = [/\.md$/, /^\.pictures\//, /^LICENSE$/, OTHER_TESTS];

/** Operations that open, copy and replace data folders, and those that write files themselves. */
const FOLDER_OPERATIONS =
  "folder/|wire.ts|identity.ts|cloud-credentials.ts|access-control.ts|access-list.ts|" +
  "audit-maintenance.ts";

const OTHER_OPERATIONS = new RegExp(`^src/operations/(?!${FOLDER_OPERATIONS})`);

/** Sources that do not decide what is written to the disk, or when. */
const NOT_PERSISTENCE = [
  ...NO_SOURCES,
  /^src\/(?:desk|domain|faults|http|license|usage|web)\//,
  OTHER_OPERATIONS,
  /^src\/cli\/(?!serve\/|maintenance\/)/,
  /^test\/(?:build|systemd)\//,
];

/** Sources that do not decide how the service is installed, upgraded and started. */
const NOT_SERVICE = [
  ...NO_SOURCES,
  /^src\/(?:desk|domain|faults|http|license|usage|web)\//,
  OTHER_OPERATIONS,
  /^src\/cli\/(?!serve\/|service\/|frame\/)/,
  /^test\/(?:build|faults|model|store)\//,
];

/** Sources that are the same for every target. */
const NOT_TARGETS = [
  ...NO_SOURCES,
  /^src\/(?:desk|domain|faults|http|license|operations|store|usage|web)\//,
  /^src\/cli\/(?!service\/)/,
  /^test\/(?:faults|model|store|systemd)\//,
];

/** Sources that do not decide how a request is read and refused. */
const NOT_REQUESTS = [
  ...NO_SOURCES.filter((rule) => rule !== OTHER_TESTS),
  /^src\/(?:desk|domain|store|usage|web)\//,
  /^src\/cli\/(?!serve\/)/,
  /^test\/(?!ci\/|support\/|attacks\/)/,
];

type Rules = Pick<Job, "unaffectedBy" | "secondsIfShort">;

/** A suite of a script that runs several. */
const suite = (kind: string, name: string, seconds: number, rules: Rules = {}): Job => ({
  name: `${kind} ${name}`,
  command: [`test:${kind}`, name],
  seconds,
  ...rules,
});

/** Everything that a script runs. */
const script = (name: string, seconds: number, rules: Rules = {}): Job => ({
  name,
  command: [`test:${name}`],
  seconds,
  ...rules,
});

const shortUnlessPersistence = (secondsIfShort: number): Rules => ({
  unaffectedBy: NOT_PERSISTENCE,
  secondsIfShort,
});

export const JOBS: readonly Job[] = [
  script("slow", 120),
  script("clients", 30),
  suite("browser", "other-sites", 120),
  suite("browser", "page-slots", 40),
  suite("browser", "page-audit-log", 30),
  suite("browser", "page-overview", 20),
  suite("browser", "page-settings", 20),
  suite("browser", "page-docs", 20),
  suite("browser", "page-docs-access", 20),
  suite("browser", "page-sign-in", 20),
  suite("browser", "page-licenses", 20),
  suite("browser", "page-air-gap", 10),
  suite("browser", "page-clock", 10),
  suite("attacks", "requests", 110, { unaffectedBy: NOT_REQUESTS, secondsIfShort: 50 }),
  suite("attacks", "slow-connections", 35),
  suite("attacks", "forged-documents", 20),
  suite("attacks", "malformed-http", 10),
  suite("faults", "mutated-documents", 14),
  suite("faults", "concurrent-starts", 9),
  suite("faults", "clock", 4),
  suite("faults", "simulation", 55, shortUnlessPersistence(20)),
  suite("faults", "kill", 40, shortUnlessPersistence(20)),
  suite("faults", "damage", 60, shortUnlessPersistence(20)),
  suite("faults", "power", 37, shortUnlessPersistence(20)),
  suite("faults", "disk-full", 30, shortUnlessPersistence(15)),
  suite("faults", "syscalls", 300, shortUnlessPersistence(60)),
  suite("faults", "storage-growth", 54, shortUnlessPersistence(20)),
  suite("faults", "backups", 93, { unaffectedBy: NOT_PERSISTENCE }),
  suite("faults", "planted-bugs", 400, { unaffectedBy: NOT_PERSISTENCE }),
  script("systemd", 180, { unaffectedBy: NOT_SERVICE }),
  script("build", 90, { unaffectedBy: NOT_TARGETS }),
];

export interface Plan {
  readonly jobs: readonly Job[];
  readonly leftOut: readonly Job[];
  /** Why, in sentences for the log. */
  readonly reasons: readonly string[];
}

/** Chooses the jobs and their sizes. In doubt it chooses all of them in their usual size. */
export function planJobs(changed: ChangedFiles, jobs: readonly Job[] = JOBS): Plan {
  if (changed.files === null) {
    return { jobs: longestFirst(jobs), leftOut: [], reasons: [`runs all: ${changed.reason}`] };
  }
  const chosen: Job[] = [];
  const leftOut: Job[] = [];
  const reasons = [`${changed.files.length} files differ from ${changed.since}`];
  for (const job of jobs) {
    const affecting = findAffecting(job, changed.files);
    if (affecting !== null) {
      chosen.push(job);
      if (affecting !== "") reasons.push(`runs ${job.name}: ${affecting} changed`);
    } else if (job.secondsIfShort !== undefined) {
      chosen.push({ ...job, command: [...job.command, "--short"], seconds: job.secondsIfShort });
      reasons.push(`runs ${job.name} with smaller numbers: no file changed that can affect it`);
    } else {
      leftOut.push(job);
      reasons.push(`leaves out ${job.name}: no file changed that can affect it`);
    }
  }
  return { jobs: longestFirst(chosen), leftOut, reasons };
}

/** The first file that may affect what a job tests; "": it always runs; null: there is none. */
function findAffecting({ unaffectedBy }: Job, files: readonly string[]): string | null {
  if (unaffectedBy === undefined) return "";
  return files.find((file) => !unaffectedBy.some((rule) => rule.test(file))) ?? null;
}

const longestFirst = (jobs: readonly Job[]): Job[] =>
  jobs.toSorted((a, b) => b.seconds - a.seconds);
