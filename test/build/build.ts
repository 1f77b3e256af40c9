// Builds every executable twice, from two clones of this commit, and checks that the bytes are the
// same, that the formats are right, and that those that can run here work. Uncommitted changes are
// not tested.
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
// On disk, not in a tmpfs: the builds take gigabytes.
const work = mkdtempSync(join(tmpdir(), "berth-build-"));
atEnd(() => rmSync(work, { recursive: true, force: true }));
const cache = { BUN_INSTALL_CACHE_DIR: join(work, "cache") };

const firstClone = new SourceClone(join(work, "first"));
const buildResult = firstClone.build(["--all"], cache);
check(`commit ${commit}: every target is built`, buildResult.code === 0, buildResult);
const first = firstClone.checksums();
const verification = Bun.spawnSync(["sha256sum", "--strict", "-c", "SHA256SUMS"], {
  cwd: firstClone.out,
});
const acceptedFiles = verification.stdout.toString().match(/: OK$/gm)?.length;
check(
  "sha256sum accepts every file",
  verification.exitCode === 0 && acceptedFiles === first.size,
  acceptedFiles,
);
const pathOf = (target: string): string => {
  const suffix = TARGETS.filter(({ name }) => name === target).map(executableSuffix);
  return join(firstClone.out, `berth-${manifest.version}-${target}${suffix.join("")}`);
};
for (const { name } of TARGETS) {
  const format = detectFormat(pathOf(name));
  check(`${name}: is ${FORMATS[name]}`, format === FORMATS[name], format);
}

const secondClone = new SourceClone(join(work, "elsewhere", "second"));
const missing = "linux-arm64-musl";
checkMissingRuntime(secondClone, missing, cache);
if (isSoak) secondClone.build(["--all"], cache);
const second = secondClone.checksums();
const comparable = [...first.keys()].filter((name) => isSoak || isReproducible(name));
for (const name of comparable) {
  check(
    `${name}: has the same bytes when built in another folder`,
    first.get(name) === second.get(name),
  );
}
checkWrongRuntime(secondClone, missing);
rmSync(secondClone.folder, { recursive: true });

const site = { host: nativeHost, path: pathOf(nativeHost.target) };
await checkSbom(site, firstClone.out);
await checkContents(site, work);
const hosts: readonly (readonly [string, ExecutionHost | null])[] = [
  ["linux-x64", process.arch === "x64" ? nativeHost : null],
  ["linux-x64-musl", process.arch === "x64" ? prepareMuslHost(join(work, "musl")) : null],
  ["linux-arm64", process.arch === "x64" ? findArmEmulator() : null],
];
const scratch = mkdtempSync(join(work, "smoke-"));
for (const [target, host] of hosts) {
  if (host === null) skip(`${target}: runs`, "this machine cannot run it");
  else await checkExecutable({ host, path: pathOf(target) }, site, scratch, commit);
}
for (const target of ["linux-arm64-musl", "windows-x64", "darwin-arm64"]) {
  skip(`${target}: runs`, "only its format is checked");
}
finish();

/** The second build lacks one target, so its SBOM differs too. */
function isReproducible(name: string): boolean {
  return !name.includes(missing) && !name.endsWith(".cdx.json");
}
