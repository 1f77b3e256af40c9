import { describe, expect, test } from "bun:test";
import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "../../src/platform/hash.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { verify } from "../../src/store/verify.ts";
import {
  APPLIANCE_ID,
  openSiteWithKey,
  editFile,
  flipBit,
  checkIdentity,
  checkpointKeepingMonths,
  openSiteWithHistory,
  catchRefusal,
  verifyFolder,
} from "../support/backup-site.ts";
import { FaultyDisk } from "../support/faulty-disk.ts";
import {
  transactOrThrow,
  readJournal,
  readLines,
  openAndCloseFolder,
  readState,
  type RawLine,
} from "../support/licensed-store.ts";
import { consume, MONDAY, register, unregister, utc } from "../support/scenario.ts";
import { contentsOf, copyFolder, tempFolder } from "../support/temp-folder.ts";

/** As `livedSite`, and one line more, so that the journal has two batches. */
async function killed(): Promise<string> {
  const { folder, store } = await openSiteWithHistory();
  await transactOrThrow(store, register("dua"));
  return copyFolder(folder);
}

const MARCH = "history/2026-03.jsonl";
const APRIL = "history/2026-04.jsonl";

describe("a folder as it was written", () => {
  test("is walked from end to end, and told about", async () => {
    const { folder, store, clock } = await openSiteWithHistory();
    const copy = copyFolder(folder);
    const { seq, auditSeq } = store.health();
    const state = await readState(store);
    const found = await verifyFolder(copy);
    expect(found).toEqual({
      kind: "site",
      appliance: APPLIANCE_ID,
      licenses: 1,
      registrations: 2,
      head: { seq, auditSeq, sum: expect.any(String), auditSum: expect.any(String) },
      coveredSeq: 5,
      mark: clock.now,
      retired: null,
      segments: [6],
      auditLog: { from: 1, to: 5, files: 2, lines: 5, leftover: 0 },
      auditGaps: [],
      auditDamage: null,
      generations: [3],
      tornBytes: 0,
      tornFiles: [],
    });
    expect(state.latestEventAt).toBe(found.mark);
    const lines = readJournal(copy);
    expect(found.head.sum).toBe(lines.at(-1)?.line.sum ?? "");
    const audited = lines.filter(({ line }) => line.audit_seq !== undefined);
    expect(found.head.auditSum).toBe(audited.at(-1)?.line.sum ?? "");
  });

  test("gives every line of the audit chain once, in order, folded or not", async () => {
    const folder = await killed();
    const seen: [number, string][] = [];
    await verify(realDisk, folder, {
      identity: checkIdentity,
      onAuditedLine: (seq, sum) => seen.push([seq, sum]),
    });
    const lines = new Map(
      [
        ...[MARCH, APRIL].flatMap((name) => readLines(join(folder, name))),
        ...readJournal(folder),
      ].flatMap(({ line }) => (line.audit_seq === undefined ? [] : [[line.audit_seq, line.sum]])),
    );
    expect(seen).toEqual([...lines] as [number, string][]);
    expect(seen.map(([seq]) => seq)).toEqual(seen.map((_, place) => place + 1));
    expect(seen.length).toBeGreaterThan(6);
  });

  test("is the same the second time, and not touched", async () => {
    const folder = await killed();
    writeFileSync(join(folder, "journal-4.jsonl.17.torn"), "torn");
    editFile(join(folder, "journal-6.jsonl"), (bytes) =>
      Buffer.concat([bytes, Buffer.from('{"se')]),
    );
    const before = contentsOf(folder);
    const disk = new FaultyDisk();
    const found = await verifyFolder(folder, disk);
    expect(found).toMatchObject({ torn: 4, tornFiles: ["journal-4.jsonl.17.torn"] });
    expect(await verifyFolder(folder)).toEqual(found);
    expect(contentsOf(folder)).toEqual(before);
    const looks = new Set(["list", "read", "readPart", "stat"]);
    expect(disk.calls.filter(({ name }) => !looks.has(name))).toEqual([]);
  });

  test("needs nothing that a checkpoint let go of", async () => {
    const { folder, store, clock } = await openSiteWithKey({
      checkpoint: checkpointKeepingMonths(1),
    });
    for (const month of ["04", "05", "06", "07"]) {
      clock.now = utc(`2026-${month}-01T00:00:00Z`);
      await transactOrThrow(store, consume(1));
      await store.checkpoint();
    }
    expect((await verifyFolder(folder)).auditLog).toEqual({
      from: 5,
      to: 6,
      files: 2,
      lines: 2,
      leftover: 0,
    });
  });

  test("may have an unfinished fold behind its record", async () => {
    const folder = await killed();
    const more = Buffer.from("whatever it was");
    editFile(join(folder, APRIL), (bytes) => Buffer.concat([bytes, more]));
    writeFileSync(join(folder, "history/2026-05.jsonl"), "{");
    writeFileSync(join(folder, "history/notes.txt"), "not a file of the record");
    const { auditLog } = await verifyFolder(folder);
    expect(auditLog).toEqual({
      from: 1,
      to: 5,
      files: 2,
      lines: 5,
      leftover: more.length + 1,
    });
  });

  test("has a generation to go back to only where the journal leads from it", async () => {
    const folder = await killed();
    rmSync(join(folder, "journal-4.jsonl"));
    expect((await verifyFolder(folder)).generations).toEqual([]);
  });

  test("has none where a part of the journal on the way is gone", async () => {
    const { folder, store } = await openSiteWithKey({
      checkpoint: async (path, open) => {
        if (open !== 4) await checkpoint(realDisk, path, open);
      },
    });
    for (const user of ["ada", "bob"]) {
      await transactOrThrow(store, register(user));
      await store.checkpoint();
    }
    expect((await verifyFolder(folder)).generations).toEqual([0]);
    rmSync(join(folder, "journal-1.jsonl"));
    expect((await verifyFolder(folder)).generations).toEqual([]);
  });

  test("may have a generation that is newer than its state", async () => {
    const { folder, store } = await openSiteWithHistory();
    const copy = copyFolder(folder);
    // As after `cp state-3.json state.json`.
    copyFileSync(join(copy, "state.json"), join(copy, "state-5.json"));
    copyFileSync(join(copy, "state-3.json"), join(copy, "state.json"));
    const found = await verifyFolder(copy);
    expect(found).toMatchObject({
      covers: 3,
      segments: [4, 6],
      generations: [3],
      head: { seq: store.health().seq },
      // What the newer state knew of is there, and will be written again.
      record: { lines: 3, files: 1 },
    });
    expect(found.auditLog.leftover).toBeGreaterThan(100);
  });

  test("is walked in the order of its lines after the clock was set back", async () => {
    const { folder, store, clock } = await openSiteWithKey();
    clock.now = utc("2026-04-01T00:00:00Z");
    await transactOrThrow(store, consume(1));
    await store.checkpoint();
    await transactOrThrow(store, {
      type: "SetClockBack",
      to: MONDAY,
      nonce: null,
      peer: "10.0.0.1",
    });
    clock.now = MONDAY;
    await transactOrThrow(store, consume(1));
    await store.checkpoint();
    expect((await verifyFolder(folder)).auditLog).toEqual({
      from: 1,
      to: 5,
      files: 3,
      lines: 5,
      leftover: 0,
    });
  });

  test("may have a record larger than what is read at once", async () => {
    const { folder, store } = await openSiteWithKey();
    for (let part = 0; part < 60; part += 1) {
      const contact = { hostname: "", ip: "", info: "x".repeat(50_000 + part), peer: "" };
      await transactOrThrow(store, register(`user-${part}`, { contact }));
      await transactOrThrow(store, unregister(`user-${part}`));
    }
    await store.checkpoint();
    const { auditLog } = await verifyFolder(folder);
    expect(auditLog).toMatchObject({ files: 1, leftover: 0 });
    const lines = readLines(join(folder, MARCH));
    expect(auditLog.lines).toBe(lines.length);
    const copy = copyFolder(folder);
    const last = lines.at(-2) as RawLine;
    expect(last.offset).toBeGreaterThan(2_000_000);
    flipBit(join(copy, MARCH), last.offset + 9);
    expect((await catchRefusal(verifyFolder(copy))).message).toBe(
      `${copy}/${MARCH} is damaged at byte ${last.offset}, where line ${last.line.audit_seq} of the audit log is expected`,
    );
  });
});

