// A model that cannot disagree proves nothing: each mistake here is planted into a copy of the
// rules, and the model has to part with them.
import { expect, onTestFinished, test } from "bun:test";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../support/sources.ts";

interface InjectedBug {
  readonly name: string;
  readonly file: string;
  /** Must stand there exactly once. */
  readonly find: string;
  readonly replace: string;
}

const INJECTED_BUGS: readonly InjectedBug[] = [
  {
    name: "a slot is still held at the very instant it ends",
    file: "src/domain/slots.ts",
    find: "return held !== undefined && at < held.end ? held : null;",
    replace: "return held !== undefined && at <= held.end ? held : null;",
  },
  {
    name: "one slot more is lent than there are",
    file: "src/domain/slots.ts",
    find: "({ pool, terms }) => countSlotsInUse(pool, at) < terms.slots",
    replace: "({ pool, terms }) => countSlotsInUse(pool, at) <= terms.slots",
  },
  {
    name: "a borrow may be longer than the license allows",
    file: "src/domain/borrow.ts",
    find: "const cap = later(at, (terms.borrowHours ?? 0) * HOUR);",
    replace: "const cap = later(at, (terms.borrowHours ?? 0) * HOUR + 1);",
  },
  {
    name: "a borrowed slot is given back early where that is not allowed",
    file: "src/domain/unregister.ts",
    find: "terms.earlyReturn ? null : getBorrowEnd(held, at);",
    replace: "terms.earlyReturn ? null : null && getBorrowEnd(held, at);",
  },
  {
    name: "overage is not counted in",
    file: "src/domain/consumption.ts",
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
    name: "a feature's slot outlives the license's slot",
    file: "src/domain/features.ts",
    find: "const end = earliest(timeoutAt, license.pool.get(user)?.end ?? timeoutAt);",
    replace: "const end = timeoutAt;",
  },
  {
    name: "a clock set back moves what was granted before it went ahead",
    file: "src/domain/clock-jumps.ts",
    find: "(setAt <= to ? 0 : Math.max(0, from - to - sumJumpsSince(undone, setAt)))",
    replace: "(undone.length > 0 || setAt > to ? from - to : 0)",
  },
  {
    name: "a borrow that ended by a wrong clock stays ended",
    file: "src/domain/clock.ts",
    find: "findBorrowsToRestore(state, at, back)",
    replace: "findBorrowsToRestore(state, at, at)",
  },
  {
    name: "what was counted while the clock was wrong is forgotten",
    file: "src/domain/clock-set-back.ts",
    find: "(runsOn ? before.total : 0) + counter.counted - before.counted",
    replace: "(runsOn ? before.total : 0)",
  },
];

const SEARCH = `
import { runSeed } from "./test/model/compare.ts";
for (let seed = 1; seed <= 150; seed += 1) {
  let parted = true;
  try { parted = runSeed(seed, 400).difference !== null; } catch {}
  if (parted) { console.log("parted"); break; }
}
`;

test.each(INJECTED_BUGS.map((mistake) => [mistake.name, mistake] as const))(
  "the model parts with rules in which %s",
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
    expect(child.stdout.toString() + child.stderr.toString()).toBe("parted\n");
  },
);
