import { expect, onTestFinished, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SourceEdit } from "./source-edits.ts";
import { copySources } from "./sources.ts";

/** A bug as an edit of the sources, which a random test must detect. */
export interface InjectedBug extends SourceEdit {
  readonly name: string;
}

interface InjectedBugTests {
  /** What detects the bugs: the titles are this and the name of a bug. */
  readonly title: string;
  readonly bugs: readonly InjectedBug[];
  /** The folder with the random test. */
  readonly testFolder: string;
  /** A program at the root of the copy that writes `differs` as soon as it detects a bug. */
  readonly search: string;
}

/** One test for each bug: the program finds it in a copy of the sources. */
export function testInjectedBugs({ title, bugs, testFolder, search }: InjectedBugTests): void {
  const paths = ["src", testFolder, "test/support", "test/faults", "package.json", "tsconfig.json"];
  test.each(bugs.map((bug) => [bug.name, bug] as const))(`${title}: %s`, (_name, bug) => {
    const copy = mkdtempSync(join(tmpdir(), "berth-injected-"));
    onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
    copySources(copy, paths, [bug]);
    writeFileSync(join(copy, "search.ts"), search);
    const child = Bun.spawnSync([process.execPath, "search.ts"], { cwd: copy });
    expect(child.stdout.toString() + child.stderr.toString()).toBe("differs\n");
  });
}
