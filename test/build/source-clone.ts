import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { repositoryRoot } from "../support/sources.ts";

const CLOSED_PROXY = "http://127.0.0.1:9/";

/** Blocks every registry by a closed proxy; another registry URL would use another cache. */
export const NO_NETWORK = {
  HTTP_PROXY: CLOSED_PROXY,
  HTTPS_PROXY: CLOSED_PROXY,
  http_proxy: CLOSED_PROXY,
  https_proxy: CLOSED_PROXY,
  NO_PROXY: "",
  no_proxy: "",
};

export interface BuildResult {
  readonly code: number;
  readonly stderr: string;
}

/** A clone of this commit in a separate folder with separately installed packages. */
export class SourceClone {
  readonly folder: string;
  readonly out: string;

  constructor(folder: string) {
    this.folder = folder;
    this.out = join(folder, "build", "out");
    mkdirSync(dirname(folder), { recursive: true });
    runOrThrow(["git", "clone", "--quiet", repositoryRoot, folder], repositoryRoot);
    runOrThrow([process.execPath, "install", "--frozen-lockfile", "--silent"], folder);
  }

  build(words: readonly string[], env: Readonly<Record<string, string>>): BuildResult {
    const script = join(this.folder, "build", "compile.ts");
    const child = Bun.spawnSync([process.execPath, script, ...words], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "inherit", "pipe"],
    });
    return { code: child.exitCode, stderr: child.stderr.toString() };
  }

  /** The SHA-256 of every built file, by name. */
  checksums(): Map<string, string> {
    const names = readdirSync(this.out).filter((name) => name.startsWith("berth-"));
    return new Map(names.toSorted().map((name) => [name, checksumOf(join(this.out, name))]));
  }
}

const checksumOf = (path: string): string =>
  createHash("sha256").update(readFileSync(path)).digest("hex");

function runOrThrow(command: string[], cwd: string): void {
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString()}`);
}
