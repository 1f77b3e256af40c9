import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../support/sources.ts";

const NOBODY = "http://127.0.0.1:9/";

/** Cut off from the registry, whichever it is: another one would have another cache. */
export const CUT_OFF = {
  HTTP_PROXY: NOBODY,
  HTTPS_PROXY: NOBODY,
  http_proxy: NOBODY,
  https_proxy: NOBODY,
  NO_PROXY: "",
  no_proxy: "",
};

export interface Built {
  readonly code: number;
  readonly stderr: string;
}

/** This commit, checked out into a folder of its own with packages of its own. */
export class Clone {
  readonly folder: string;
  readonly out: string;

  constructor(folder: string) {
    this.folder = folder;
    this.out = join(folder, "build", "out");
    mkdirSync(dirname(folder), { recursive: true });
    succeed(["git", "clone", "--quiet", root, folder], root);
    succeed([process.execPath, "install", "--frozen-lockfile", "--silent"], folder);
  }

  build(words: readonly string[], env: Readonly<Record<string, string>>): Built {
    const script = join(this.folder, "build", "compile.ts");
    const child = Bun.spawnSync([process.execPath, script, ...words], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "inherit", "pipe"],
    });
    return { code: child.exitCode, stderr: child.stderr.toString() };
  }

  /** The sum of everything that was built, by name. */
  sums(): Map<string, string> {
    const names = readdirSync(this.out).filter((name) => name.startsWith("berth-"));
    return new Map(names.toSorted().map((name) => [name, sumOf(join(this.out, name))]));
  }
}

const sumOf = (path: string): string =>
  createHash("sha256").update(readFileSync(path)).digest("hex");

function succeed(command: string[], cwd: string): void {
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString()}`);
}
