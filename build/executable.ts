import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Notices } from "../src/platform/notices.ts";
import { mainEntry, productionDefine, repositoryRoot } from "./bundled-packages.ts";
import { bundlePage } from "./page.ts";
import { executableSuffix, type Target } from "./targets.ts";

/** Another system to compile for, and the file its runtime is in. */
export interface CrossTarget {
  readonly target: Target;
  readonly runtime: string;
}

/** How everything is compiled. */
export const compileOptions = {
  target: "bun",
  format: "esm",
  bytecode: true,
  sourcemap: "inline",
  // Elysia reads its handlers' sources: minified ones break it.
  minify: false,
  define: productionDefine,
} as const;

/** Otherwise the binary would run what it finds in the folder it is started from. */
export const isolationOptions = { autoloadDotenv: false, autoloadBunfig: false } as const;

/**
 * Compiles the sources into one file; without a target, for this machine. The same sources give the
 * same bytes, whatever the folder and whatever the file is called in the end.
 */
export async function compile(
  to: string,
  notices: Notices,
  foreign: CrossTarget | null,
): Promise<number> {
  // In another folder first: a binary that is running cannot be written over, but it can be
  // replaced. And always under the same name, because the name is in the bytes.
  const fresh = join(
    dirname(to),
    "new",
    `berth${foreign === null ? "" : executableSuffix(foreign.target)}`,
  );
  mkdirSync(dirname(fresh), { recursive: true });
  // The bundler writes down paths as they look from the working folder.
  process.chdir(repositoryRoot);
  try {
    await Bun.build({
      ...compileOptions,
      entrypoints: [mainEntry],
      define: {
        ...compileOptions.define,
        BERTH_COMMIT: JSON.stringify(readCommit()),
        BERTH_NOTICES: JSON.stringify(JSON.stringify(notices)),
        BERTH_PAGE: JSON.stringify(JSON.stringify(await bundlePage())),
        ...builtInTrustDefine(),
      },
      compile: {
        ...isolationOptions,
        outfile: fresh,
        ...(foreign && { target: foreign.target.runtime, executablePath: foreign.runtime }),
      },
    });
    chmodSync(fresh, 0o755);
    renameSync(fresh, to);
  } finally {
    rmSync(dirname(fresh), { recursive: true, force: true });
  }
  return statSync(to).size;
}

/** BERTH_TRUST_FILE=trust.jwt makes a vendor's own build, which trusts that vendor alone. */
function builtInTrustDefine(): Record<string, string> {
  const path = process.env["BERTH_TRUST_FILE"];
  if (path === undefined) return {};
  return { BERTH_TRUST: JSON.stringify(readFileSync(path, "utf8").trim()) };
}

/** A source folder without git still builds; it only cannot say what it was built from. */
export const readCommit = (): string => git("rev-parse", "--short=12", "HEAD") ?? "unknown";

/** When the commit was made; null without git. */
export function readCommitTime(): string | null {
  const seconds = git("show", "-s", "--format=%ct", "HEAD");
  return seconds === null ? null : new Date(Number(seconds) * 1_000).toISOString();
}

function git(...words: string[]): string | null {
  const { exitCode, stdout } = Bun.spawnSync(["git", ...words], {
    cwd: repositoryRoot,
    stderr: "ignore",
  });
  return exitCode === 0 ? stdout.toString().trim() : null;
}
