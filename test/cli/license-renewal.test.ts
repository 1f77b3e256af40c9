import { expect, test } from "bun:test";
import { done, doneJson } from "../support/berth.ts";
import { DeskLoop } from "../support/desk-loop.ts";

interface AddOutput {
  readonly id: number;
  readonly changes: readonly string[] | null;
}

test("berth license add says what a renewal changed, and nothing of it for a new license", async () => {
  const loop = new DeskLoop();
  await loop.open("CAD");
  const until = (year: number) => ["--valid-until", `${year}-01-01T00:00:00Z`];
  const first = await loop.answer("CAD", "--slots", "3", ...until(2097));
  const { id, changes } = await doneJson<AddOutput>(loop.add(first));
  expect(changes).toBeNull();
  expect(await done(loop.add(first))).toBe(`license ${id} for CAD is already installed\n`);

  const renewal = await loop.answer("CAD", "--slots", "8", ...until(2099), "--feature", "PRO");
  expect(await done(loop.add(renewal))).toBe(
    `license ${id} for CAD is renewed: slots 3 → 8, ends 2099-01-01T00:00:00Z (was 2097-01-01T00:00:00Z), feature PRO added\n`,
  );
  expect((await doneJson<AddOutput>(loop.add(renewal))).changes).toBeNull();

  const same = await loop.answer("CAD");
  expect(await done(loop.add(same))).toBe(
    `license ${id} for CAD is renewed: its terms did not change\n`,
  );
  const more = await loop.answer("CAD", "--slots", "9");
  expect((await doneJson<AddOutput>(loop.add(more))).changes).toEqual(["slots 8 → 9"]);
});
