// When a folder of an older format becomes one of today's: before anything new is in its journal, so
// that the version it came from refuses it, and not before there is anything new to write.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Identity } from "../../src/operations/identity.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { MigrationFailed } from "../../src/store/refusal.ts";
import { STATE_FORMAT } from "../../src/store/snapshot.ts";
import { verify, type VerifyOptions } from "../../src/store/verify.ts";
import { readFolderState } from "../support/backup-site.ts";
import { makeDiskError, FaultyDisk } from "../support/faulty-disk.ts";
import {
  transactCommand,
  transactOrThrow,
  transactInOneBatch,
  openSite,
  openAndCloseFolder,
  readState,
} from "../support/licensed-store.ts";
import {
  readExpectedContents,
  listFixtureFormats,
  copyFixtureFolder,
} from "../support/old-formats.ts";
import { contentsOf, copyFolder } from "../support/temp-folder.ts";

/** The real check: the key in the folder was made by the version that wrote it. */
const identity: VerifyOptions["identity"] = (disk, folder, appliance) =>
  new Identity(disk, folder, []).open(appliance);

const textOf = (folder: string, name: string): string => readFileSync(join(folder, name), "utf8");

const formatOf = (folder: string, name = "state.json"): number =>
  Number(/^\{\n"format":(\d+),/.exec(textOf(folder, name))?.[1]);

/** The last line that the state covers. */
const coveredIn = (folder: string): number =>
  Number(/"covers":\{"seq":(\d+)/.exec(textOf(folder, "state.json"))?.[1]);

/** What a folder holds but for the locks. */
function filesOf(folder: string): Record<string, string> {
  const { lock: _lock, "checkpoint.lock": _other, ...files } = contentsOf(folder);
  return files;
}

const changed = (before: Record<string, string>, after: Record<string, string>): string[] =>
  Object.keys({ ...before, ...after }).filter((name) => before[name] !== after[name]);

/** A change that can be made to any folder. */
const ASK_CLOCK = { type: "AskClock", nonce: "0123456789", peer: "test" } as const;

for (const format of listFixtureFormats()) {
  describe(`a folder of format ${format}`, () => {
    const { seq } = readExpectedContents(format);

    test("is in today's format before the first change is in its journal", async () => {
      const folder = copyFixtureFolder(format);
      const { store } = await openSite({ folder });
      expect(formatOf(folder)).toBe(format);
      await transactInOneBatch(store, ASK_CLOCK, { ...ASK_CLOCK, nonce: "other" });
      const copy = copyFolder(folder);
      expect(formatOf(copy)).toBe(STATE_FORMAT);
      expect(await readFolderState(copy)).toEqual({ seq: seq + 2, state: await readState(store) });
      expect((await verify(realDisk, copy, { identity })).head.seq).toBe(seq + 2);
    });

    test("is not changed by a store that only reads it, not even at its end", async () => {
      const folder = copyFixtureFolder(format);
      const before = filesOf(folder);
      const { store, stop } = await openSite({ folder });
      await readState(store);
      await stop();
      expect(filesOf(folder)).toEqual(before);
    });

    test("gets no change into its journal while today's format cannot be written", async () => {
      for (const call of ["write", "sync", "rename"] as const) {
        const folder = copyFixtureFolder(format);
        const disk = new FaultyDisk();
        const { store, fatalErrors } = await openSite({ folder, disk });
        const before = filesOf(folder);
        const kept = `state-${coveredIn(folder)}.json`;
        disk.beforeCall = ({ name, path }) => {
          if (name === call && path.includes("state.json")) throw makeDiskError("ENOSPC");
        };
        const state = await readState(store);
        const answer = await transactCommand(store, ASK_CLOCK);
        expect(answer).toEqual({ ok: false, fault: { code: "storage_full" } });
        expect(await readState(store)).toEqual(state);
        expect(changed(before, filesOf(folder))).toEqual(call === "rename" ? [kept] : []);
        disk.clearFaults();
        await transactOrThrow(store, ASK_CLOCK);
        expect(formatOf(copyFolder(folder))).toBe(STATE_FORMAT);
        expect(fatalErrors).toEqual([]);
      }
    });

    test("is in today's format when a server has opened it", async () => {
      const folder = copyFixtureFolder(format);
      const covers = coveredIn(folder);
      const { store } = await openSite({ folder, migrateOnOpen: true });
      const copy = copyFolder(folder);
      expect(formatOf(copy)).toBe(STATE_FORMAT);
      expect(await readFolderState(copy)).toEqual({ seq, state: await readState(store) });
      expect((await verify(realDisk, copy, { identity })).generations).toContain(covers);
      expect(formatOf(copy, `state-${covers}.json`)).toBe(format);
    });

    test("refuses a server that cannot write today's format, and stays as it was", async () => {
      const folder = copyFixtureFolder(format);
      const before = filesOf(folder);
      const disk = new FaultyDisk();
      disk.bytesLeft = 100;
      const opening = openSite({ folder, disk, migrateOnOpen: true });
      const refused = await opening.then(
        () => null,
        (error: unknown) => error,
      );
      expect(refused).toBeInstanceOf(MigrationFailed);
      expect(String(refused)).toContain(
        `${join(folder, "state.json")} has format ${format} and cannot be written in format ${STATE_FORMAT}: ENOSPC`,
      );
      expect(filesOf(folder)).toEqual(before);
      // It let go of the folder.
      expect((await openAndCloseFolder(folder, { create: false })).seq).toBe(seq);
    });
  });
}
