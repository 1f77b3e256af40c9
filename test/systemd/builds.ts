// Builds of later versions for the upgrade tests: the sources with some edits, compiled.
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json";
import { STATE_FORMAT } from "../../src/store/state/snapshot.ts";
import { compileInputs, repositoryRoot } from "../support/sources.ts";

interface SourceEdit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const withVersion = (version: string): SourceEdit => ({
  file: "package.json",
  find: `"version": "${manifest.version}"`,
  replace: `"version": "${version}"`,
});

const neverReady: SourceEdit = {
  file: "src/cli/serve/run-server.ts",
  find: "    manager.notifyReady(",
  replace: '    throw new Failure("this build never gets ready", "");\n    manager.notifyReady(',
};

const newFormat: readonly SourceEdit[] = [
  {
    file: "src/store/state/snapshot.ts",
    find: `FORMAT = ${STATE_FORMAT}`,
    replace: `FORMAT = ${STATE_FORMAT + 1}`,
  },
  {
    file: "src/store/state/migrations.ts",
    find: "(old: OldRow) => OldRow>> = {",
    replace: `(old: OldRow) => OldRow>> = {\n  ${STATE_FORMAT}: (old) => old,`,
  },
];

/** The source edits of each build, by its name. */
const BUILDS: Readonly<Record<string, readonly SourceEdit[]>> = {
  "berth-next": [withVersion("9.0.0")],
  "berth-never-ready": [withVersion("9.1.0"), neverReady],
  "berth-new-format-never-ready": [withVersion("9.2.0"), ...newFormat, neverReady],
  "berth-later": [withVersion("9.4.0")],
  "berth-new-format": [withVersion("9.3.0"), ...newFormat],
};

/** Compiles every build and copies it to the folder `out`. */
export function buildAll(out: string, work: string): void {
  for (const [name, edits] of Object.entries(BUILDS)) {
    const copy = join(work, name);
    mkdirSync(copy, { recursive: true });
    for (const part of compileInputs) {
      cpSync(join(repositoryRoot, part), join(copy, part), { recursive: true });
    }
    symlinkSync(join(repositoryRoot, "node_modules"), join(copy, "node_modules"));
    for (const { file, find, replace } of edits) {
      const text = readFileSync(join(copy, file), "utf8");
      if (text.split(find).length !== 2)
        throw new Error(`${file} does not contain exactly once: ${find}`);
      writeFileSync(
        join(copy, file),
        text.replace(find, () => replace),
      );
    }
    const result = Bun.spawnSync([process.execPath, join(copy, "build", "compile.ts")]);
    if (result.exitCode !== 0) throw new Error(`${name}: ${result.stderr.toString()}`);
    cpSync(join(copy, "build", "out", "berth"), join(out, name));
  }
}
