// Builds every executable twice, from two clones of this commit, and tries what came out: the same
// bytes, well-formed, and the ones that can be run here do their work. Nothing but what is
// committed is looked at.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../../package.json";
import { executableSuffix, TARGETS } from "../../build/targets.ts";
import { atEnd, check, finish, isSoak, skip } from "../support/suite-harness.ts";
import { repositoryRoot } from "../support/sources.ts";
import { SourceClone } from "./source-clone.ts";
import { checkContents, checkSbom } from "./contents.ts";
import { detectFormat } from "./formats.ts";
import { findArmEmulator, nativeHost, prepareMuslHost, type ExecutionHost } from "./hosts.ts";
import { checkMissingRuntime, checkWrongRuntime } from "./runtimes.ts";
import { checkExecutable } from "./smoke.ts";

const FORMATS: Readonly<Record<string, string>> = {
  "linux-x64": "ELF x64 /lib64/ld-linux-x86-64.so.2",
  "linux-arm64": "ELF arm64 /lib/ld-linux-aarch64.so.1",
  "linux-x64-musl": "ELF x64 /lib/ld-musl-x86_64.so.1",
  "linux-arm64-musl": "ELF arm64 /lib/ld-musl-aarch64.so.1",
  "windows-x64": "PE x64 console",
  "darwin-arm64": "Mach-O arm64 signed",
};

const head = Bun.spawnSync(["git", "rev-parse", "--short=12", "HEAD"], { cwd: repositoryRoot });
if (head.exitCode !== 0) {
  skip("executables of a commit", "these sources are not under git");
  finish();
}
const commit = head.stdout.toString().trim();
// Not in memory: this is gigabytes.
const work = mkdtempSync(join(tmpdir(), "berth-build-"));
atEnd(() => rmSync(work, { recursive: true, force: true }));
const cache = { BUN_INSTALL_CACHE_DIR: join(work, "cache") };

const one = new SourceClone(join(work, "one"));
const built = one.build(["--all"], cache);
check(`commit ${commit}: every target is built`, built.code === 0, built);
const first = one.checksums();
const summed = Bun.spawnSync(["sha256sum", "--strict", "-c", "SHA256SUMS"], { cwd: one.out });
const listed = summed.stdout.toString().match(/: OK$/gm)?.length;
check("sha256sum accepts every file", summed.exitCode === 0 && listed === first.size, listed);
const pathOf = (target: string): string => {
  const suffix = TARGETS.filter(({ name }) => name === target).map(executableSuffix);
  return join(one.out, `berth-${manifest.version}-${target}${suffix.join("")}`);
};
for (const { name } of TARGETS) {
  const format = detectFormat(pathOf(name));
  check(`${name}: is ${FORMATS[name]}`, format === FORMATS[name], format);
}

const two = new SourceClone(join(work, "elsewhere", "two"));
const missing = "linux-arm64-musl";
checkMissingRuntime(two, missing, cache);
if (isSoak) two.build(["--all"], cache);
const second = two.checksums();
const others = [...first.keys()].filter((name) => isSoak || isAlike(name));
for (const name of others) {
  check(`${name}: the same bytes in another folder`, first.get(name) === second.get(name));
}
checkWrongRuntime(two, missing);
rmSync(two.folder, { recursive: true });

const site = { host: nativeHost, path: pathOf(nativeHost.target) };
await checkSbom(site, one.out);
await checkContents(site, work);
const hosts: readonly (readonly [string, ExecutionHost | null])[] = [
  ["linux-x64", process.arch === "x64" ? nativeHost : null],
  ["linux-x64-musl", process.arch === "x64" ? prepareMuslHost(join(work, "musl")) : null],
  ["linux-arm64", process.arch === "x64" ? findArmEmulator() : null],
];
const scratch = mkdtempSync(join(work, "smoke-"));
for (const [target, host] of hosts) {
  if (host === null) skip(`${target}: is run`, "this machine has no way to run it");
  else await checkExecutable({ host, path: pathOf(target) }, site, scratch, commit);
}
for (const target of ["linux-arm64-musl", "windows-x64", "darwin-arm64"]) {
  skip(`${target}: is run`, "only its format was looked at");
}
finish();

/** A build that lacks a target has another list of what is in it. */
function isAlike(name: string): boolean {
  return !name.includes(missing) && !name.endsWith(".cdx.json");
}