describe("damage to the state is named", () => {
  test("and the way back with it", async () => {
    const folder = await killed();
    const path = join(folder, "state.json");
    flipBit(path, 400);
    const before = contentsOf(folder);
    const said = await catchRefusal(verifyFolder(folder));
    expect(said).toEqual({
      name: "FolderRefused",
      message: `${path} does not match its checksum`,
      hint: `cp -p '${join(folder, "state-3.json")}' '${path}' # nothing is lost: the journal contains every change since`,
    });
    expect(await catchRefusal(verifyFolder(folder))).toEqual(said);
    expect(contentsOf(folder)).toEqual(before);
  });

  test("when the checksum fits and it is not where the journal leads", async () => {
    const folder = await killed();
    editFile(join(folder, "state.json"), (bytes) => {
      const text = bytes.toString().replace(/"nextSlot":\d+/, '"nextSlot":77');
      const content = text.slice(0, text.lastIndexOf('"sum":"'));
      return `${content}"sum":"${sha256(content)}"\n}\n`;
    });
    expect((await catchRefusal(verifyFolder(folder))).message).toBe(
      `${join(folder, "state-3.json")} and the journal since do not lead to state.json`,
    );
  });

  test("in a kept generation, which nothing else hangs on", async () => {
    const folder = await killed();
    const path = join(folder, "state-3.json");
    flipBit(path, 400);
    expect(await catchRefusal(verifyFolder(folder))).toEqual({
      name: "FolderRefused",
      message: `${path} does not match its checksum`,
      hint: "this older state is only a fallback: the next checkpoint replaces it",
    });
    await openAndCloseFolder(folder);
  });

  test("in a key that is another's", async () => {
    const folder = await killed();
    writeFileSync(join(folder, "identity.jwk"), "other");
    expect((await catchRefusal(verifyFolder(folder))).message).toContain("identity.jwk is another");
  });

  test("in a folder that is none", async () => {
    const folder = tempFolder();
    expect(await catchRefusal(verifyFolder(folder))).toEqual({
      name: "FolderRefused",
      message: `${folder} is not a data folder`,
      hint: "specify another folder with --data DIR",
    });
  });
});

