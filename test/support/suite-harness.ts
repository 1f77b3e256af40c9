// What every fault rig shares: its sizes, its seed, its tally, and how it ends. A rig is a script
// that breaks things on purpose and counts broken promises; `bun run test:faults` runs them all,
// `bun run soak` runs the same code with larger numbers.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const isSoak = process.argv.includes("--soak");

/** Against a planted bug one broken promise is enough. */
const stopsAtFirstFailure = process.argv.includes("--fail-fast");

/** How much of something: in every run, and in a soak. */
export const chooseSize = (usual: number, soak: number): number => (isSoak ? soak : usual);

/** Another one every time, unless told: what is printed with a failure brings it back. */
export const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000_000);

const cleanups: (() => void)[] = [];

/** Something to undo at the end, whatever the end is; the last one first. */
export function atEnd(undo: () => void): void {
  cleanups.push(undo);
}

function cleanUp(): void {
  for (const undo of cleanups.splice(0).toReversed()) {
    try {
      undo();
    } catch (error) {
      console.error(`cleaning up: ${String(error)}`);
    }
  }
}

process.on("exit", cleanUp);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));

/** A folder of the rig's own, gone at the end; in memory where that is offered. */
export function makeTempFolder(): string {
  const root = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
  const folder = mkdtempSync(join(root, "berth-rig-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const tally = { passed: 0, failed: 0, skipped: 0 };

/** One promise, with the figures that show how hard it was tried. */
export function check(promise: string, holds: boolean, detail: unknown = ""): void {
  tally[holds ? "passed" : "failed"] += 1;
  console.log(`${holds ? "ok    " : "FAILED"} ${promise}`);
  if (!holds) console.log(`         ${typeof detail === "string" ? detail : show(detail)}`);
  if (!holds && stopsAtFirstFailure) finish();
}

const reportedTenths = new Map<string, number>();

/** In a soak, how far it came, at every tenth of the way: an hour is long before a still screen. */
export function reportProgress(what: string, done: number, total: number): void {
  const tenths = Math.floor((10 * done) / total);
  if (!isSoak || tenths <= (reportedTenths.get(what) ?? 0)) return;
  reportedTenths.set(what, tenths);
  console.log(`       ${done} of ${total} ${what}`);
}

/** What this machine does not allow is said, and counted. */
export function skip(promise: string, why: string): void {
  tally.skipped += 1;
  console.log(`skip   ${promise}: ${why}`);
}

export function finish(): never {
  console.log(`${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`);
  process.exit(tally.failed === 0 ? 0 : 1);
}

const show = (value: unknown): string => JSON.stringify(value)?.slice(0, 2_000) ?? String(value);

/** Numbers from a seed, the same on every machine: mulberry32. */
export function createRandom(start: number): () => number {
  let a = start | 0;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Debian packages, by a program or a file of each. */
type Packages = Readonly<Record<string, string>>;

/** Installed when they are missing and this user may; else one line and the end. */
export function requirePackages(packages: Packages): void {
  if (ensurePackages(packages)) return;
  console.error(
    `this needs Debian packages: apt-get install ${findMissingPackages(packages).join(" ")}`,
  );
  process.exit(1);
}

/** The same for what a rig can do without. */
export function ensurePackages(packages: Packages): boolean {
  const names = findMissingPackages(packages);
  if (names.length === 0) return true;
  installPackages(names);
  return findMissingPackages(packages).length === 0;
}

/** A mirror that did not answer once is not a missing package. */
const RETRIES = ["-o", "Acquire::Retries=5"];

/** One after the other: rigs run beside each other, and there is one list of packages. */
export function installPackages(names: readonly string[]): void {
  const alone = ["flock", join(tmpdir(), "berth-packages.lock"), "apt-get", "-qq", ...RETRIES];
  for (const words of [["update"], ["install", "-y", "--no-install-recommends", ...names]]) {
    Bun.spawnSync([...alone, ...words], { stdio: ["ignore", "ignore", "ignore"] });
  }
}

const findMissingPackages = (packages: Packages): string[] =>
  Object.entries(packages).flatMap(([name, path]) => (isInstalled(path) ? [] : [name]));

const isInstalled = (path: string): boolean =>
  path.startsWith("/") ? existsSync(path) : Bun.which(path) !== null;
