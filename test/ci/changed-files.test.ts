import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../support/temp-folder.ts";
import { findChangedFiles, readCleanCommit, TESTED, writeTested } from "./changed-files.ts";
import { makeRepository, writeFiles } from "./temp-repository.ts";

describe.skipIf(Bun.which("git") === null)("the files that differ from the tested commit", () => {
  test("are those of all commits after it", () => {
    const { folder, commit, first } = makeRepository({ a: "", b: "" });
    commit({ [TESTED]: `${first}\n` });
    commit({ b: "changed", c: "" });
    expect(findChangedFiles(folder)).toEqual({ files: ["b", "c", TESTED], since: first });
  });

  test("are also those that are not committed, in new folders too", () => {
    const { folder, first } = makeRepository({ a: "" });
    writeTested(folder, first);
    writeFiles(folder, { a: "changed", "new/folder/b": "" });
    expect(findChangedFiles(folder).files).toEqual(["a", "new/folder/b", TESTED]);
  });

  test("are unknown if no file names the commit", () => {
    const { folder } = makeRepository({ a: "" });
    expect(findChangedFiles(folder)).toEqual({ files: null, reason: `there is no ${TESTED}` });
  });

  test("are unknown if the commit is on another branch", () => {
    const { folder, git, commit } = makeRepository({ a: "" });
    git("checkout", "-qb", "other");
    const other = commit({ b: "" });
    git("checkout", "-q", "main");
    writeTested(folder, other);
    expect(findChangedFiles(folder)).toEqual({
      files: null,
      reason: `the commit ${other} of ${TESTED} is no ancestor of HEAD in this repository`,
    });
  });

  test("are unknown in a shallow clone without the commit", () => {
    const { folder, commit, first } = makeRepository({ a: "" });
    commit({ [TESTED]: first });
    const clone = join(tempFolder(), "clone");
    Bun.spawnSync(["git", "clone", "-q", "--depth=1", `file://${folder}`, clone]);
    expect(readFileSync(join(clone, TESTED), "utf8")).toBe(first);
    expect(findChangedFiles(clone).files).toBeNull();
  });

  test("are unknown in a folder that is no repository", () => {
    const folder = tempFolder();
    writeFiles(folder, { [TESTED]: "0123456" });
    expect(findChangedFiles(folder).files).toBeNull();
  });
});

describe.skipIf(Bun.which("git") === null)("the commit of a working tree", () => {
  test("is HEAD if only the name of the tested commit differs", () => {
    const { folder, first } = makeRepository({ a: "" });
    expect(readCleanCommit(folder)).toBe(first);
    writeTested(folder, first);
    expect(readCleanCommit(folder)).toBe(first);
  });

  test("is unknown if any other file differs", () => {
    const { folder } = makeRepository({ a: "" });
    writeFiles(folder, { b: "" });
    expect(readCleanCommit(folder)).toBeNull();
  });
});
