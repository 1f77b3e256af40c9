// What `.ci/run` runs. Suites that take long are left out if the change cannot affect them.
import type { ChangedFiles } from "./changed-files.ts";

export interface Job {
  readonly name: string;
  /** The script of package.json, with arguments. */
  readonly command: readonly string[];
  /** How long it takes on two cores that do nothing else. The longest job starts first. */
  readonly seconds: number;
  /** Set for a job that only changes of some files can affect. */
  readonly unaffectedBy?: readonly RegExp[];
}

/** Documents, and what neither a server nor a build contains. */
const NO_SOURCES = [
  /\.md$/,
  /^\.pictures\//,
  /^LICENSE$/,
  /^test\/(?!ci\/|support\/|faults\/|build\/|systemd\/|model\/|store\/)/,
];

/** Sources that do not decide what is written to the disk, or when. */
const NOT_PERSISTENCE = [
  ...NO_SOURCES,
  /^src\/(?:desk|domain|http|license|operations|usage|web)\//,
  /^src\/cli\/(?!serve\/)/,
  /^test\/(?:build|systemd)\//,
];

/** Sources that do not decide how the service is installed, upgraded and started. */
const NOT_SERVICE = [
  ...NO_SOURCES,
  /^src\/(?:desk|domain|http|license|operations|usage|web)\//,
  /^src\/cli\/(?!serve\/|service\/|frame\/)/,
  /^test\/(?:build|faults|model|store)\//,
];

/** Sources that are the same for every target. */
const NOT_TARGETS = [
  ...NO_SOURCES,
  /^src\/(?:desk|domain|http|license|operations|store|usage|web)\//,
  /^src\/cli\/(?!service\/)/,
  /^test\/(?:faults|model|store|systemd)\//,
];

const faults = (suite: string, seconds: number, unaffectedBy?: readonly RegExp[]): Job => ({
  name: `faults ${suite}`,
  command: ["test:faults", suite],
  seconds,
  ...(unaffectedBy !== undefined && { unaffectedBy }),
});

const attacks = (suite: string, seconds: number): Job => ({
  name: `attacks ${suite}`,
  command: ["test:attacks", suite],
  seconds,
});

const job = (name: string, seconds: number, unaffectedBy?: readonly RegExp[]): Job => ({
  name,
  command: [`test:${name}`],
  seconds,
  ...(unaffectedBy !== undefined && { unaffectedBy }),
});

export const JOBS: readonly Job[] = [
  job("slow", 240),
  job("browser", 480),
  job("clients", 30),
  attacks("requests", 110),
  attacks("forged-documents", 20),
  attacks("malformed-http", 30),
  attacks("slow-connections", 40),
  faults("mutated-documents", 14),
  faults("clock", 4),
  faults("concurrent-starts", 9),
  faults("damage", 63),
  faults("simulation", 108),
  faults("disk-full", 30),
  faults("kill", 59),
  faults("backups", 93, NOT_PERSISTENCE),
  faults("power", 37, NOT_PERSISTENCE),
  faults("storage-growth", 54, NOT_PERSISTENCE),
  faults("syscalls", 329, NOT_PERSISTENCE),
  faults("planted-bugs", 524, NOT_PERSISTENCE),
  job("systemd", 180, NOT_SERVICE),
  job("build", 90, NOT_TARGETS),
];

export interface Plan {
  readonly jobs: readonly Job[];
  readonly leftOut: readonly Job[];
  /** Why, in sentences for the log. */
  readonly reasons: readonly string[];
}

/** Chooses the jobs. In doubt it chooses all of them. */
export function planJobs(changed: ChangedFiles, jobs: readonly Job[] = JOBS): Plan {
  const inOrder = jobs.toSorted((a, b) => b.seconds - a.seconds);
  if (changed.files === null) {
    return { jobs: inOrder, leftOut: [], reasons: [`runs everything: ${changed.reason}`] };
  }
  const affecting = (job: Job): string | null => {
    const { unaffectedBy } = job;
    if (unaffectedBy === undefined) return "";
    return changed.files.find((file) => !unaffectedBy.some((rule) => rule.test(file))) ?? null;
  };
  const chosen = inOrder.filter((job) => affecting(job) !== null);
  const leftOut = inOrder.filter((job) => affecting(job) === null);
  return {
    jobs: chosen,
    leftOut,
    reasons: [
      `${changed.files.length} files differ from ${changed.since}`,
      ...chosen
        .filter(({ unaffectedBy }) => unaffectedBy !== undefined)
        .map((job) => `runs ${job.name}: ${affecting(job)} changed`),
      ...leftOut.map(({ name }) => `leaves out ${name}: no file changed that can affect it`),
    ],
  };
}
