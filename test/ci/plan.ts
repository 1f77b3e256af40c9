// What `.ci/run` runs. If a change cannot affect what a long suite tests, the suite runs with smaller
// numbers or not at all.
import type { ChangedFiles } from "./changed-files.ts";

export interface Job {
  readonly name: string;
  /** The script of package.json, with arguments. */
  readonly command: readonly string[];
  /** How long it takes beside two other jobs on two cores. The longest job starts first. */
  readonly seconds: number;
  /** Files whose change cannot affect what the job tests; without rules it always runs. */
  readonly unaffectedBy?: readonly RegExp[];
  /** How long it takes with smaller numbers; without a value it is left out if unaffected. */
  readonly secondsIfShort?: number;
}

const OTHER_TESTS =
  /^test\/(?!ci\/|support\/|faults\/|build\/|systemd\/|model\/|operations\/|store\/)/;

const DOCUMENTS = [/\.md$/, /^\.pictures\//, /^LICENSE$/];

/** Documents, and tests that share nothing with the suites. */
const NO_SOURCES = [...DOCUMENTS, OTHER_TESTS];

/** Operations that open, copy and replace data folders, and those that write files themselves. */
const FOLDER_OPERATIONS =
  "folder/|access/|wire.ts|identity.ts|cloud-credentials.ts|access-control.ts|" +
  "audit-maintenance.ts|usage/";

const OTHER_OPERATIONS = new RegExp(`^src/operations/(?!${FOLDER_OPERATIONS})`);

/** Sources that do not decide what is written to the disk, or when. */
const NOT_PERSISTENCE = [
  ...NO_SOURCES,
  /^src\/(?:clients|desk|domain|faults|http|license|rules|usage|web)\//,
  OTHER_OPERATIONS,
  /^src\/cli\/(?!serve\/|maintenance\/)/,
  /^test\/(?:build|systemd)\//,
];

/** Sources that do not decide how the service is installed, upgraded and started. */
const NOT_SERVICE = [
  ...NO_SOURCES,
  /^src\/(?:clients|desk|domain|faults|http|license|rules|usage|web)\//,
  OTHER_OPERATIONS,
  /^src\/cli\/(?!serve\/|service\/|frame\/)/,
  /^test\/(?:build|faults|model|operations|store)\//,
];

/** Sources that are the same for every target. */
const NOT_TARGETS = [
  ...NO_SOURCES,
  /^src\/(?:clients|desk|domain|faults|http|license|operations|rules|store|usage|web)\//,
  /^src\/cli\/(?!service\/)/,
  /^test\/(?:faults|model|operations|store|systemd)\//,
];

/** Sources that do not decide how a request is read and refused. */
const NOT_REQUESTS = [
  ...DOCUMENTS,
  /^src\/(?:clients|desk|domain|rules|store|usage|web)\//,
  /^src\/cli\/(?!serve\/)/,
  /^test\/(?!ci\/|support\/|attacks\/)/,
];

/** Sources that do not decide what a page of another site can reach. */
const NOT_BROWSER_ACCESS = [
  ...DOCUMENTS,
  /^src\/(?:clients|desk|domain|faults|license|rules|store|usage)\//,
  OTHER_OPERATIONS,
  /^src\/cli\/(?!serve\/)/,
  /^test\/(?!ci\/|support\/|browser\/)/,
];

/** Sources that neither the page nor the replies it gets contain. */
const NOT_PAGE = [
  ...DOCUMENTS,
  /^src\/(?:clients|desk)\//,
  /^src\/cli\/(?!serve\/)/,
  /^test\/(?!ci\/|support\/|browser\/)/,
];

/** Sources that the vendor's desk does not contain. */
const NOT_DESK = [
  ...DOCUMENTS,
  /^src\/(?:cli|clients|http|operations|rules|store|usage|web)\//,
  /^test\/(?!ci\/|support\/|desk\/)/,
];

type Rules = Pick<Job, "unaffectedBy" | "secondsIfShort">;

/** A suite of a script that runs several. */
const suite = (kind: string, name: string, seconds: number, rules: Rules = {}): Job => ({
  name: `${kind} ${name}`,
  command: [`test:${kind}`, name],
  seconds,
  ...rules,
});

/** The slow tests of some folders. */
const slow = (folders: readonly string[], seconds: number, rules: Rules = {}): Job => ({
  name: `slow ${folders.join(" ")}`,
  command: ["test:slow", ...folders],
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
  slow(["bench", "binary", "cli", "http", "model", "platform"], 330),
  slow(["usage"], 150),
  slow(["domain", "sharing"], 200),
  slow(["election"], 90),
  slow(["operations", "store"], 30, { unaffectedBy: NOT_PERSISTENCE }),
  slow(["desk"], 30, { unaffectedBy: NOT_DESK }),
  suite("clients", "conformance", 100),
  suite("clients", "conformance-leases", 20),
  suite("clients", "conformance-builds", 120),
  suite("clients", "conformance-browser", 30),
  suite("clients", "examples", 45),
  suite("clients", "typescript", 15),
  suite("clients", "python", 25),
  suite("clients", "go", 25),
  suite("clients", "prometheus", 10),
  suite("clients", "schedulers", 20),
  script("pair", 480),
  suite("browser", "other-sites", 120, { unaffectedBy: NOT_BROWSER_ACCESS }),
  suite("browser", "page-layout", 180, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-tasks", 40, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-slots", 40, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-queue", 30, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-rules", 60, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-audit-log", 35, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-connection", 90, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-pair", 60, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-overview", 30, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-reports", 40, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-health", 15, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-settings", 30, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-backups", 20, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-docs", 40, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-docs-access", 25, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-sign-in", 25, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-licenses", 55, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-requests", 40, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-air-gap", 20, { unaffectedBy: NOT_PAGE }),
  suite("browser", "page-clock", 10, { unaffectedBy: NOT_PAGE }),
  suite("attacks", "requests", 120, { unaffectedBy: NOT_REQUESTS, secondsIfShort: 50 }),
  suite("attacks", "slow-connections", 35),
  suite("attacks", "forged-documents", 15),
  suite("attacks", "malformed-http", 10),
  suite("faults", "mutated-documents", 14),
  suite("faults", "concurrent-starts", 9),
  suite("faults", "clock", 4),
  suite("faults", "simulation", 150, shortUnlessPersistence(60)),
  suite("faults", "kill", 75, shortUnlessPersistence(20)),
  suite("faults", "damage", 45, { unaffectedBy: NOT_PERSISTENCE }),
  suite("faults", "power", 37, { unaffectedBy: NOT_PERSISTENCE }),
  suite("faults", "disk-full", 43, { unaffectedBy: NOT_PERSISTENCE }),
  suite("faults", "syscalls", 400, { unaffectedBy: NOT_PERSISTENCE }),
  suite("faults", "storage-growth", 93, { unaffectedBy: NOT_PERSISTENCE }),
  suite("faults", "backups", 96, { unaffectedBy: NOT_PERSISTENCE }),
  suite("faults", "planted-bugs", 270, { unaffectedBy: NOT_PERSISTENCE }),
  script("systemd", 330, { unaffectedBy: NOT_SERVICE }),
  script("build", 80, { unaffectedBy: NOT_TARGETS }),
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
