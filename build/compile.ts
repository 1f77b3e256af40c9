// Makes build/out/berth, the one file an operator copies; with --all one for every target, and with
// --target NAME one of those, beside checksums, a list of what is inside and its licenses.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../package.json";
import { formatNotices } from "../src/platform/notices.ts";
import { findBundledPackages, repositoryRoot } from "./bundled-packages.ts";
import { readCommit, readCommitTime, compile } from "./executable.ts";
import { collectNotices } from "./notices.ts";
import { fetchRuntime, NoRuntime } from "./runtime.ts";
import { createSbom } from "./sbom.ts";
import { executableSuffix, TARGETS, type Target } from "./targets.ts";

const EXIT_USAGE = 2;
const out = join(repositoryRoot, "build", "out");
const requestedTargets = parseTargets(process.argv.slice(2));
const packages = await findBundledPackages();
const notices = collectNotices(packages);
mkdirSync(out, { recursive: true });
if (requestedTargets === null)
  printBuilt("berth", await compile(join(out, "berth"), notices, null));
else await buildTargets(requestedTargets);

async function buildTargets(targets: readonly Target[]): Promise<void> {
  const built: { readonly name: string; readonly target: Target }[] = [];
  for (const target of targets) {
    const name = await buildTarget(target);
    if (name !== null) built.push({ name, target });
    else process.exitCode = 1;
  }
  const beside = `berth-${manifest.version}`;
  const origin = { commit: readCommit(), committedAt: readCommitTime() };
  const sbom = createSbom(
    packages,
    built.map(({ target }) => target),
    origin,
  );
  writeFileSync(join(out, `${beside}.cdx.json`), `${JSON.stringify(sbom, null, 2)}\n`);
  writeFileSync(join(out, `${beside}-notices.txt`), `${formatNotices(notices)}\n`);
  const files = [...built.map(({ name }) => name), `${beside}.cdx.json`, `${beside}-notices.txt`];
  const sums = files.map(checksumLine);
  writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
  process.stdout.write(`${join(out, "SHA256SUMS")} (${sums.length} files)\n`);
}

/** The file's name; null when there is no runtime for it, which is said and stops nothing else. */
async function buildTarget(target: Target): Promise<string | null> {
  const name = `berth-${manifest.version}-${target.name}${executableSuffix(target)}`;
  // What an earlier build left would pass for what this one could not make.
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
      `${target.package} comes from the npm registry this machine is set up with`,
    );
    return null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Null: this machine's, with the runtime that runs this. */
function parseTargets(words: string[]): readonly Target[] | null {
  const hint = `bun run build [--all | --target ${TARGETS.map(({ name }) => name).join("|")}]`;
  try {
    const options = { all: { type: "boolean" }, target: { type: "string" } } as const;
    const { all, target } = parseArgs({ args: words, options }).values;
    if (target === undefined) return all === true ? TARGETS : null;
    const named = TARGETS.filter(({ name }) => name === target);
    if (named.length === 1) return named;
    printError(`there is no target ${target}`, hint);
  } catch (error) {
    printError(error instanceof Error ? error.message : String(error), hint);
  }
  return process.exit(EXIT_USAGE);
}

/** A line of `sha256sum`, which also checks it. */
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
