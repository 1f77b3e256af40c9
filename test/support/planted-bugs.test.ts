import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { PLANTED_BUGS as ELECTION_BUGS } from "../election/planted-bugs.ts";
import { ORDER_BUGS } from "../exhaustive/orders/planted-bugs.ts";
import { PAIR_BUGS } from "../exhaustive/pair/planted-bugs.ts";
import { SITE_BUGS } from "../exhaustive/site/planted-bugs.ts";
import { STORE_BUGS } from "../faults/planted-bugs/bugs.ts";
import { PLANTED_BUGS as MODEL_BUGS } from "../model/planted-bugs.ts";
import { PLANTED_BUGS as SHARING_BUGS } from "../sharing/planted-bugs.ts";
import { applyEdit, readSources } from "./source-edits.ts";
import { repositoryRoot } from "./sources.ts";

const sources = readSources(repositoryRoot);
const bugs = [
  ...STORE_BUGS,
  ...MODEL_BUGS,
  ...SHARING_BUGS,
  ...ELECTION_BUGS,
  ...SITE_BUGS,
  ...PAIR_BUGS,
  ...ORDER_BUGS,
];

// The suites that look for the bugs take minutes. This shows at once that each can still be planted.
describe("planted bugs", () => {
  test.each(bugs.map((bug) => [bug.name, bug] as const))(
    "the source has exactly one location to plant: %s",
    (_name, bug) => {
      expect(applyEdit(sources, bug).path).toStartWith("src/");
    },
  );

  test("name only test files that exist", () => {
    const files = new Set(
      [...SITE_BUGS, ...PAIR_BUGS, ...ORDER_BUGS].map(({ caughtBy }) => caughtBy),
    );
    expect([...files].filter((file) => !existsSync(join(repositoryRoot, file)))).toEqual([]);
  });

  test("name only suites that exist", () => {
    const suites = new Set(STORE_BUGS.flatMap(({ caughtBy }) => caughtBy));
    const isMissing = (suite: string): boolean =>
      !existsSync(join(repositoryRoot, "test/faults", suite, `${suite}.suite.ts`));
    expect([...suites].filter(isMissing)).toEqual([]);
  });
});
