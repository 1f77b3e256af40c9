// Letting go of old months of the record: what is left can be verified from its anchor, and nothing
// goes that the way back needs.
import { describe, expect, test } from "bun:test";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/disk.ts";
import { GENESIS } from "../../src/platform/hash.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { generationsIn } from "../../src/store/files.ts";
import { StateFile } from "../../src/store/state-file.ts";
import { careSite, keeping, standsAt, verified } from "../support/care.ts";
import { failAt, FaultyDisk } from "../support/faulty-disk.ts";
import { done, linesIn, openSite, startIn, stateOf, type Site } from "../support/licensed-store.ts";
import { consume, MONDAY, utc } from "../support/scenario.ts";
import { contentsOf, copyOf } from "../support/temp-folder.ts";

const filesIn = (folder: string): string[] =>
  readdirSync(join(folder, "history"))
    .toSorted()
    .map((name) => name.replace(/^2026-|\.jsonl$/g, ""));

const anchorOf = async (folder: string) =>
  (await new StateFile(realDisk, folder).read())?.audit.anchor;

/** The number and sum of the last line of a file. */
function endOf(folder: string, month: string) {
  const last = linesIn(join(folder, "history", `2026-${month}.jsonl`)).at(-1)?.line;
  return { seq: last?.audit_seq ?? NaN, sum: last?.sum ?? "" };
}

/** Two lines in each of these months, and a checkpoint at the end of each. */
async function live({ store, clock }: Site, ...months: readonly string[]): Promise<void> {
  for (const month of months) {
    clock.now = utc(`2026-${month}-15T00:00:00Z`);
    await done(store, consume(1));
    await done(store, consume(2));
    await store.checkpoint();
    expect(store.health().checkpointError).toBeNull();
  }
}

describe("months of the record that need not be kept", () => {
  test("are all kept unless somebody says otherwise", async () => {
    const site = await careSite({ checkpoint: keeping(0) });
    await live(site, "04", "06", "12");
    expect(filesIn(site.folder)).toEqual(["03", "04", "06", "12"]);
    expect(await anchorOf(site.folder)).toEqual({ seq: 0, sum: GENESIS });
  });

  test("get an anchor with one checkpoint, and go with the next", async () => {
    const site = await careSite({ checkpoint: keeping(1) });
    await live(site, "03", "04");
    expect([filesIn(site.folder), (await anchorOf(site.folder))?.seq]).toEqual([["03", "04"], 0]);
    const march = endOf(site.folder, "03");
    await live(site, "05");
    expect(filesIn(site.folder)).toEqual(["03", "04", "05"]);
    expect(await anchorOf(site.folder)).toEqual(march);
    const april = endOf(site.folder, "04");
    await live(site, "06");
    expect(filesIn(site.folder)).toEqual(["04", "05", "06"]);
    expect(await anchorOf(site.folder)).toEqual(april);
    await live(site, "06");
    expect(filesIn(site.folder)).toEqual(["05", "06"]);
    expect(await anchorOf(site.folder)).toEqual(april);
    expect((await verified(site.folder)).record).toEqual({
      from: april.seq + 1,
      files: 2,
      lines: 6,
      leftover: 0,
    });
  });

  test("are counted from the month of the newest instant, over the end of a year", async () => {
    for (const [keep, left] of [
      [1, ["2026-12", "2027-01"]],
      [2, ["2026-11", "2026-12", "2027-01"]],
      [12, ["2026-03", "2026-10", "2026-11", "2026-12", "2027-01"]],
    ] as const) {
      const site = await careSite({ checkpoint: keeping(keep) });
      await live(site, "10", "11", "12");
      site.clock.now = utc("2027-01-01T00:00:00Z");
      for (let times = 0; times < 2; times += 1) {
        await done(site.store, consume(1));
        await site.store.checkpoint();
      }
      const names = readdirSync(join(site.folder, "history")).toSorted();
      expect([keep, names]).toEqual([keep, left.map((month) => `${month}.jsonl`)]);
      await verified(site.folder);
    }
  });

  test("are never the month that is being written, however long ago it was", async () => {
    const site = await careSite({ checkpoint: keeping(1) });
    await live(site, "04");
    site.clock.now = utc("2026-12-31T23:59:59Z");
    for (let times = 0; times < 3; times += 1) {
      // A line that is in no record: the last file stays the one of April.
      await done(site.store, { type: "MarkClock" });
      await site.store.checkpoint();
    }
    expect(filesIn(site.folder)).toEqual(["04"]);
    expect((await verified(site.folder)).record).toMatchObject({ files: 1, lines: 2 });
    site.clock.now = utc("2026-12-31T23:59:59Z");
    await done(site.store, consume(1));
    await site.store.checkpoint();
    await done(site.store, consume(1));
    await site.store.checkpoint();
    expect(filesIn(site.folder)).toEqual(["12"]);
    await verified(site.folder);
  });

  test("stay let go of when the setting is taken back", async () => {
    const site = await careSite({ checkpoint: keeping(1) });
    await live(site, "04", "05", "06", "07");
    const anchor = await anchorOf(site.folder);
    const before = filesIn(site.folder);
    await site.stop();
    await checkpointed(site.folder, 0);
    expect(await anchorOf(site.folder)).toEqual(anchor);
    expect(filesIn(site.folder)).toEqual(before.slice(1));
    await checkpointed(site.folder, 9);
    expect(await anchorOf(site.folder)).toEqual(anchor);
    await verified(site.folder);
  });

  test("lead to the same state, whether they are kept or not", async () => {
    const states = [];
    for (const keep of [0, 1, 3]) {
      const site = await careSite({ checkpoint: keeping(keep) });
      await live(site, "04", "05", "06", "07");
      states.push(await stateOf(site.store));
      expect((await startIn(copyOf(site.folder))).state).toEqual(await stateOf(site.store));
    }
    expect(states[1]).toEqual(states[0] as (typeof states)[0]);
    expect(states[2]).toEqual(states[0] as (typeof states)[0]);
  });
});

