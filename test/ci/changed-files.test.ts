import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../support/temp-folder.ts";
import { findChangedFiles } from "./changed-files.ts";

const NAME = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];

/** A repository with a commit, and functions to add to it. */
function makeRepository() {
  const folder = join(tempFolder(), "repository");
  mkdirSync(folder);
  const git = (...words: string[]): void => {
    const { exitCode, stderr } = Bun.spawnSync(["git", "-C", folder, ...NAME, ...words]);
    if (exitCode !== 0) throw new Error(`git ${words.join(" ")}: ${stderr.toString()}`);
  };
  const commit = (file: string): void => {
    writeFileSync(join(folder, file), `${file}\n`);
    git("add", "-A");
    git("commit", "-qm", file);
  };
  git("init", "-qb", "main");
  commit("first");
  return { folder, git, commit };
}

const testWithGit = test.skipIf(Bun.which("git") === null);

testWithGit("a merge is compared with its first parent", () => {
  const { folder, git, commit } = makeRepository();
  git("checkout", "-qb", "branch");
  commit("two");
  commit("three");
  git("checkout", "-q", "main");
  commit("on-main");
  git("merge", "-q", "--no-ff", "-m", "merge", "branch");
  expect(findChangedFiles(folder, null)).toEqual({ files: ["three", "two"], since: "HEAD^1" });
});

testWithGit("a commit that is no merge cannot tell what is tested", () => {
  const { folder, commit } = makeRepository();
  commit("two");
  expect(findChangedFiles(folder, null)).toEqual({
    files: null,
    reason: "the commit is no merge, so the commits before it may be untested",
  });
});

testWithGit("the tested commit can be named", () => {
  const { folder, commit } = makeRepository();
  commit("two");
  commit("three");
  expect(findChangedFiles(folder, "HEAD~2").files).toEqual(["three", "two"]);
  expect(findChangedFiles(folder, "0123456")).toEqual({
    files: null,
    reason: "git has no commit 0123456",
  });
});

testWithGit("files that are not committed have changed too", () => {
  const { folder } = makeRepository();
  writeFileSync(join(folder, "new"), "");
  writeFileSync(join(folder, "first"), "changed");
  expect(findChangedFiles(folder, "HEAD").files).toEqual(["first", "new"]);
});

testWithGit("a clone without the parent cannot tell what changed", () => {
  const { folder, git, commit } = makeRepository();
  git("checkout", "-qb", "branch");
  commit("two");
  git("checkout", "-q", "main");
  git("merge", "-q", "--no-ff", "-m", "merge", "branch");
  const clone = join(tempFolder(), "clone");
  Bun.spawnSync(["git", "clone", "-q", "--depth=1", `file://${folder}`, clone]);
  expect(findChangedFiles(clone, null)).toEqual({
    files: null,
    reason: "the commit has no parent here, as in a shallow clone",
  });
});

test("a folder that is no repository cannot tell what changed", () => {
  expect(findChangedFiles(tempFolder(), null)).toEqual({
    files: null,
    reason: "these sources are not under git",
  });
});
