// Bugs that a search must find: each is put into a copy of the sources, and the named test file must
// then report the promise that it breaks.
import { expect, test } from "bun:test";
import { detectBug, type PlantedBug } from "../support/planted-bugs.ts";

export interface ExhaustiveBug extends PlantedBug {
  /** The test file that finds it. */
  readonly caughtBy: string;
  /** A part of the failure that only this promise has. */
  readonly breaks: string;
}

const COPIED = [
  "src",
  "build",
  "test/desk/orders",
  "test/election",
  "test/exhaustive",
  "test/faults",
  "test/sharing",
  "test/support",
  "bunfig.toml",
  "package.json",
  "tsconfig.json",
];

/** One test for each bug. */
export function testExhaustiveBugs(bugs: readonly ExhaustiveBug[]): void {
  test.each(bugs.map((bug) => [bug.caughtBy, bug.name, bug] as const))(
    "%s detects a planted bug: %s",
    async (_file, _name, bug) => {
      const command = ["test", `./${bug.caughtBy}`];
      const pattern = new RegExp(RegExp.escape(bug.breaks));
      const { match, output } = await detectBug({ bug, paths: COPIED, command, pattern });
      expect(match === null ? output : "detected").toBe("detected");
    },
  );
}
