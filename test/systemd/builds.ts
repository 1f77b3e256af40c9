// Builds of later versions for the upgrade tests: the sources with some edits, compiled.
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json";
import { STATE_FORMAT } from "../../src/store/state/snapshot.ts";
import type { SourceEdit } from "../support/source-edits.ts";
import { compileInputs, copySources } from "../support/sources.ts";

const neverReady: SourceEdit = {
  in: "runServer",
  find: "$manager.notifyReady($status);",
  replace: 'throw new Failure("this build never gets ready", ""); $manager.notifyReady($status);',
};

const newFormat: readonly SourceEdit[] = [
  { in: "STATE_FORMAT", find: `${STATE_FORMAT}`, replace: `${STATE_FORMAT + 1}` },
  { in: "MIGRATIONS", find: "{}", replace: `{ ${STATE_FORMAT}: (old) => old }` },
];

interface BuildOptions {
  readonly version: string;
  readonly edits?: readonly SourceEdit[];
}

/** The builds, by their names. */
export const BUILDS: Readonly<Record<string, BuildOptions>> = {
  "berth-next": { version: "9.0.0" },
  "berth-never-ready": { version: "9.1.0", edits: [neverReady] },
  "berth-new-format-never-ready": { version: "9.2.0", edits: [...newFormat, neverReady] },
  "berth-later": { version: "9.4.0" },
  "berth-new-format": { version: "9.3.0", edits: newFormat },
};

/** Compiles every build and copies it to the folder `out`. */
export function buildAll(out: string, work: string): void {
  for (const [name, { version, edits = [] }] of Object.entries(BUILDS)) {
    const copy = join(work, name);
    mkdirSync(copy, { recursive: true });
    copySources(copy, compileInputs, edits);
    writeFileSync(join(copy, "package.json"), JSON.stringify({ ...manifest, version }, null, 2));
    const result = Bun.spawnSync([process.execPath, join(copy, "build", "compile.ts")]);
    if (result.exitCode !== 0) throw new Error(`${name}: ${result.stderr.toString()}`);
    cpSync(join(copy, "build", "out", "berth"), join(out, name));
  }
}
