// Shows that the plain walk over the queue can disagree: each bug here is put into a copy of the
// sources, and the dispatch must then serve other users than the walk.
import { expect, onTestFinished, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SourceEdit } from "../../support/source-edits.ts";
import { copySources } from "../../support/sources.ts";

interface InjectedBug extends SourceEdit {
  readonly name: string;
}

const INJECTED_BUGS: readonly InjectedBug[] = [
  {
    name: "a held slot is given to another user",
    in: "countFreeSlots",
    find: "$slots - $used - countHolds($state, $license)",
    replace: "$slots - $used",
  },
  {
    name: "priority is ignored",
    in: "compareByService",
    find: "$a.rank - $b.rank || $a.order - $b.order",
    replace: "$a.order - $b.order",
  },
  {
    name: "idle slots of a reserved group do not serve its members first",
    in: "isBefore",
    find: "$a.isAtHome === $b.isAtHome ? $before : $a.isAtHome",
    replace: "$before",
  },
  {
    name: "a slot that is kept for a group is given to a waiting user of another group",
    in: "findNextGrant",
    find: "!hasRoom($state, $product, $home, $total, $at)",
    replace: "false",
  },
  {
    name: "users under a limit do not come back when its counter falls",
    in: "findNextGrant",
    find: "watchLimit($state, $product, $key)",
    replace: "null",
  },
  {
    name: "users under a cap do not come back when a slot is released",
    in: "Queues.openCaps",
    find: "$queue.open(peerCapKey($peer))",
    replace: "null",
  },
  {
    name: "users under a cap do not come back when a slot ends",
    in: "WaitingLists.wake",
    find: "this.open($key)",
    replace: "null",
  },
  {
    name: "the oldest hold is withdrawn first",
    in: "compareByHold",
    find: "$a.hold.at - $b.hold.at",
    replace: "$b.hold.at - $a.hold.at",
  },
  {
    name: "applied rules do not change the users who wait",
    in: "rebuildQueues",
    find: "computeStanding($state, $product, $place)",
    replace: "$place",
  },
  {
    name: "a hold is not counted by the rules after a restart",
    in: "loadPlace",
    find: "$place.hold !== null",
    replace: "false",
  },
];

const COPIED_PATHS = [
  "src",
  "test/domain/queue",
  "test/support",
  "test/faults",
  "package.json",
  "tsconfig.json",
];

const SEARCH = `
import { runRandomSequence } from "./test/domain/queue/random-queue.ts";
for (let seed = 1; seed <= 300; seed += 1) {
  let differs = false;
  try { runRandomSequence(seed); } catch { differs = true; }
  if (differs) { console.log("differs"); break; }
}
`;

test.each(INJECTED_BUGS.map((bug) => [bug.name, bug] as const))(
  "the plain walk over the queue detects an injected bug: %s",
  (_name, bug) => {
    const copy = mkdtempSync(join(tmpdir(), "berth-queue-"));
    onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
    copySources(copy, COPIED_PATHS, [bug]);
    writeFileSync(join(copy, "search.ts"), SEARCH);
    const child = Bun.spawnSync([process.execPath, "search.ts"], { cwd: copy });
    expect(child.stdout.toString() + child.stderr.toString()).toBe("differs\n");
  },
);
