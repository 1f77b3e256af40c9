import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { limits } from "../../src/domain/limits.ts";
import {
  backupOf,
  careSite,
  heldBy,
  keeping,
  livedSite,
  refusal,
  replacedIn,
  restoreTo,
  standsAt,
  storeFiles,
  unfinished,
  verified,
} from "../support/care.ts";
import {
  done,
  doneTogether,
  journalOf,
  openSite,
  startIn,
  stateOf,
} from "../support/licensed-store.ts";
import { consume, MONDAY, register, utc } from "../support/scenario.ts";
import { contentsOf, copyOf, modeOf, tempFolder } from "../support/temp-folder.ts";

const LATE = utc("2026-06-01T12:34:56.789Z");

/** A backup, and the folder it was taken from three lines later. */
async function older() {
  const { folder, store } = await livedSite();
  const file = await backupOf(folder);
  const held = await heldBy(file);
  await done(store, register("dua"));
  await doneTogether(store, register("eve"), register("fay"));
  return { folder: copyOf(folder), file, held, store };
}

const newFolder = (): string => join(tempFolder(), "data");

describe("a restore into a new folder", () => {
  test("brings back the state of the backup, and says so in the record", async () => {
    const { file, held } = await older();
    const folder = newFolder();
    const {
      manifest,
      lineage,
      replacedFolder: replaced,
      lostLines: lost,
    } = await restoreTo(folder, file, { now: LATE });
    expect({ replaced, lost }).toEqual({ replaced: null, lost: 0 });
    expect(manifest.seq).toBe(held.seq);
    expect(lineage).toMatch(/^[0-9a-f]{32}$/);
    const restore = { lineage, at: LATE, seq: held.seq, replaced: null };
    expect(await startIn(folder)).toEqual({
      state: { ...held.state, latestEventAt: LATE, restores: [restore] },
      seq: held.seq + 1,
      notes: [],
    });
    const { line } = journalOf(folder).at(-1) ?? {};
    expect(line).toMatchObject({
      seq: held.seq + 1,
      from: held.seq + 1,
      at: LATE,
      audit_seq: manifest.audit_seq + 1,
      events: [{ type: "Restored", at: LATE, restore }],
    });
    expect(await verified(folder)).toMatchObject({
      head: { seq: held.seq + 1, auditSeq: manifest.audit_seq + 1 },
      generations: [5],
      torn: 0,
    });
    expect([unfinished(folder), replacedIn(folder)]).toEqual([[], null]);
  });

  test("leaves everything for its owner alone", async () => {
    const { file } = await older();
    const folder = newFolder();
    await restoreTo(folder, file);
    for (const name of Object.keys(contentsOf(folder))) {
      const mode = name === "." || name === "history" ? "700" : "600";
      expect([name, modeOf(join(folder, name))]).toEqual([name, mode]);
    }
  });

  test("can be served, and leads back to its own checkpoint like any other", async () => {
    const { file, held } = await older();
    const folder = newFolder();
    await restoreTo(folder, file);
    const site = await openSite({ folder });
    site.clock.now = held.state.latestEventAt;
    await done(site.store, register("gil"));
    await site.store.checkpoint();
    expect(site.store.health().checkpointError).toBeNull();
    const state = await stateOf(site.store);
    expect(state.restores).toHaveLength(1);
    await site.stop();
    expect((await startIn(folder)).state).toEqual(state);
    expect((await verified(folder)).generations).toHaveLength(1);
    writeFileSync(join(folder, "state.json"), "");
    expect((await refusal(verified(folder))).hint).toStartWith("cp -p ");
  });

  test("has a way back from the first moment on", async () => {
    const { file } = await older();
    const folder = newFolder();
    await restoreTo(folder, file);
    const state = await standsAt(folder);
    writeFileSync(join(folder, "state.json"), "");
    const { hint } = await refusal(standsAt(folder));
    expect(Bun.spawnSync(["sh", "-c", hint]).exitCode).toBe(0);
    expect(await standsAt(folder)).toEqual(state);
  });

  test("never happens before what the backup already knew", async () => {
    const { file, held } = await older();
    const folder = newFolder();
    expect(held.state.latestEventAt).toBeGreaterThan(MONDAY);
    await restoreTo(folder, file, { now: MONDAY });
    const { state } = await standsAt(folder);
    expect(state.restores[0]?.at).toBe(held.state.latestEventAt);
    expect(state.latestEventAt).toBe(held.state.latestEventAt);
  });

  test("takes a folder that is there and empty, or holds what an interrupted one left", async () => {
    const { file, held } = await older();
    const folder = newFolder();
    mkdirSync(join(folder, "restore.new", "history"), { recursive: true, mode: 0o700 });
    for (const name of ["state.json", "history/2020-01.jsonl", "history/2026-03.jsonl"]) {
      writeFileSync(join(folder, "restore.new", name), "half");
    }
    await restoreTo(folder, file);
    expect((await standsAt(folder)).seq).toBe(held.seq + 1);
    expect(Object.keys(storeFiles(folder))).not.toContain("history/2020-01.jsonl");
    await verified(folder);
  });
});

test("a restore takes a folder in which nothing but an earlier restore's keepings are left", async () => {
  const { folder, file, held } = await older();
  const { replacedFolder: replaced } = await restoreTo(folder, file, { acceptLoss: true });
  for (const name of Object.keys(storeFiles(folder))) {
    rmSync(join(folder, name), { recursive: true, force: true });
  }
  const before = contentsOf(replaced ?? "");
  expect((await restoreTo(folder, file)).replacedFolder).toBeNull();
  expect((await standsAt(folder)).seq).toBe(held.seq + 1);
  expect(contentsOf(replaced ?? "")).toEqual(before);
});

