import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bugs } from "./bugs.ts";

const root = join(import.meta.dir, "..", "..", "..");

// A run of the fault suites takes minutes. This shows at once that every bug can still be planted.
describe("planted bugs", () => {
  test.each(bugs.map((bug) => [bug.name, bug] as const))(
    "the source has exactly one location to plant: %s",
    (_name, bug) => {
      expect(readFileSync(join(root, bug.file), "utf8").split(bug.find).length - 1).toBe(1);
    },
  );

  test("name only suites that exist", () => {
    const suites = new Set(bugs.flatMap(({ caughtBy }) => caughtBy));
    const isMissing = (suite: string): boolean =>
      !existsSync(join(import.meta.dir, "..", suite, "suite.ts"));
    expect([...suites].filter(isMissing)).toEqual([]);
  });
});
