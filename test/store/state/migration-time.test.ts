// When a folder of an older format is migrated to the current format. It is migrated before the
// journal gets a new line, so that the older version refuses the folder, and not earlier.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Identity } from "../../../src/operations/identity.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { MigrationFailed } from "../../../src/store/folder/refusal.ts";
import { STATE_FORMAT } from "../../../src/store/state/snapshot.ts";
import { verify, type VerifyOptions } from "../../../src/operations/folder/verify.ts";
import { readFolderState } from "../../support/backup-site.ts";
import { makeDiskError, FaultyDisk } from "../../support/faulty-disk.ts";
import {
  transactCommand,
  transactOrThrow,
  transactInOneBatch,
  openSite,
  openAndCloseFolder,
  readState,
} from "../../support/licensed-store.ts";
import {
  readExpectedContents,
  listFixtureFormats,
  copyFixtureFolder,
} from "../../support/old-formats.ts";
import { contentsOf, copyFolder } from "../../support/temp-folder.ts";

/** The real check, because the key in the folder is from the version that wrote it. */
const identity: VerifyOptions["identity"] = (disk, folder, appliance) =>
  new Identity(disk, folder, []).open(appliance);

const textOf = (folder: string, name: string): string => readFileSync(join(folder, name), "utf8");

const formatOf = (folder: string, name = "state.json"): number =>
  Number(/^\{\n"format":(\d+),/.exec(textOf(folder, name))?.[1]);

/** The number of the last line that the state covers. */
const readCoveredSeq = (folder: string): number =>
  Number(/"covers":\{"seq":(\d+)/.exec(textOf(folder, "state.json"))?.[1]);

/** The files of a folder except the locks. */
function filesOf(folder: string): Record<string, string> {
  const { lock: _lock, "checkpoint.lock": _other, ...files } = contentsOf(folder);
  return files;
}

const listChangedFiles = (
  before: Record<string, string>,
  after: Record<string, string>,
): string[] => Object.keys({ ...before, ...after }).filter((name) => before[name] !== after[name]);

/** A command that changes any folder. */
const ASK_CLOCK = { type: "AskClock", nonce: "0123456789", peer: "test" } as const;

for (const format of listFixtureFormats()) {
  describe(`data folder of format ${format}`, () => {
    const { seq } = readExpectedContents(format);

    test("is migrated before the first change is written to its journal", async () => {
      const folder = copyFixtureFolder(format);
      const { store } = await openSite({ folder });
      expect(formatOf(folder)).toBe(format);
      await transactInOneBatch(store, ASK_CLOCK, { ...ASK_CLOCK, nonce: "other" });
      const copy = copyFolder(folder);
      expect(formatOf(copy)).toBe(STATE_FORMAT);
      expect(await readFolderState(copy)).toEqual({ seq: seq + 2, state: await readState(store) });
      expect((await verify(realDisk, copy, { identity })).head.seq).toBe(seq + 2);
    });

    test("is not changed by a store that only reads it, not even when that store closes", async () => {
      const folder = copyFixtureFolder(format);
      const before = filesOf(folder);
      const { store, stop } = await openSite({ folder });
      await readState(store);
      await stop();
      expect(filesOf(folder)).toEqual(before);
    });

    test("gets no journal line while the current format cannot be written", async () => {
      for (const call of ["write", "sync", "rename"] as const) {
        const folder = copyFixtureFolder(format);
        const disk = new FaultyDisk();
        const { store, fatalErrors } = await openSite({ folder, disk });
        const before = filesOf(folder);
        const olderStateFile = `state-${readCoveredSeq(folder)}.json`;
        disk.beforeCall = ({ name, path }) => {
          if (name === call && path.includes("state.json")) throw makeDiskError("ENOSPC");
        };
        const state = await readState(store);
        const answer = await transactCommand(store, ASK_CLOCK);
        expect(answer).toEqual({ ok: false, fault: { code: "storage_full" } });
        expect(await readState(store)).toEqual(state);
        expect(listChangedFiles(before, filesOf(folder))).toEqual(
          call === "rename" ? [olderStateFile] : [],
        );
        disk.clearFaults();
        await transactOrThrow(store, ASK_CLOCK);
        expect(formatOf(copyFolder(folder))).toBe(STATE_FORMAT);
        expect(fatalErrors).toEqual([]);
      }
    });

    test("is migrated when a server opens it", async () => {
      const folder = copyFixtureFolder(format);
      const covers = readCoveredSeq(folder);
      const { store } = await openSite({ folder, migrateOnOpen: true });
      const copy = copyFolder(folder);
      expect(formatOf(copy)).toBe(STATE_FORMAT);
      expect(await readFolderState(copy)).toEqual({ seq, state: await readState(store) });
      expect((await verify(realDisk, copy, { identity })).generations).toContain(covers);
      expect(formatOf(copy, `state-${covers}.json`)).toBe(format);
    });

    test("refuses a server that cannot write the current format, and stays unchanged", async () => {
      const folder = copyFixtureFolder(format);
      const before = filesOf(folder);
      const disk = new FaultyDisk();
      disk.bytesLeft = 100;
      const attempt = openSite({ folder, disk, migrateOnOpen: true });
      const error = await attempt.then(
        () => null,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(MigrationFailed);
      expect(String(error)).toContain(
        `${join(folder, "state.json")} has format ${format} and cannot be written in format ${STATE_FORMAT}: ENOSPC`,
      );
      expect(filesOf(folder)).toEqual(before);
      // The failed start released the folder's lock.
      expect((await openAndCloseFolder(folder, { create: false })).seq).toBe(seq);
    });
  });
}
