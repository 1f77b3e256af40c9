// Plants the classic mistakes into copies of the sources, one at a time, and lets the rigs hunt
// them there: the rig that is named first for it, and the next one only if that had no luck; with
// `--soak`, or where rigs are named (`bun test/faults/planted-bugs/suite.ts kill power`), every one it is for.
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { bugs, type PlantedBug, type FaultSuiteName } from "./bugs.ts";
import { compileInputs, repositoryRoot } from "../../support/sources.ts";
import { check, finish, isSoak, makeTempFolder } from "../../support/suite-harness.ts";

const COPIED = [...compileInputs, "test"];

/** Long enough for any rig to fail, short enough to notice one that cannot. */
const PATIENCE = 30 * 60_000;

function plant({ file, find, replace }: PlantedBug): string {
  const copy = makeTempFolder();
  for (const name of COPIED)
    cpSync(join(repositoryRoot, name), join(copy, name), { recursive: true });
  symlinkSync(join(repositoryRoot, "node_modules"), join(copy, "node_modules"));
  const source = readFileSync(join(repositoryRoot, file), "utf8");
  const places = source.split(find).length - 1;
  if (places !== 1) throw new Error(`${file} has ${places} places to plant it, not one: ${find}`);
  writeFileSync(
    join(copy, file),
    source.replace(find, () => replace),
  );
  return copy;
}

/** Does the rig catch it? Null where it cannot run. */
async function detectWith(
  bug: PlantedBug,
  rig: FaultSuiteName,
  copy: string,
): Promise<DetectionResult | null> {
  const started = performance.now();
  const aim =
    rig !== "syscalls" || bug.scenario === undefined || isEach
      ? []
      : [`--scenario=${bug.scenario}`];
  const child = Bun.spawn(
    [process.execPath, join(copy, "test", "faults", rig, "suite.ts"), "--fail-fast", ...aim],
    {
      cwd: copy,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      timeout: PATIENCE,
    },
  );
  const [out, complaint] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  if (/^skip /m.test(out) && !/^FAILED/m.test(out)) {
    console.log(`skip   ${rig} cannot run here: ${bug.name}`);
    return null;
  }
  const caught = /^FAILED (.*)$/m.exec(out)?.[1];
  return {
    description: `${rig} catches: ${bug.name} (${seconds} s${caught === undefined ? "" : `; ${caught}`})`,
    // A rig that fell over has not caught anything.
    isCaught: caught !== undefined && /^\d+ passed, [1-9]\d* failed/m.test(out),
    output: `${out.slice(-1_500)}${complaint.slice(-1_500)}`,
  };
}

interface DetectionResult {
  readonly description: string;
  readonly isCaught: boolean;
  readonly output: string;
}

const wanted = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const isEach = isSoak || wanted.length > 0;
const queue = [...bugs];
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    for (let bug = queue.shift(); bug !== undefined; bug = queue.shift()) await detect(bug);
  }),
);
finish();

async function detect(bug: PlantedBug): Promise<void> {
  const rigs = bug.caughtBy.filter((rig) => wanted.length === 0 || wanted.includes(rig));
  let missed: DetectionResult | null = null;
  for (const rig of rigs) {
    // A copy each: two rigs would build its binary at the same time.
    const copy = plant(bug);
    const hunted = await detectWith(bug, rig, copy);
    rmSync(copy, { recursive: true, force: true });
    if (hunted === null) continue;
    if (isEach || hunted.isCaught) check(hunted.description, hunted.isCaught, hunted.output);
    if (isEach) continue;
    if (hunted.isCaught) return;
    console.log(`missed ${hunted.description}`);
    missed = hunted;
  }
  if (missed !== null) check(missed.description, false, missed.output);
}