/** One more line, and a checkpoint that keeps so many months. */
async function checkpointed(folder: string, keep: number): Promise<void> {
  const { store, stop, clock } = await openSite({ folder, checkpoint: keeping(keep) });
  clock.now = utc("2026-07-20T00:00:00Z");
  await done(store, consume(1));
  await stop();
}

describe("a clock that was set back", () => {
  const back = { type: "SetClockBack", to: MONDAY, nonce: null, peer: "10.0.0.1" } as const;

  test("leaves the order of the lines, and nothing goes before its turn", async () => {
    const site = await careSite({ checkpoint: keeping(1) });
    await live(site, "03", "08");
    // March may go since August; then it is March again.
    await done(site.store, back);
    await live(site, "03", "04");
    const names = ["03", "03-8", "04", "08"];
    expect(filesIn(site.folder)).toEqual(names.slice(1));
    const { record } = await verified(site.folder);
    expect(record).toMatchObject({ from: 5, files: 3 });
    // August lies before March now, and stays until its own time has passed.
    await live(site, "05", "06", "07", "08", "09");
    expect(filesIn(site.folder)).toContain("08");
    await verified(site.folder);
    await live(site, "10", "11");
    expect(filesIn(site.folder)).not.toContain("08");
    expect((await verified(site.folder)).record.files).toBeLessThan(5);
  });
});

/** The folder just before a checkpoint that both moves the anchor and removes a file. */
async function ready() {
  let fold = true;
  const site = await careSite({
    checkpoint: async (path, open) => {
      if (fold) await checkpoint(realDisk, path, open, { keepMonths: 1 });
    },
  });
  await live(site, "04", "05");
  fold = false;
  await live(site, "06");
  const open = site.store.health().seq + 1;
  await done(site.store, consume(3));
  return { folder: copyOf(site.folder), open, state: await stateOf(site.store) };
}

const recordOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(contentsOf(folder)).filter(([name]) => name.startsWith("history")),
  );

