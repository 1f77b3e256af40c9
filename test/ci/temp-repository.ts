import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tempFolder } from "../support/temp-folder.ts";

const NAME = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];

type Files = Readonly<Record<string, string>>;

/** A folder with these files, by their paths, removed at the end of the test. */
export function makeFolder(files: Files): string {
  const folder = join(tempFolder(), "repository");
  mkdirSync(join(folder, "test/ci"), { recursive: true });
  writeFiles(folder, files);
  return folder;
}

export function writeFiles(folder: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** A git repository whose first commit has these files, and functions to change it. */
export function makeRepository(files: Files) {
  const folder = makeFolder(files);
  const git = (...words: string[]): string => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(["git", "-C", folder, ...NAME, ...words]);
    if (exitCode !== 0) throw new Error(`git ${words.join(" ")}: ${stderr.toString()}`);
    return stdout.toString().trim();
  };
  /** Returns the name of the commit. */
  const commit = (changed: Files): string => {
    writeFiles(folder, changed);
    git("add", "-A");
    git("commit", "-q", "--allow-empty", "-m", "a change");
    return git("rev-parse", "HEAD");
  };
  git("init", "-qb", "main");
  const first = commit({});
  return { folder, git, commit, first };
}
