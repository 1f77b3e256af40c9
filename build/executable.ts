import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Notices } from "../src/platform/embedded/notices.ts";
import { mainEntry, productionDefine, repositoryRoot } from "./bundled-packages.ts";
import { bundlePage } from "./page.ts";
import { executableSuffix, type Target } from "./targets.ts";

/** Another system to compile for, and the path of its runtime. */
export interface CrossTarget {
  readonly target: Target;
  readonly runtime: string;
}

/** For every executable that is compiled. */
export const compileOptions = {
  target: "bun",
  format: "esm",
  bytecode: true,
  sourcemap: "inline",
  // Elysia parses the source text of its handlers, and minified handlers break it.
  minify: false,
  define: productionDefine,
} as const;

/**
 * For executables that only tests start: this environment variable makes a server believe that it is
 * on a machine of its own, so that copies of one data folder can be served at the same time.
 */
export const testDefine = { BERTH_MACHINE_VARIABLE: '"BERTH_TEST_MACHINE"' } as const;

/** For all others: without the name of a variable, the check for copies cannot be turned off. */
const releaseDefine = { BERTH_MACHINE_VARIABLE: "undefined" } as const;

/** Otherwise the executable would load .env and bunfig.toml from its working folder. */
export const isolationOptions = { autoloadDotenv: false, autoloadBunfig: false } as const;

/**
 * Compiles the sources into one executable; without a target, for this machine. The same sources
 * give the same bytes, whatever the folder and the final file name are.
 */
export async function compile(
  path: string,
  notices: Notices,
  crossTarget: CrossTarget | null,
  isForTests = false,
): Promise<number> {
  // Built in another folder first: a running executable cannot be overwritten, but it can be
  // replaced. Always under the same name, because the name becomes part of the bytes.
  const temporary = join(
    dirname(path),
    "new",
    `berth${crossTarget === null ? "" : executableSuffix(crossTarget.target)}`,
  );
  mkdirSync(dirname(temporary), { recursive: true });
  // The bundler's output contains paths relative to the working folder.
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
        ...(isForTests ? testDefine : releaseDefine),
        ...builtInTrustDefine(),
      },
      compile: {
        ...isolationOptions,
        outfile: temporary,
        ...(crossTarget && {
          target: crossTarget.target.runtime,
          executablePath: crossTarget.runtime,
        }),
      },
    });
    chmodSync(temporary, 0o755);
    renameSync(temporary, path);
  } finally {
    rmSync(dirname(temporary), { recursive: true, force: true });
  }
  return statSync(path).size;
}

/** BERTH_TRUST_FILE=trust.jwt creates a vendor's own build, which trusts that vendor alone. */
function builtInTrustDefine(): Record<string, string> {
  const path = process.env["BERTH_TRUST_FILE"];
  if (path === undefined) return {};
  return { BERTH_TRUST: JSON.stringify(readFileSync(path, "utf8").trim()) };
}

/** A source folder without git can be built too; its commit is then unknown. */
export const readCommit = (): string => git("rev-parse", "--short=12", "HEAD") ?? "unknown";

/** The time of the commit; null without git. */
export function readCommitTime(): string | null {
  const seconds = git("show", "-s", "--format=%ct", "HEAD");
  return seconds === null ? null : new Date(Number(seconds) * 1_000).toISOString();
}

function git(...args: string[]): string | null {
  const { exitCode, stdout } = Bun.spawnSync(["git", ...args], {
    cwd: repositoryRoot,
    stderr: "ignore",
  });
  return exitCode === 0 ? stdout.toString().trim() : null;
}
