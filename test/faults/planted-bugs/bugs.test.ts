import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { applyEdit, readSources } from "../../support/source-edits.ts";
import { repositoryRoot } from "../../support/sources.ts";
import { bugs } from "./bugs.ts";

const sources = readSources(repositoryRoot);

// A run of the fault suites takes minutes. This shows at once that every bug can still be planted.
describe("planted bugs", () => {
  test.each(bugs.map((bug) => [bug.name, bug] as const))(
    "the source has exactly one location to plant: %s",
    (_name, bug) => {
      expect(applyEdit(sources, bug).path).toStartWith("src/");
    },
  );

  test("name only suites that exist", () => {
    const suites = new Set(bugs.flatMap(({ caughtBy }) => caughtBy));
    const isMissing = (suite: string): boolean =>
      !existsSync(join(import.meta.dir, "..", suite, `${suite}.suite.ts`));
    expect([...suites].filter(isMissing)).toEqual([]);
  });
});
