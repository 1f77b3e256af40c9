// Builds build/out/berth, the executable for this machine. --all builds one for every target, and
// --target NAME one of them, with checksums, a list of components (SBOM) and license notices.
// --for-tests builds build/out/for-tests/berth, which only tests may start.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../package.json";
import { formatNotices } from "../src/platform/embedded/notices.ts";
import { findBundledPackages, repositoryRoot } from "./bundled-packages.ts";
import { readCommit, readCommitTime, compile } from "./executable.ts";
import { collectNotices } from "./notices.ts";
import { fetchRuntime, NoRuntime } from "./runtime.ts";
import { createSbom } from "./sbom.ts";
import { executableSuffix, TARGETS, type Target } from "./targets.ts";

const EXIT_USAGE = 2;
const OPTIONS = {
  all: { type: "boolean" },
  target: { type: "string" },
  "for-tests": { type: "boolean" },
} as const;
const out = join(repositoryRoot, "build", "out");
const requested = parseTargets(process.argv.slice(2));
const packages = await findBundledPackages();
const notices = collectNotices(packages);
mkdirSync(out, { recursive: true });
if (requested === "this machine") await buildHere("berth", false);
else if (requested === "tests") await buildHere(join("for-tests", "berth"), true);
else await buildTargets(requested);

/** With the runtime of this process. */
async function buildHere(name: string, isForTests: boolean): Promise<void> {
  printBuilt(name, await compile(join(out, name), notices, null, isForTests));
}

async function buildTargets(targets: readonly Target[]): Promise<void> {
  const built: { readonly name: string; readonly target: Target }[] = [];
  for (const target of targets) {
    const name = await buildTarget(target);
    if (name !== null) built.push({ name, target });
    else process.exitCode = 1;
  }
  const baseName = `berth-${manifest.version}`;
  const origin = { commit: readCommit(), committedAt: readCommitTime() };
  const sbom = createSbom(
    packages,
    built.map(({ target }) => target),
    origin,
  );
  writeFileSync(join(out, `${baseName}.cdx.json`), `${JSON.stringify(sbom, null, 2)}\n`);
  writeFileSync(join(out, `${baseName}-notices.txt`), `${formatNotices(notices)}\n`);
  const files = [
    ...built.map(({ name }) => name),
    `${baseName}.cdx.json`,
    `${baseName}-notices.txt`,
  ];
  const sums = files.map(checksumLine);
  writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
  process.stdout.write(`${join(out, "SHA256SUMS")} (${sums.length} files)\n`);
}

/** Returns the file's name; null: there is no runtime, which is reported. */
async function buildTarget(target: Target): Promise<string | null> {
  const name = `berth-${manifest.version}-${target.name}${executableSuffix(target)}`;
  // A file of an earlier build must not look like a result of this one.
  rmSync(join(out, name), { force: true });
  const folder = join(out, "runtime");
  try {
    const runtime = fetchRuntime(target, folder);
    printBuilt(name, await compile(join(out, name), notices, { target, runtime }));
    return name;
  } catch (error) {
    if (!(error instanceof NoRuntime)) throw error;
    printError(
      `no runtime for ${target.name}: ${error.message}`,
      `${target.package} comes from the npm registry that is configured on this machine`,
    );
    return null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function parseTargets(args: string[]): readonly Target[] | "this machine" | "tests" {
  const hint = `bun run build [--all | --target ${TARGETS.map(({ name }) => name).join("|")}]`;
  try {
    const { all, target, "for-tests": isForTests } = parseArgs({ args, options: OPTIONS }).values;
    if (isForTests === true) return "tests";
    if (target === undefined) return all === true ? TARGETS : "this machine";
    const matches = TARGETS.filter(({ name }) => name === target);
    if (matches.length === 1) return matches;
    printError(`there is no target ${target}`, hint);
  } catch (error) {
    printError(error instanceof Error ? error.message : String(error), hint);
  }
  return process.exit(EXIT_USAGE);
}

/** In the format of `sha256sum`, so that `sha256sum --check` can verify it. */
function checksumLine(name: string): string {
  const sum = createHash("sha256").update(readFileSync(join(out, name)));
  return `${sum.digest("hex")}  ${name}\n`;
}

function printBuilt(name: string, bytes: number): void {
  process.stdout.write(`${join(out, name)} (${(bytes / 1024 / 1024).toFixed(0)} MiB)\n`);
}

function printError(message: string, hint: string): void {
  process.stderr.write(`build: error: ${message}\nbuild: hint: ${hint}\n`);
}
