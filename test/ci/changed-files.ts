// Which files differ from the last commit that passed every test. The repository names it itself.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The file that names the commit. `bun run test:all` writes it. */
export const TESTED = "test/ci/tested";

/** Written by runs, and read by no test. */
export const WRITTEN_BY_RUNS = [TESTED, "test/ci/measured.json"];

export type ChangedFiles =
  | { readonly files: readonly string[]; readonly since: string }
  /** It cannot be told what has changed, for this reason. */
  | { readonly files: null; readonly reason: string };

/** The files that commits after the tested one change, and those that are not committed. */
export function findChangedFiles(root: string): ChangedFiles {
  const since = existsSync(join(root, TESTED))
    ? readFileSync(join(root, TESTED), "utf8").trim()
    : "";
  if (since === "") return unknown(`there is no ${TESTED}`);
  if (git(root, "merge-base", "--is-ancestor", since, "HEAD") === null) {
    return unknown(`the commit ${since} of ${TESTED} is no ancestor of HEAD in this repository`);
  }
  const committed = git(root, "diff", "--name-only", "--no-renames", "-z", since, "HEAD");
  const uncommitted = listUncommitted(root);
  if (committed === null || uncommitted === null) return unknown("git cannot compare the files");
  return { files: [...new Set([...split(committed), ...uncommitted])].toSorted(), since };
}

/** HEAD, if no file differs from it, apart from those that runs write; else null. */
export function readCleanCommit(root: string): string | null {
  const isClean = listUncommitted(root)?.every((file) => WRITTEN_BY_RUNS.includes(file)) ?? false;
  return isClean ? (git(root, "rev-parse", "HEAD")?.trim() ?? null) : null;
}

export const writeTested = (root: string, commit: string): void =>
  writeFileSync(join(root, TESTED), `${commit}\n`);

/** A line of the status begins with two letters and a space. */
function listUncommitted(root: string): string[] | null {
  const status = git(root, "status", "--porcelain", "--untracked-files=all", "--no-renames", "-z");
  return status === null ? null : split(status).map((line) => line.slice(3));
}

function git(root: string, ...words: string[]): string | null {
  try {
    const { exitCode, stdout } = Bun.spawnSync(["git", "-C", root, ...words]);
    return exitCode === 0 ? stdout.toString() : null;
  } catch {
    return null;
  }
}

const split = (text: string): string[] => text.split("\0").filter((part) => part !== "");

const unknown = (reason: string): ChangedFiles => ({ files: null, reason });
