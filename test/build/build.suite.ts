// Builds every executable twice, from two clones of this commit, and checks that the bytes are the
// same, that the formats are right, and that those that can run here work. Uncommitted changes are
// not tested.
import { beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../../package.json";
import { executableSuffix, TARGETS } from "../../build/targets.ts";
import { atEnd, isSoak, testUnless } from "../support/suite-harness.ts";
import { repositoryRoot } from "../support/sources.ts";
import { SourceClone, type BuildResult } from "./source-clone.ts";
import { findLibcUsers, readBundledPackages, readSbomLibraries } from "./contents.ts";
import { detectFormat } from "./formats.ts";
import { findArmEmulator, nativeHost, prepareMuslHost, type ExecutionHost } from "./hosts.ts";
import { buildWithoutRuntime, buildWithWrongRuntime, packageOf } from "./runtimes.ts";
import { tryExecutable, type Executable, type Trial } from "./smoke.ts";

const FORMATS: Readonly<Record<string, string>> = {
  "linux-x64": "ELF x64 /lib64/ld-linux-x86-64.so.2",
  "linux-arm64": "ELF arm64 /lib/ld-linux-aarch64.so.1",
  "linux-x64-musl": "ELF x64 /lib/ld-musl-x86_64.so.1",
  "linux-arm64-musl": "ELF arm64 /lib/ld-musl-aarch64.so.1",
  "windows-x64": "PE x64 console",
  "darwin-arm64": "Mach-O arm64 signed",
};

/** The runtime of this target is missing in the second build, so its SBOM differs too. */
const MISSING = "linux-arm64-musl";

const head = Bun.spawnSync(["git", "rev-parse", "--short=12", "HEAD"], { cwd: repositoryRoot });
const commit = head.exitCode === 0 ? head.stdout.toString().trim() : null;
const testCommit = testUnless(commit === null ? "these sources are not under git" : null);

const BASE_NAME = `berth-${manifest.version}`;
const fileOf = (target: string): string => {
  const suffix = TARGETS.filter(({ name }) => name === target).map(executableSuffix);
  return `${BASE_NAME}-${target}${suffix.join("")}`;
};
const SBOM = `${BASE_NAME}.cdx.json`;
const FILES = [...TARGETS.map(({ name }) => fileOf(name)), SBOM, `${BASE_NAME}-notices.txt`];

/** On disk, not in a tmpfs: the builds take gigabytes, and a tmpfs may forbid running programs. */
function makeFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

let work: string;
let first: SourceClone;
let firstBuild: BuildResult;
let firstChecksums: ReadonlyMap<string, string>;
let site: Executable;

beforeAll(() => {
  if (commit === null) return;
  work = makeFolder("berth-build-");
  first = new SourceClone(join(work, "first"));
  firstBuild = first.build(["--all"], cache());
  firstChecksums = first.checksums();
  site = { host: nativeHost, path: join(first.out, fileOf(nativeHost.target)) };
});

const cache = (): { BUN_INSTALL_CACHE_DIR: string } => ({
  BUN_INSTALL_CACHE_DIR: join(work, "cache"),
});

describe("a build of every target", () => {
  testCommit("ends with code 0 and makes every file", () => {
    expect(firstBuild).toMatchObject({ code: 0 });
    expect([...firstChecksums.keys()].toSorted()).toEqual(FILES.toSorted());
  });

  testCommit("has checksums that sha256sum accepts", () => {
    const { exitCode, stdout } = Bun.spawnSync(["sha256sum", "--strict", "-c", "SHA256SUMS"], {
      cwd: first.out,
    });
    expect(exitCode).toBe(0);
    expect(stdout.toString().match(/: OK$/gm)).toHaveLength(FILES.length);
  });

  for (const { name } of TARGETS) {
    testCommit(`makes an executable for ${name} in its format`, () => {
      expect(detectFormat(join(first.out, fileOf(name)))).toBe(FORMATS[name] ?? "");
    });
  }
});

describe("a second build in another folder", () => {
  let second: SourceClone;
  let withoutRuntime: BuildResult;
  let builtWithoutRuntime: readonly string[];
  let checksums: ReadonlyMap<string, string>;
  let withWrongRuntime: BuildResult;

  beforeAll(() => {
    if (commit === null) return;
    second = new SourceClone(join(work, "elsewhere", "second"));
    withoutRuntime = buildWithoutRuntime(second, MISSING, cache());
    builtWithoutRuntime = [...second.checksums().keys()];
    if (isSoak) second.build(["--all"], cache());
    checksums = second.checksums();
    withWrongRuntime = buildWithWrongRuntime(second, MISSING);
    rmSync(second.folder, { recursive: true });
  });

  testCommit("reports a runtime that cannot be downloaded with one error and a hint", () => {
    const pattern =
      /^build: error: no runtime for (\S+): .+\nbuild: hint: (\S+) comes from the npm registry.+\n$/;
    const reported = pattern.exec(withoutRuntime.stderr)?.slice(1) ?? [withoutRuntime.stderr];
    expect(reported).toEqual([MISSING, packageOf(MISSING)]);
  });

  testCommit("makes the other executables without that runtime, and ends with code 1", () => {
    expect(withoutRuntime.code).toBe(1);
    const executables = builtWithoutRuntime.filter((file) => !/\.(?:json|txt)$/.test(file));
    expect(executables).toHaveLength(TARGETS.length - 1);
  });

  const isComparable = (file: string): boolean =>
    isSoak || (file !== fileOf(MISSING) && file !== SBOM);
  for (const file of FILES.filter(isComparable)) {
    testCommit(`makes ${file} with the same bytes`, () => {
      expect(checksums.get(file)).toBe(firstChecksums.get(file) ?? "not built");
    });
  }

  testCommit("refuses a runtime that does not match its pinned hash", () => {
    expect(withWrongRuntime.code).toBe(1);
    expect(withWrongRuntime.stderr).toMatch(/no runtime for .*integrity/i);
  });
});

describe("the contents of an executable", () => {
  testCommit(
    "are the packages that the SBOM lists, each with the hash of the lock file",
    async () => {
      const libraries = readSbomLibraries(join(first.out, SBOM));
      const bundled = await readBundledPackages(site, first.out);
      expect(bundled.length).toBeGreaterThan(10);
      expect(libraries.map(({ title }) => title)).toEqual([...bundled]);
      expect(libraries.filter(({ isHashed }) => !isHashed)).toEqual([]);
    },
  );

  testCommit("include no path of the build machine", () => {
    expect(readFileSync(site.path).indexOf(work)).toBe(-1);
  });

  testCommit("load the C library with the first lock, not at the start", async () => {
    expect(await findLibcUsers(site, work)).toEqual({
      version: false,
      "vendor init": false,
      slots: true,
    });
  });
});

/** Null: this machine cannot run executables of the target. */
const HOSTS: readonly (readonly [target: string, host: ExecutionHost | null])[] =
  commit === null || process.arch !== "x64"
    ? [["linux-x64", null]]
    : [
        ["linux-x64", nativeHost],
        ["linux-x64-musl", prepareMuslHost(makeFolder("berth-musl-"))],
        ["linux-arm64", findArmEmulator()],
      ];

describe.each(HOSTS)("the executable for %s", (target, host) => {
  let trial: Trial;

  beforeAll(async () => {
    if (host === null) return;
    const scratch = mkdtempSync(join(work, "smoke-"));
    trial = await tryExecutable({ host, path: join(first.out, fileOf(target)) }, site, scratch);
  });

  const testHere = testUnless(host === null ? "this machine cannot run it" : null);
  const testTrial = (title: string, body: (trial: Trial) => void): void =>
    testHere(title, () => body(trial));

  testTrial("reports its commit and its system", ({ facts, system }) => {
    expect(facts).toMatchObject({ commit, target: system });
  });

  testTrial("prints the notices", ({ notices }) => {
    expect(notices).toContain("JavaScriptCore");
  });

  testTrial("issues a license that a site accepts", ({ isLicenseAccepted }) => {
    expect(isLicenseAccepted).toBe(true);
  });

  testTrial("has a demo that answers curl", ({ demoReply }) => {
    expect(demoReply).toEndWith("200");
  });

  // An emulated executable cannot start itself again, which a checkpoint requires.
  if (host?.launcher.length === 0) {
    testTrial("has a demo that exits with 0", ({ demoExitCode }) => {
      expect(demoExitCode).toBe(0);
    });
  }
});

test.skip.each(["linux-arm64-musl", "windows-x64", "darwin-arm64"])(
  "the executable for %s runs: only its format is checked",
  () => {},
);
