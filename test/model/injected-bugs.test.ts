// Shows that the model can disagree: each bug here is put into a copy of the rules, and the model
// must then differ from them.
import { expect, onTestFinished, test } from "bun:test";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../support/sources.ts";

interface InjectedBug {
  readonly name: string;
  readonly file: string;
  /** Must occur in the file exactly once. */
  readonly find: string;
  readonly replace: string;
}

const INJECTED_BUGS: readonly InjectedBug[] = [
  {
    name: "a slot is still held at the instant it ends",
    file: "src/domain/slots/slots.ts",
    find: "return holder !== undefined && at < holder.end ? holder : null;",
    replace: "return holder !== undefined && at <= holder.end ? holder : null;",
  },
  {
    name: "one slot more is granted than the license has",
    file: "src/domain/slots/slots.ts",
    find: "({ pool, terms }) => countSlotsInUse(pool, at) < terms.slots",
    replace: "({ pool, terms }) => countSlotsInUse(pool, at) <= terms.slots",
  },
  {
    name: "a borrow may be longer than the license allows",
    file: "src/domain/slots/borrow.ts",
    find: "const cap = later(at, (terms.borrowHours ?? 0) * HOUR);",
    replace: "const cap = later(at, (terms.borrowHours ?? 0) * HOUR + 1);",
  },
  {
    name: "a borrowed slot is released early where that is not allowed",
    file: "src/domain/slots/unregister.ts",
    find: "(terms.earlyReturn ? null : getBorrowEnd(registration, at));",
    replace: "(terms.earlyReturn ? null : null && getBorrowEnd(registration, at));",
  },
  {
    name: "overage is not granted",
    file: "src/domain/consumption/consumption.ts",
    find: "return Math.min(terms.max + overages, limits.consumptionTotal);",
    replace: "return Math.min(terms.max + overages * 0, limits.consumptionTotal);",
  },
  {
    name: "a total is reset a day late",
    file: "src/domain/time.ts",
    find: "weekly: () => day.add({ days: 8 - day.dayOfWeek }),",
    replace: "weekly: () => day.add({ days: 9 - day.dayOfWeek }),",
  },
  {
    name: "a feature slot outlasts its license slot",
    file: "src/domain/features/features.ts",
    find: "const end = earliest(timeoutAt, license.pool.get(user)?.end ?? timeoutAt);",
    replace: "const end = timeoutAt;",
  },
  {
    name: "setting the clock back moves grants from before the jump",
    file: "src/domain/clock/clock-jumps.ts",
    find: "(setAt <= to ? 0 : Math.max(0, from - to - sumJumpsSince(undoneJumps, setAt)))",
    replace: "(undoneJumps.length > 0 || setAt > to ? from - to : 0)",
  },
  {
    name: "a borrow that ended by a wrong clock is not restored",
    file: "src/domain/clock/clock.ts",
    find: "findBorrowsToRestore(state, at, newTime)",
    replace: "findBorrowsToRestore(state, at, at)",
  },
  {
    name: "counts made while the clock was wrong are lost",
    file: "src/domain/clock/clock-set-back.ts",
    find: "(isSamePeriod ? before.total : 0) + counter.counted - before.counted",
    replace: "(isSamePeriod ? before.total : 0)",
  },
];

const SEARCH = `
import { runSeed } from "./test/model/compare.ts";
for (let seed = 1; seed <= 150; seed += 1) {
  let differs = true;
  try { differs = runSeed(seed, 400).difference !== null; } catch {}
  if (differs) { console.log("differs"); break; }
}
`;

test.each(INJECTED_BUGS.map((bug) => [bug.name, bug] as const))(
  "the model detects an injected bug: %s",
  (_name, { file, find, replace }) => {
    const copy = mkdtempSync(join(tmpdir(), "berth-model-"));
    onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
    for (const name of [
      "src",
      "test/model",
      "test/support",
      "test/faults",
      "package.json",
      "tsconfig.json",
    ]) {
      cpSync(join(repositoryRoot, name), join(copy, name), { recursive: true });
    }
    symlinkSync(join(repositoryRoot, "node_modules"), join(copy, "node_modules"));
    const source = readFileSync(join(repositoryRoot, file), "utf8");
    expect(source.split(find).length - 1).toBe(1);
    writeFileSync(
      join(copy, file),
      source.replace(find, () => replace),
    );
    writeFileSync(join(copy, "search.ts"), SEARCH);
    const child = Bun.spawnSync([process.execPath, "search.ts"], { cwd: copy });
    expect(child.stdout.toString() + child.stderr.toString()).toBe("differs\n");
  },
);
