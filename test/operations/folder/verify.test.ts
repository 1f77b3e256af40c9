import { describe, expect, test } from "bun:test";
import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "../../../src/platform/crypto/hash.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import { verify } from "../../../src/operations/folder/verify.ts";
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
} from "../../support/backup-site.ts";
import { FaultyDisk } from "../../support/faulty-disk.ts";
import {
  transactOrThrow,
  readJournal,
  readLines,
  openAndCloseFolder,
  readState,
  type RawLine,
} from "../../support/licensed-store.ts";
import { consume, MONDAY, register, unregister, utc } from "../../support/scenario.ts";
import { contentsOf, copyFolder, tempFolder } from "../../support/temp-folder.ts";
import { makeContact } from "../../support/contact.ts";

/** As `openSiteWithHistory`, with one more line, so that the journal has two batches. */
async function prepareKilledSite(): Promise<string> {
  const { folder, store } = await openSiteWithHistory();
  await transactOrThrow(store, register("dua"));
  return copyFolder(folder);
}

const MARCH = "history/2026-03.jsonl";
const APRIL = "history/2026-04.jsonl";

describe("verify of an undamaged folder", () => {
  test("checks all files and reports what they contain", async () => {
    const { folder, store, clock } = await openSiteWithHistory();
    const copy = copyFolder(folder);
    const { seq, auditSeq } = store.status();
    const state = await readState(store);
    const report = await verifyFolder(copy);
    expect(report).toEqual({
      kind: "site",
      appliance: APPLIANCE_ID,
      licenses: 1,
      registrations: 2,
      head: { seq, auditSeq, sum: expect.any(String), auditSum: expect.any(String) },
      coveredSeq: 5,
      mark: clock.now,
      retired: null,
      pair: null,
      segments: [6],
      auditLog: { from: 1, to: 5, files: 2, lines: 5, leftover: 0 },
      auditGaps: [],
      auditDamage: null,
      generations: [3],
      tornBytes: 0,
      tornFiles: [],
    });
    expect(state.latestEventAt).toBe(report.mark);
    const lines = readJournal(copy);
    expect(report.head.sum).toBe(lines.at(-1)?.line.sum ?? "");
    const audited = lines.filter(({ line }) => line.audit_seq !== undefined);
    expect(report.head.auditSum).toBe(audited.at(-1)?.line.sum ?? "");
  });

  test("passes on every line of the audit chain once, in order, from audit log and journal", async () => {
    const folder = await prepareKilledSite();
    const passedLines: [number, string][] = [];
    await verify(realDisk, folder, {
      identity: checkIdentity,
      onAuditedLine: (seq, sum) => passedLines.push([seq, sum]),
    });
    const lines = new Map(
      [
        ...[MARCH, APRIL].flatMap((name) => readLines(join(folder, name))),
        ...readJournal(folder),
      ].flatMap(({ line }) => (line.audit_seq === undefined ? [] : [[line.audit_seq, line.sum]])),
    );
    expect(passedLines).toEqual([...lines] as [number, string][]);
    expect(passedLines.map(([seq]) => seq)).toEqual(passedLines.map((_, index) => index + 1));
    expect(passedLines.length).toBeGreaterThan(6);
  });

  test("gives the same report twice and does not change the folder", async () => {
    const folder = await prepareKilledSite();
    writeFileSync(join(folder, "journal-4.jsonl.17.torn"), "torn");
    editFile(join(folder, "journal-6.jsonl"), (bytes) =>
      Buffer.concat([bytes, Buffer.from('{"se')]),
    );
    const before = contentsOf(folder);
    const disk = new FaultyDisk();
    const report = await verifyFolder(folder, disk);
    expect(report).toMatchObject({ tornBytes: 4, tornFiles: ["journal-4.jsonl.17.torn"] });
    expect(await verifyFolder(folder)).toEqual(report);
    expect(contentsOf(folder)).toEqual(before);
    const readCalls = new Set(["list", "read", "readPart", "stat"]);
    expect(disk.calls.filter(({ name }) => !readCalls.has(name))).toEqual([]);
  });

  test("does not need the months that a checkpoint removed", async () => {
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

  test("accepts leftovers of an unfinished checkpoint after the end of the audit log", async () => {
    const folder = await prepareKilledSite();
    const leftover = Buffer.from("whatever it was");
    editFile(join(folder, APRIL), (bytes) => Buffer.concat([bytes, leftover]));
    writeFileSync(join(folder, "history/2026-05.jsonl"), "{");
    writeFileSync(join(folder, "history/notes.txt"), "not an audit file");
    const { auditLog } = await verifyFolder(folder);
    expect(auditLog).toEqual({
      from: 1,
      to: 5,
      files: 2,
      lines: 5,
      leftover: leftover.length + 1,
    });
  });

  test("reports an older state only if the journal continues it", async () => {
    const folder = await prepareKilledSite();
    rmSync(join(folder, "journal-4.jsonl"));
    expect((await verifyFolder(folder)).generations).toEqual([]);
  });

  test("reports no older state when a segment between it and the state is missing", async () => {
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

  test("accepts a kept state that is newer than state.json", async () => {
    const { folder, store } = await openSiteWithHistory();
    const copy = copyFolder(folder);
    // As after `cp state-3.json state.json`.
    copyFileSync(join(copy, "state.json"), join(copy, "state-5.json"));
    copyFileSync(join(copy, "state-3.json"), join(copy, "state.json"));
    const report = await verifyFolder(copy);
    expect(report).toMatchObject({
      coveredSeq: 3,
      segments: [4, 6],
      generations: [3],
      head: { seq: store.status().seq },
      // The lines that the newer state covers are still there and will be written again.
      auditLog: { lines: 3, files: 1 },
    });
    expect(report.auditLog.leftover).toBeGreaterThan(100);
  });

  test("reads the audit log in the order of its lines after the clock was set back", async () => {
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

  test("reads an audit file that is larger than one read", async () => {
    const { folder, store } = await openSiteWithKey();
    for (let part = 0; part < 60; part += 1) {
      const contact = makeContact({ info: "x".repeat(50_000 + part) });
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

describe("verify refuses", () => {
  test("a damaged state, with the command that restores the older state", async () => {
    const folder = await prepareKilledSite();
    const path = join(folder, "state.json");
    flipBit(path, 400);
    const before = contentsOf(folder);
    const refusal = await catchRefusal(verifyFolder(folder));
    expect(refusal).toEqual({
      name: "FolderRefused",
      message: `${path} does not match its checksum`,
      hint: `cp -p '${join(folder, "state-3.json")}' '${path}' # nothing is lost: the journal contains every change since`,
    });
    expect(await catchRefusal(verifyFolder(folder))).toEqual(refusal);
    expect(contentsOf(folder)).toEqual(before);
  });

  test("a state with a valid checksum that the journal does not lead to", async () => {
    const folder = await prepareKilledSite();
    editFile(join(folder, "state.json"), (bytes) => {
      const text = bytes.toString().replace(/"nextSlot":\d+/, '"nextSlot":77');
      const content = text.slice(0, text.lastIndexOf('"sum":"'));
      return `${content}"sum":"${sha256(content)}"\n}\n`;
    });
    expect((await catchRefusal(verifyFolder(folder))).message).toBe(
      `${join(folder, "state-3.json")} and the journal since do not lead to state.json`,
    );
  });

  test("a damaged older state, though a start still succeeds", async () => {
    const folder = await prepareKilledSite();
    const path = join(folder, "state-3.json");
    flipBit(path, 400);
    expect(await catchRefusal(verifyFolder(folder))).toEqual({
      name: "FolderRefused",
      message: `${path} does not match its checksum`,
      hint: "this older state is only a fallback: the next checkpoint replaces it",
    });
    await openAndCloseFolder(folder);
  });

  test("the key of another appliance", async () => {
    const folder = await prepareKilledSite();
    writeFileSync(join(folder, "identity.jwk"), "other");
    expect((await catchRefusal(verifyFolder(folder))).message).toContain("identity.jwk is another");
  });

  test("a folder that is no data folder", async () => {
    const folder = tempFolder();
    expect(await catchRefusal(verifyFolder(folder))).toEqual({
      name: "FolderRefused",
      message: `${folder} is not a data folder`,
      hint: "specify another folder with --data DIR",
    });
  });
});

describe("verify refuses journal damage and reports file, offset and line", () => {
  test("when it is after the state", async () => {
    const folder = await prepareKilledSite();
    const path = join(folder, "journal-6.jsonl");
    const second = readLines(path)[1] as RawLine;
    flipBit(path, second.offset + 30);
    expect((await catchRefusal(verifyFolder(folder))).message).toBe(
      `${path} is damaged at byte ${second.offset}, where line 7 is expected; lines that were safely on disk follow`,
    );
  });

  test("when it is before the state, though a start still succeeds", async () => {
    const folder = await prepareKilledSite();
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

  test("when it is at the end of a segment that is not the last", async () => {
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

  test("when a segment is missing", async () => {
    const folder = await prepareKilledSite();
    rmSync(join(folder, "journal-6.jsonl"));
    const missing = join(folder, "journal-6.jsonl");
    expect((await catchRefusal(verifyFolder(folder))).message).toBe(
      `the journal in ${folder} does not continue its state: everything from line 6 on is missing (no file ${missing})`,
    );
  });
});
