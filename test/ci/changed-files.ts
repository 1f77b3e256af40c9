// Which files a commit changes, compared with the last commit that is known to be tested.

export type ChangedFiles =
  | { readonly files: readonly string[]; readonly since: string }
  /** It cannot be told what has changed, for this reason. */
  | { readonly files: null; readonly reason: string };

/**
 * A merge is compared with its first parent: the branch that it was merged into, and that was
 * tested. Any other commit may follow commits that nobody has tested, and git cannot tell: then
 * `base` must name the tested commit.
 */
export function findChangedFiles(folder: string, base: string | null): ChangedFiles {
  const git = (...words: string[]): string | null => {
    try {
      const { exitCode, stdout } = Bun.spawnSync(["git", "-C", folder, ...words]);
      return exitCode === 0 ? stdout.toString() : null;
    } catch {
      return null;
    }
  };
  if (git("rev-parse", "--git-dir") === null) return unknown("these sources are not under git");
  const parents = git("rev-list", "--parents", "-n", "1", "HEAD")?.trim().split(" ").slice(1) ?? [];
  if (base === null && parents.length === 0) {
    return unknown("the commit has no parent here, as in a shallow clone");
  }
  if (base === null && parents.length === 1) {
    return unknown("the commit is no merge, so the commits before it may be untested");
  }
  const since = base ?? "HEAD^1";
  const committed = git("diff", "--name-only", "--no-renames", "-z", since, "HEAD");
  const uncommitted = git("status", "--porcelain", "--no-renames", "-z");
  if (committed === null || uncommitted === null) return unknown(`git has no commit ${since}`);
  // A line of the status begins with two letters and a space.
  const inStatus = split(uncommitted).map((line) => line.slice(3));
  return { files: [...new Set([...split(committed), ...inStatus])].toSorted(), since };
}

const split = (text: string): string[] => text.split("\0").filter((part) => part !== "");

const unknown = (reason: string): ChangedFiles => ({ files: null, reason });
