// Shows that the naive model can disagree: each bug here is put into a copy of the rules, and a
// random sequence must then find it.
import { expect, onTestFinished, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SourceEdit } from "../support/source-edits.ts";
import { copySources } from "../support/sources.ts";

interface InjectedBug extends SourceEdit {
  readonly name: string;
}

const INJECTED_BUGS: readonly InjectedBug[] = [
  {
    name: "the last kept slot is given away",
    in: "hasRoomFor",
    find: "$free > sumKept($state, $ruled, $at)",
    replace: "$free >= sumKept($state, $ruled, $at)",
  },
  {
    name: "a recalled reservation is lent on",
    in: "sumKept",
    find: "$use.keptIdle + sumRecalled($state, $ruled, $at)",
    replace: "$use.keptIdle",
  },
  {
    name: "a limit allows one slot more",
    in: "isReached",
    find: "$count - $own >= $slots",
    replace: "$count - $own > $slots",
  },
  {
    name: "a member of a reserved group gets no slot of its own",
    in: "hasRoomFor",
    find: "$home !== null && countIdle($ruled, $home) > 0",
    replace: "false",
  },
  {
    name: "an earlier end of a borrow is judged",
    in: "checkBorrow",
    find: "$currentEnd !== null && $newEnd <= $currentEnd",
    replace: "false",
  },
  {
    name: "the queue ignores priorities",
    in: "compareByService",
    find: "$a.rank - $b.rank || $a.order - $b.order",
    replace: "$a.order - $b.order",
  },
  {
    name: "the queue ignores idle homes",
    in: "isBefore",
    find: "$a.isAtHome === $b.isAtHome",
    replace: "true",
  },
  {
    name: "the oldest hold is withdrawn first",
    in: "Queue.newestHold",
    find: "this.#holds.get($license)?.last",
    replace: "this.#holds.get($license)?.first",
  },
  {
    name: "a parked user does not come back when a counter falls",
    in: "takeFallenLimits",
    find: "$state.rulesIndex.fallen.take($product)",
    replace: "[]",
  },
  {
    name: "slots that have ended are still counted",
    in: "IndexedRules.findAt",
    find: "$counters.remove(factsOfHolder($holder))",
    replace: "$holder",
  },
  {
    name: "a hold is not counted",
    in: "IndexedRules.addHold",
    find: "this.#find($product, null)?.add($facts)",
    replace: "$facts",
  },
  {
    name: "a group ignores its networks",
    in: "GroupMatcher.#findByAddress",
    find: "$address === null",
    replace: "true",
  },
];

const COPIED_PATHS = [
  "src",
  "test/sharing",
  "test/support",
  "test/faults",
  "package.json",
  "tsconfig.json",
];

const SEARCH = `
import { generateSequence } from "./test/sharing/generate.ts";
import { SequenceRun } from "./test/sharing/run-sequence.ts";
import { SeededRandom } from "./test/support/seeded-random.ts";
for (let seed = 1; seed <= 1_500; seed += 1) {
  try {
    new SequenceRun().run(generateSequence(new SeededRandom(seed), 40));
  } catch {
    console.log("differs");
    break;
  }
}
`;

test.each(INJECTED_BUGS.map((bug) => [bug.name, bug] as const))(
  "the naive model of sharing detects an injected bug: %s",
  (_name, bug) => {
    const copy = mkdtempSync(join(tmpdir(), "berth-sharing-"));
    onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
    copySources(copy, COPIED_PATHS, [bug]);
    writeFileSync(join(copy, "search.ts"), SEARCH);
    const child = Bun.spawnSync([process.execPath, "search.ts"], { cwd: copy });
    expect(child.stdout.toString() + child.stderr.toString()).toBe("differs\n");
  },
);