describe("a restore over an older folder of the same line", () => {
  test("loses nothing, and needs nobody's leave", async () => {
    const { folder, store } = await livedSite();
    const behind = copyOf(folder);
    const before = storeFiles(behind);
    const { seq } = store.health();
    await done(store, register("dua"));
    const file = await backupOf(folder);
    const { replacedFolder: replaced, lostLines: lost } = await restoreTo(behind, file);
    expect(lost).toBe(0);
    expect(replaced).toBe(replacedIn(behind));
    expect(storeFiles(replaced ?? "")).toEqual(before);
    const { state } = await standsAt(behind);
    expect(state.restores).toEqual([
      { lineage: expect.any(String), at: expect.any(Number), seq: seq + 1, replaced: seq },
    ]);
  });

  test("needs none either when the backup is of this very moment", async () => {
    const { folder } = await livedSite();
    const copy = copyOf(folder);
    expect((await restoreTo(copy, await backupOf(copy))).lostLines).toBe(0);
  });

  test("needs none when the folder ends in lines that the record does not have", async () => {
    const { folder, store } = await livedSite();
    await done(store, register("cem"));
    const copy = copyOf(folder);
    await done(store, register("dua"));
    expect((await restoreTo(copy, await backupOf(folder))).lostLines).toBe(0);
  });

  test("needs none when its last line is the last one the backup let go of", async () => {
    const { folder, store, clock } = await careSite({ checkpoint: keeping(1) });
    const behind = copyOf(folder);
    for (const month of ["04", "05"]) {
      clock.now = utc(`2026-${month}-01T00:00:00Z`);
      await done(store, consume(1));
      await store.checkpoint();
    }
    const file = await backupOf(folder);
    expect((await verified(folder)).auditLog.from).toBe(3);
    expect(await restoreTo(behind, file)).toMatchObject({ lost: 0 });
  });
});

describe("what is replaced is kept", () => {
  test("byte for byte, and what is not of the backup's kind stays where it is", async () => {
    const { folder, file } = await older();
    const beside: Record<string, string> = {
      "credentials.sealed": "sealed",
      "sealing.key": "key",
      "notes.txt": "an operator's own",
    };
    for (const [name, text] of Object.entries(beside)) writeFileSync(join(folder, name), text);
    writeFileSync(join(folder, "journal-6.jsonl.77.torn"), "torn");
    writeFileSync(join(folder, "state.json.new"), "half");
    const before = storeFiles(folder);
    expect(Object.keys(before)).toContainValues([
      "journal-6.jsonl.77.torn",
      "state.json.new",
      "identity.jwk",
      "history/2026-03.jsonl",
    ]);
    const { replacedFolder: replaced } = await restoreTo(folder, file, { acceptLoss: true });
    expect(storeFiles(replaced ?? "")).toEqual(before);
    expect(Object.keys(contentsOf(replaced ?? "")).length).toBe(Object.keys(before).length + 1);
    for (const [name, text] of Object.entries(beside)) {
      expect(readFileSync(join(folder, name), "utf8")).toBe(text);
    }
    expect(existsSync(join(folder, "journal-6.jsonl.77.torn"))).toBe(false);
    expect(modeOf(replaced ?? "")).toBe("700");
  });

  test("under a name that tells when, and whose", async () => {
    const { folder, file } = await older();
    const { replacedFolder: replaced, lineage } = await restoreTo(folder, file, {
      acceptLoss: true,
      now: LATE,
    });
    expect(replaced).toBe(join(folder, `replaced-20260601T123456Z-${lineage.slice(0, 8)}`));
  });

  test("each time, also twice within a second", async () => {
    const { folder, file } = await older();
    const first = await restoreTo(folder, file, { acceptLoss: true });
    const second = await restoreTo(folder, file, { acceptLoss: true });
    expect(first.lineage).not.toBe(second.lineage);
    const kept = readdirSync(folder).filter((name) => name.startsWith("replaced-"));
    expect(kept).toHaveLength(2);
    expect((await standsAt(first.replacedFolder ?? "")).state.restores).toEqual([]);
    expect((await standsAt(second.replacedFolder ?? "")).state.restores).toHaveLength(1);
  });

  test("and can be put back by hand", async () => {
    const { folder, file } = await older();
    const before = await standsAt(folder);
    const { replacedFolder: replaced } = await restoreTo(folder, file, { acceptLoss: true });
    expect(await standsAt(replaced ?? "")).toEqual(before);
    await verified(replaced ?? "");
  });
});

describe("restores are remembered", () => {
  test("after a checkpoint, and after a restore of a restored folder's backup", async () => {
    const { file } = await older();
    const folder = newFolder();
    const first = await restoreTo(folder, file);
    const site = await openSite({ folder });
    await site.stop();
    const second = await restoreTo(folder, await backupOf(folder));
    const { restores } = (await standsAt(folder)).state;
    expect(restores.map(({ lineage }) => lineage)).toEqual([first.lineage, second.lineage]);
    await verified(folder);
  });

  test("up to a bound, the newest ones", async () => {
    const { file } = await older();
    const folder = newFolder();
    const lineages: string[] = [];
    let next = file;
    for (let count = 0; count < limits.restores + 2; count += 1) {
      lineages.push((await restoreTo(folder, next)).lineage);
      next = await backupOf(folder);
    }
    const { restores } = (await standsAt(folder)).state;
    expect(restores.map(({ lineage }) => lineage)).toEqual(lineages.slice(-limits.restores));
  });
});
