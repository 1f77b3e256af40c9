import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import { failCallAt, FaultyDisk } from "../../support/faulty-disk.ts";
import {
  transactOrThrow,
  readLines,
  openLicensedSite,
  catchFolderRefusal,
  openAndCloseFolder,
} from "../../support/licensed-store.ts";
import { consume, utc } from "../../support/scenario.ts";
import { contentsOf, copyFolder } from "../../support/temp-folder.ts";
import { prepareUncoveredSite, type UncoveredSite } from "../../support/uncovered-site.ts";

const readAuditFiles = (folder: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(contentsOf(folder)).filter(([name]) => name.startsWith("history")),
  );

/** Checks that the folder is as a complete checkpoint leaves it. */
async function expectComplete(
  folder: string,
  { open, state }: UncoveredSite,
  expected: Record<string, string>,
) {
  expect(await openAndCloseFolder(folder)).toMatchObject({ state, notes: [] });
  expect(readAuditFiles(folder)).toEqual(expected);
  expect(readFileSync(join(folder, "state.json"), "utf8")).toContain(
    `"covers":{"seq":${open - 1},`,
  );
  expect(readdirSync(folder)).not.toContain("state.json.new");
}

async function completeAuditFiles(site: UncoveredSite): Promise<Record<string, string>> {
  const folder = copyFolder(site.folder);
  await checkpoint(realDisk, folder, site.open);
  const files = readAuditFiles(folder);
  expect(Object.keys(files)).toEqual(["history", "history/2026-03.jsonl", "history/2026-04.jsonl"]);
  const names = readdirSync(join(folder, "history")).toSorted();
  const lines = names.flatMap((name) => readLines(join(folder, "history", name)));
  expect(lines.map(({ line }) => line.audit_seq)).toEqual(lines.map((_line, index) => index + 1));
  return files;
}

describe("interrupted checkpoint", () => {
  test("at any disk call leaves a folder that starts, and the next checkpoint completes it", async () => {
    const site = await prepareUncoveredSite();
    const expected = await completeAuditFiles(site);
    let interrupted = 0;
    for (let callNumber = 1; ; callNumber += 1) {
      const folder = copyFolder(site.folder);
      const disk = new FaultyDisk();
      failCallAt(disk, callNumber, "EIO");
      const hasSucceeded = await checkpoint(disk, folder, site.open).then(
        () => true,
        () => false,
      );
      expect(await openAndCloseFolder(copyFolder(folder))).toMatchObject({
        state: site.state,
        notes: [],
      });
      await checkpoint(realDisk, folder, site.open);
      await expectComplete(folder, site, expected);
      if (hasSucceeded && disk.calls.length < callNumber) break;
      interrupted += 1;
    }
    expect(interrupted).toBeGreaterThan(30);
  });

  test("on a full disk leaves a folder that starts, and the next checkpoint completes it", async () => {
    const site = await prepareUncoveredSite();
    const expected = await completeAuditFiles(site);
    let interrupted = 0;
    for (let freeBytes = 0; ; freeBytes += 53) {
      const folder = copyFolder(site.folder);
      const disk = new FaultyDisk();
      disk.bytesLeft = freeBytes;
      // Otherwise it would not start; here the space runs out while it is running.
      disk.reportedFreeBytes = Infinity;
      const hasSucceeded = await checkpoint(disk, folder, site.open).then(
        () => true,
        () => false,
      );
      expect(await openAndCloseFolder(copyFolder(folder))).toMatchObject({
        state: site.state,
        notes: [],
      });
      await checkpoint(realDisk, folder, site.open);
      await expectComplete(folder, site, expected);
      if (hasSucceeded) break;
      interrupted += 1;
    }
    expect(interrupted).toBeGreaterThan(30);
  });

  test("at any disk call, and repeated, keeps an older state to go back to without loss", async () => {
    const site = await prepareUncoveredSite();
    for (let callNumber = 1; ; callNumber += 1) {
      const folder = copyFolder(site.folder);
      const disk = new FaultyDisk();
      failCallAt(disk, callNumber, "EIO");
      const hasSucceeded = await checkpoint(disk, folder, site.open).then(
        () => true,
        () => false,
      );
      await checkpoint(realDisk, folder, site.open);
      writeFileSync(join(folder, "state.json"), "");
      const { hint } = await catchFolderRefusal(folder);
      expect([callNumber, hint.slice(0, 3), hint.includes("nothing is lost")]).toEqual([
        callNumber,
        "cp ",
        true,
      ]);
      if (hasSucceeded && disk.calls.length < callNumber) break;
    }
  });

  test("twice in a row, at any two calls, is still completed by the next checkpoint", async () => {
    const site = await prepareUncoveredSite();
    const expected = await completeAuditFiles(site);
    for (let callNumber = 1; callNumber < 45; callNumber += 3) {
      const folder = copyFolder(site.folder);
      for (const next of [callNumber, callNumber + 4]) {
        const disk = new FaultyDisk();
        failCallAt(disk, next, "EIO");
        await checkpoint(disk, folder, site.open).catch(() => {});
      }
      await checkpoint(realDisk, folder, site.open);
      await expectComplete(folder, site, expected);
    }
  });
});

describe("checkpoint refuses, without changing the state,", () => {
  test("a damaged segment", async () => {
    const site = await prepareUncoveredSite();
    const path = join(site.folder, "journal-4.jsonl");
    const bytes = readFileSync(path);
    bytes[60] = (bytes[60] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    const before = readFileSync(join(site.folder, "state.json"));
    expect(checkpoint(realDisk, site.folder, site.open)).rejects.toThrow("is damaged at byte 0");
    expect(readFileSync(join(site.folder, "state.json"))).toEqual(before);
  });

  test("a segment without its last line", async () => {
    const site = await prepareUncoveredSite();
    const path = join(site.folder, "journal-6.jsonl");
    const [first] = readLines(path);
    writeFileSync(path, first?.raw ?? "");
    const before = readFileSync(join(site.folder, "state.json"));
    expect(checkpoint(realDisk, site.folder, site.open)).rejects.toThrow("the journal ends at");
    expect(readFileSync(join(site.folder, "state.json"))).toEqual(before);
  });
});

test("start does not remove a month whose only line has a wrong number as a checkpoint leftover", async () => {
  let isCheckpointEnabled = true;
  const { store, folder, clock } = await openLicensedSite({
    checkpoint: async (path, open) => {
      if (isCheckpointEnabled) await checkpoint(realDisk, path, open);
    },
  });
  for (const month of ["04", "05"]) {
    clock.now = utc(`2026-${month}-15T00:00:00Z`);
    await transactOrThrow(store, consume(1));
    await store.checkpoint();
  }
  isCheckpointEnabled = false;
  for (const amount of [1, 2, 3]) await transactOrThrow(store, consume(amount));
  const copy = copyFolder(folder);
  const path = join(copy, "history", "2026-04.jsonl");
  const [only, ...more] = readLines(path);
  expect(more).toEqual([]);
  const seq = only?.line.audit_seq ?? 0;
  // After the end that the state records, and not newer than the journal: April, May, one of three.
  const text = readFileSync(path, "utf8");
  const changed = text.replace(`"audit_seq":${seq},`, `"audit_seq":${seq + 2},`);
  expect(changed).not.toBe(text);
  writeFileSync(path, changed);
  await openAndCloseFolder(copy).catch(() => {});
  expect(readFileSync(path, "utf8")).toBe(changed);
});