describe("a checkpoint that lets go of something and is interrupted", () => {
  test("at any call leaves what starts, verifies and leads back, and the next makes up for it", async () => {
    const { folder: before, open, state } = await ready();
    const whole = copyOf(before);
    await checkpoint(realDisk, whole, open, { keepMonths: 1 });
    expect(filesIn(before)).toEqual(["03", "04", "05"]);
    expect(filesIn(whole)).toEqual(["04", "05", "06"]);
    let interrupted = 0;
    for (let place = 1; ; place += 1) {
      const folder = copyOf(before);
      const disk = new FaultyDisk();
      disk.syncs = false;
      failAt(disk, place, "EIO");
      const made = await checkpoint(disk, folder, open, { keepMonths: 1 }).then(
        () => true,
        () => false,
      );
      expect((await standsAt(folder)).state).toEqual(state);
      await verified(folder);
      await leadsBack(folder);
      await checkpoint(realDisk, folder, open, { keepMonths: 1 });
      expect(await anchorOf(folder)).toEqual(await anchorOf(whole));
      // A file whose removal failed stays for the next one that has something to do.
      const { ["history/2026-03.jsonl"]: _march, ...record } = recordOf(folder);
      expect([place, record]).toEqual([place, recordOf(whole)]);
      await verified(folder);
      await leadsBack(folder);
      if (made) break;
      interrupted += 1;
    }
    expect(interrupted).toBeGreaterThan(35);
  }, 30_000);

  test("removes what is left over with the one after", async () => {
    const { folder, open } = await ready();
    const disk = new FaultyDisk();
    disk.rule = ({ name, path }) => {
      if (name === "remove" && path.includes("history")) throw new Error("told to");
    };
    expect(checkpoint(disk, folder, open, { keepMonths: 1 })).rejects.toThrow("told to");
    expect(filesIn(folder)).toEqual(["03", "04", "05", "06"]);
    await checkpointed(folder, 1);
    expect(filesIn(folder)).not.toContain("03");
    await verified(folder);
  });
});

/** Each kept generation, put in the place of the state, starts with nothing missing. */
async function leadsBack(folder: string): Promise<void> {
  const { state } = await standsAt(folder);
  const kept = generationsIn(realDisk, folder);
  expect(kept.length).toBeGreaterThan(0);
  for (const { path } of kept) {
    const copy = copyOf(folder);
    copyFileSync(path, join(copy, "state.json"));
    expect((await standsAt(copy)).state).toEqual(state);
    await verified(copy);
  }
}

describe("going back to the kept generation", () => {
  test("finds no gap in the record, after any checkpoint, and goes on from there", async () => {
    const site = await careSite({ checkpoint: keeping(1) });
    for (const month of ["04", "05", "06", "07", "08"]) {
      await live(site, month);
      await leadsBack(site.folder);
      const copy = copyOf(site.folder);
      const [generation] = generationsIn(realDisk, copy);
      copyFileSync(generation?.path ?? "", join(copy, "state.json"));
      const { seq } = await standsAt(copy);
      await checkpoint(realDisk, copy, seq + 1, { keepMonths: 1 });
      expect(await verified(copy)).toMatchObject({ head: { seq }, covers: seq });
      expect(readFileSync(join(copy, "state.json"))).toEqual(
        readFileSync(join(site.folder, "state.json")),
      );
    }
  });
});

test("going back does not find a name taken that was taken when there was less to go by", async () => {
  const site = await careSite({ checkpoint: keeping(1) });
  await live(site, "03", "08");
  await done(site.store, { type: "SetClockBack", to: MONDAY, nonce: null, peer: "10.0.0.1" });
  await live(site, "03");
  // The first March went with the checkpoint that had to find another name for the second.
  expect(filesIn(site.folder)).toEqual(["03-8", "08"]);
  const copy = copyOf(site.folder);
  const [generation] = generationsIn(realDisk, copy);
  copyFileSync(generation?.path ?? "", join(copy, "state.json"));
  const again = await openSite({ folder: copy, checkpoint: keeping(1) });
  await live(again, "04");
  const { record } = await verified(copy);
  expect(record).toMatchObject({ from: 5, files: 3, leftover: 0 });
  expect(filesIn(copy)).toHaveLength(3);
});

test("the record is durable, names too, before a file of it is missed", async () => {
  const { folder, open } = await ready();
  const disk = new FaultyDisk();
  await checkpoint(disk, folder, open, { keepMonths: 1 });
  expect(disk.log("rename", "remove", "syncFolder").slice(-7)).toEqual([
    "rename state.json",
    "syncFolder data",
    expect.stringMatching(/^remove state-\d+\.json$/),
    expect.stringMatching(/^remove journal-\d+\.jsonl$/),
    "syncFolder data",
    "remove 2026-03.jsonl",
    "syncFolder history",
  ]);
});