describe("damage to the journal is named by file, place and line", () => {
  test("after the state", async () => {
    const folder = await killed();
    const path = join(folder, "journal-6.jsonl");
    const second = readLines(path)[1] as RawLine;
    flipBit(path, second.offset + 30);
    expect((await catchRefusal(verifyFolder(folder))).message).toBe(
      `${path} is damaged at byte ${second.offset}, where line 7 is expected; lines that were safely on disk follow`,
    );
  });

  test("before the state, where only the way back hangs on it", async () => {
    const folder = await killed();
    const path = join(folder, "journal-4.jsonl");
    const second = readLines(path)[1] as RawLine;
    flipBit(path, second.offset + 30);
    expect(await catchRefusal(verifyFolder(folder))).toEqual({
      name: "FolderRefused",
      message: `${path} is damaged at byte ${second.offset}`,
      hint: "this older state is only a fallback: the next checkpoint replaces it",
    });
    await openAndCloseFolder(folder);
  });

  test("at the end of a file that is not the last", async () => {
    const { folder, store } = await openSiteWithKey({ checkpoint: async () => {} });
    await transactOrThrow(store, register("ada"));
    await store.checkpoint();
    await transactOrThrow(store, register("bob"));
    const copy = copyFolder(folder);
    const path = join(copy, "journal-1.jsonl");
    const last = readLines(path).at(-1) as RawLine;
    editFile(path, (bytes) => bytes.subarray(0, -9));
    expect((await catchRefusal(verifyFolder(copy))).message).toStartWith(
      `${path} is damaged at byte ${last.offset}, where line 3 is expected`,
    );
  });

  test("when a file is missing", async () => {
    const folder = await killed();
    rmSync(join(folder, "journal-6.jsonl"));
    const missing = join(folder, "journal-6.jsonl");
    expect((await catchRefusal(verifyFolder(folder))).message).toBe(
      `the journal in ${folder} does not continue its state: everything from line 6 on is missing (no file ${missing})`,
    );
  });
});
