// Makes build/out/berth, the one file an operator copies; with --all one for every target, and with
// --target NAME one of those, beside checksums, a list of what is inside and its licenses.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../package.json";
import { noticesText } from "../src/platform/notices.ts";
import { bundledPackages, root } from "./bundled.ts";
import { commit, commitTime, compile } from "./executable.ts";
import { noticesOf } from "./notices.ts";
import { fetchRuntime, NoRuntime } from "./runtime.ts";
import { sbomOf } from "./sbom.ts";
import { suffixOf, TARGETS, type Target } from "./targets.ts";

const MISUSED = 2;
const out = join(root, "build", "out");
const wanted = targetsIn(process.argv.slice(2));
const packages = await bundledPackages();
const notices = noticesOf(packages);
mkdirSync(out, { recursive: true });
if (wanted === null) say("berth", await compile(join(out, "berth"), notices, null));
else await buildFor(wanted);

async function buildFor(targets: readonly Target[]): Promise<void> {
  const built: { readonly name: string; readonly target: Target }[] = [];
  for (const target of targets) {
    const name = await buildOne(target);
    if (name !== null) built.push({ name, target });
    else process.exitCode = 1;
  }
  const beside = `berth-${manifest.version}`;
  const origin = { commit: commit(), committedAt: commitTime() };
  const sbom = sbomOf(
    packages,
    built.map(({ target }) => target),
    origin,
  );
  writeFileSync(join(out, `${beside}.cdx.json`), `${JSON.stringify(sbom, null, 2)}\n`);
  writeFileSync(join(out, `${beside}-notices.txt`), `${noticesText(notices)}\n`);
  const files = [...built.map(({ name }) => name), `${beside}.cdx.json`, `${beside}-notices.txt`];
  const sums = files.map(sumOf);
  writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
  process.stdout.write(`${join(out, "SHA256SUMS")} (${sums.length} files)\n`);
}

/** The file's name; null when there is no runtime for it, which is said and stops nothing else. */
async function buildOne(target: Target): Promise<string | null> {
  const name = `berth-${manifest.version}-${target.name}${suffixOf(target)}`;
  // What an earlier build left would pass for what this one could not make.
  rmSync(join(out, name), { force: true });
  const folder = join(out, "runtime");
  try {
    const runtime = fetchRuntime(target, folder);
    say(name, await compile(join(out, name), notices, { target, runtime }));
    return name;
  } catch (error) {
    if (!(error instanceof NoRuntime)) throw error;
    complain(
      `no runtime for ${target.name}: ${error.message}`,
      `${target.package} comes from the npm registry this machine is set up with`,
    );
    return null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Null: this machine's, with the runtime that runs this. */
function targetsIn(words: string[]): readonly Target[] | null {
  const hint = `bun run build [--all | --target ${TARGETS.map(({ name }) => name).join("|")}]`;
  try {
    const options = { all: { type: "boolean" }, target: { type: "string" } } as const;
    const { all, target } = parseArgs({ args: words, options }).values;
    if (target === undefined) return all === true ? TARGETS : null;
    const named = TARGETS.filter(({ name }) => name === target);
    if (named.length === 1) return named;
    complain(`there is no target ${target}`, hint);
  } catch (error) {
    complain(error instanceof Error ? error.message : String(error), hint);
  }
  return process.exit(MISUSED);
}

/** A line of `sha256sum`, which also checks it. */
function sumOf(name: string): string {
  const sum = createHash("sha256").update(readFileSync(join(out, name)));
  return `${sum.digest("hex")}  ${name}\n`;
}

function say(name: string, bytes: number): void {
  process.stdout.write(`${join(out, name)} (${(bytes / 1024 / 1024).toFixed(0)} MiB)\n`);
}

function complain(message: string, hint: string): void {
  process.stderr.write(`build: error: ${message}\nbuild: hint: ${hint}\n`);
}
