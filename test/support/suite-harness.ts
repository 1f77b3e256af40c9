// Shared by every suite: sizes, seed, skipped tests, and cleanup. A suite is a file NAME.suite.ts
// with tests that inject faults and check guarantees. `bun run test:faults` runs all fault suites,
// and `bun run soak` runs the same code with larger numbers.
import { test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const isSoak = process.env["SOAK"] !== undefined || process.argv.includes("--soak");

/** A smaller size, for a change that does not touch what the suite tests. */
const isShort = process.env["SHORT"] !== undefined;

/** Chooses between the size for a usual run, for a soak run, and for a short run. */
export const chooseSize = (usual: number, soak: number, short = usual): number =>
  isSoak ? soak : isShort ? short : usual;

/** Set while a planted bug is searched: one broken promise is enough, and no folder is kept. */
export const isDetectionRun = process.env["BERTH_DETECTION_RUN"] !== undefined;

/** Always the same: whether a suite detects a planted bug must not depend on luck. */
const DETECTION_SEED = 1;

/**
 * Different in every run, unless SEED is set or a planted bug is searched; set SEED to reproduce a
 * failure. `.ci/run` chooses one seed for all suites, in RUN_SEED, and runs a failed one with it again.
 */
export const seed = Number(
  process.env["SEED"] ??
    (isDetectionRun ? DETECTION_SEED : (process.env["RUN_SEED"] ?? Date.now() % 1_000_000_000)),
);

const cleanups: (() => void)[] = [];

/** Registers a cleanup for the end of the suite, also after a failure; the last runs first. */
export function atEnd(cleanup: () => void): void {
  cleanups.push(cleanup);
}

const lastCleanups: (() => Promise<void>)[] = [];

/** Registers a cleanup for the end of the run, after the last of its suites. */
export function atEndOfRun(cleanup: () => Promise<void>): void {
  lastCleanups.push(cleanup);
}

/** Each run of `bun test` ends with it, as in `test/support/prepare-test-file.ts`. */
export async function cleanUpRun(): Promise<void> {
  for (const cleanup of lastCleanups.splice(0)) await cleanup();
}

/** Each suite ends with it: `test/support/prepare-test-file.ts` adds the line. */
export function cleanUp(): void {
  for (const cleanup of cleanups.splice(0).toReversed()) {
    try {
      cleanup();
    } catch (error) {
      console.error(`cleanup failed: ${String(error)}`);
    }
  }
}

process.on("exit", cleanUp);
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // `bun test` does not emit "exit".
    cleanUp();
    process.exit(1);
  });
}

/** Creates a temporary folder, removed at the end; in memory if possible. */
export function makeTempFolder(): string {
  const root = process.env["BERTH_SUITE_ROOT"] ?? (existsSync("/dev/shm") ? "/dev/shm" : tmpdir());
  const folder = mkdtempSync(join(root, "berth-suite-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export type TestFunction = (title: string, body: () => void | Promise<void>) => void;

/** `test`, or if this machine cannot run the test, `test.skip` with the reason in the title. */
export const testUnless = (reason: string | null): TestFunction =>
  reason === null ? test : (title, body) => test.skip(`${title}: ${reason}`, body);

const reportedTenths = new Map<string, number>();

/** In a soak run, prints the progress at every tenth, because such a run takes hours. */
export function reportProgress(unit: string, done: number, total: number): void {
  const tenths = Math.floor((10 * done) / total);
  if (!isSoak || tenths <= (reportedTenths.get(unit) ?? 0)) return;
  reportedTenths.set(unit, tenths);
  console.log(`       ${done} of ${total} ${unit}`);
}

/** A seeded random generator, the same on every machine: mulberry32. */
export function createRandom(start: number): () => number {
  let a = start | 0;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Debian packages, each with a program or a file that it contains. */
type Packages = Readonly<Record<string, string>>;

/** Installs missing packages; if that is not possible, throws an error that names them. */
export function requirePackages(packages: Packages): void {
  if (ensurePackages(packages)) return;
  const names = findMissingPackages(packages).join(" ");
  throw new Error(`this needs Debian packages: apt-get install ${names}`);
}

/** Installs missing packages that a suite can do without; false: they are missing. */
export function ensurePackages(packages: Packages): boolean {
  const names = findMissingPackages(packages);
  if (names.length === 0) return true;
  installPackages(names);
  return findMissingPackages(packages).length === 0;
}

/** A mirror that fails once must not look like a missing package. */
const RETRIES = ["-o", "Acquire::Retries=5"];

/** Under a lock: suites run in parallel, and apt-get allows only one process. */
export function installPackages(names: readonly string[]): void {
  const aptGet = ["flock", join(tmpdir(), "berth-packages.lock"), "apt-get", "-qq", ...RETRIES];
  for (const args of [["update"], ["install", "-y", "--no-install-recommends", ...names]]) {
    Bun.spawnSync([...aptGet, ...args], { stdio: ["ignore", "ignore", "ignore"] });
  }
}

const findMissingPackages = (packages: Packages): string[] =>
  Object.entries(packages).flatMap(([name, path]) => (isInstalled(path) ? [] : [name]));

const isInstalled = (path: string): boolean =>
  path.startsWith("/") ? existsSync(path) : Bun.which(path) !== null;
