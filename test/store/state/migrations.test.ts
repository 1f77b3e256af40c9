// The migration of a data folder from an older format, with a format that never was: in it, `kind`
// was named `purpose`, and there was no `auditGaps`. A folder is migrated before the journal gets a
// new line, so that the older version refuses the folder, and not earlier.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { sha256 } from "../../../src/platform/crypto/hash.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import { MigrationFailed } from "../../../src/store/folder/refusal.ts";
import { MIGRATIONS, migrate } from "../../../src/store/state/migrations.ts";
import { STATE_FORMAT } from "../../../src/store/state/snapshot.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";
import {
  backUpFolder,
  catchRefusal,
  newBackupPath,
  openSiteWithHistory,
  readFolderState,
  restoreTo,
  verifyFolder,
} from "../../support/backup-site.ts";
import { failCallAt, FaultyDisk, makeDiskError } from "../../support/faulty-disk.ts";
import {
  catchFolderRefusal,
  listSegmentNames,
  openAndCloseFolder,
  openSite,
  readState,
  transactCommand,
  transactInOneBatch,
  transactOrThrow,
  type StateDump,
} from "../../support/licensed-store.ts";
import { contentsOf, copyFolder, tempFolder } from "../../support/temp-folder.ts";

const OLD_FORMAT = STATE_FORMAT - 1;

beforeAll(() => {
  MIGRATIONS[OLD_FORMAT] = ({ purpose, ...old }) => ({ ...old, kind: purpose, auditGaps: [] });
});

afterAll(() => {
  delete MIGRATIONS[OLD_FORMAT];
});

const textOf = (folder: string, name: string): string => readFileSync(join(folder, name), "utf8");

const formatOf = (folder: string, name = "state.json"): number =>
  Number(/^\{\n"format":(\d+),/.exec(textOf(folder, name))?.[1]);

/** The number of the last line that the state covers. */
const readCoveredSeq = (folder: string): number =>
  Number(/"covers":\{"seq":(\d+)/.exec(textOf(folder, "state.json"))?.[1]);

/** Changes the text of a state and its checksum. */
function editState(folder: string, name: string, edit: (text: string) => string): void {
  const text = edit(textOf(folder, name));
  const content = text.slice(0, text.lastIndexOf('"sum":"'));
  writeFileSync(join(folder, name), `${content}"sum":"${sha256(content)}"\n}\n`);
}

const writeFormat = (folder: string, format: string, name = "state.json"): void =>
  editState(folder, name, (text) => text.replace(/"format":\d+/, `"format":${format}`));

interface KeptFolder {
  readonly folder: string;
  /** What it holds. */
  readonly state: StateDump;
  readonly seq: number;
}

/** A killed site with two states and with lines that no state covers, in the older format. */
async function makeOldFolder(): Promise<KeptFolder> {
  const { folder: current, store } = await openSiteWithHistory();
  const folder = copyFolder(current);
  for (const name of listStateNames(folder)) {
    editState(folder, name, (text) =>
      text
        .replace(`"format":${STATE_FORMAT}`, `"format":${OLD_FORMAT}`)
        .replace('"kind":', '"purpose":')
        .replace('"auditGaps":[],\n', ""),
    );
    expect(JSON.parse(textOf(folder, name))).not.toContainAnyKeys(["kind", "auditGaps"]);
  }
  return { folder, state: await readState(store), seq: store.status().seq };
}

const listStateNames = (folder: string): string[] =>
  [...new Bun.Glob("state*.json").scanSync(folder)].toSorted();

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

describe("a data folder of an older format", () => {
  test("has the same contents, and is not changed by reading and verifying it", async () => {
    const { folder, state, seq } = await makeOldFolder();
    const before = contentsOf(folder);
    expect(await readFolderState(folder)).toEqual({ state, seq });
    const { head, generations } = await verifyFolder(folder);
    expect([head.seq, generations.length]).toEqual([seq, 1]);
    expect(contentsOf(folder)).toEqual(before);
  });

  test("is not changed by a store that only reads it, not even when that store closes", async () => {
    const { folder, state } = await makeOldFolder();
    const before = filesOf(folder);
    const { store, stop } = await openSite({ folder });
    expect(await readState(store)).toEqual(state);
    await stop();
    expect(filesOf(folder)).toEqual(before);
  });

  test("is migrated before the first change is written to its journal", async () => {
    const { folder, seq } = await makeOldFolder();
    const { store } = await openSite({ folder });
    expect(formatOf(folder)).toBe(OLD_FORMAT);
    await transactInOneBatch(store, ASK_CLOCK, { ...ASK_CLOCK, nonce: "other" });
    const copy = copyFolder(folder);
    expect(formatOf(copy)).toBe(STATE_FORMAT);
    expect(await readFolderState(copy)).toEqual({ seq: seq + 2, state: await readState(store) });
    expect((await verifyFolder(copy)).head.seq).toBe(seq + 2);
  });

  test("gets no journal line while the current format cannot be written", async () => {
    for (const call of ["write", "sync", "rename"] as const) {
      const { folder } = await makeOldFolder();
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

  test("is migrated when a server opens it, which keeps the state in its old format", async () => {
    const { folder, state, seq } = await makeOldFolder();
    const covers = readCoveredSeq(folder);
    const old = textOf(folder, "state.json");
    await openSite({ folder, migrateOnOpen: true });
    const copy = copyFolder(folder);
    expect(formatOf(copy)).toBe(STATE_FORMAT);
    expect(await readFolderState(copy)).toEqual({ seq, state });
    expect((await verifyFolder(copy)).generations).toContain(covers);
    expect(textOf(copy, `state-${covers}.json`)).toBe(old);
  });

  test("can be restored from the state that the migration keeps", async () => {
    const { folder, state, seq } = await makeOldFolder();
    await openSite({ folder, migrateOnOpen: true });
    const copy = copyFolder(folder);
    writeFileSync(join(copy, "state.json"), "");
    const { hint } = await catchRefusal(readFolderState(copy));
    expect(Bun.spawnSync(["sh", "-c", hint]).exitCode).toBe(0);
    expect(formatOf(copy)).toBe(OLD_FORMAT);
    expect(await readFolderState(copy)).toEqual({ seq, state });
  });

  test("refuses a server that cannot write the current format, and stays unchanged", async () => {
    const { folder, seq } = await makeOldFolder();
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
      `${join(folder, "state.json")} has format ${OLD_FORMAT} and cannot be written in format ${STATE_FORMAT}: ENOSPC`,
    );
    expect(filesOf(folder)).toEqual(before);
    // The failed start released the folder's lock.
    expect((await openAndCloseFolder(folder, { create: false })).seq).toBe(seq);
  });

  test.each<[string, (folder: string, disk: FaultyDisk) => Promise<unknown>]>([
    [
      "its migration is",
      (folder, disk) => openAndCloseFolder(folder, { disk, create: false, migrateOnOpen: true }),
    ],
    [
      "its first checkpoint is",
      (folder, disk) =>
        checkpoint(disk, folder, Number(listSegmentNames(folder).at(-1)?.match(/\d+/))),
    ],
  ])("stays readable when %s interrupted at any disk call", async (_what, interrupt) => {
    const { folder: before, state, seq } = await makeOldFolder();
    const open = seq + 1;
    writeFileSync(join(before, `journal-${open}.jsonl`), "", { mode: 0o600 });
    let failureCount = 0;
    for (let callNumber = 1; ; callNumber += 1) {
      const folder = copyFolder(before);
      const disk = new FaultyDisk();
      disk.hasRealSync = false;
      failCallAt(disk, callNumber, "EIO");
      const hasSucceeded = await interrupt(folder, disk).then(
        () => true,
        () => false,
      );
      // As after a kill: no lock is held.
      const copy = copyFolder(folder);
      expect([callNumber, await readFolderState(copy)]).toEqual([callNumber, { state, seq }]);
      expect([OLD_FORMAT, STATE_FORMAT]).toContain(formatOf(copy));
      await verifyFolder(copy);
      await openAndCloseFolder(copy, { create: false, migrateOnOpen: true });
      await checkpoint(realDisk, copy, open);
      expect([callNumber, formatOf(copy), (await readFolderState(copy)).state]).toEqual([
        callNumber,
        STATE_FORMAT,
        state,
      ]);
      if (hasSucceeded && disk.calls.length < callNumber) break;
      failureCount += 1;
    }
    expect(failureCount).toBeGreaterThan(10);
  });

  test("can be backed up and restored", async () => {
    const { folder, state, seq } = await makeOldFolder();
    const newFolder = join(tempFolder(), "data");
    const { lineage } = await restoreTo(newFolder, await backUpFolder(folder), {
      now: state.latestEventAt,
    });
    const restore = { lineage, at: state.latestEventAt, seq, replaced: null };
    expect((await openAndCloseFolder(newFolder)).state).toEqual({
      ...state,
      restores: [...state.restores, restore],
    });
  });
});

describe("a data folder of an unknown format", () => {
  const READABLE = `this version of berth reads formats ${OLD_FORMAT} to ${STATE_FORMAT}`;
  const NEW = "start the version of berth that wrote it, or a newer one";
  const OLD = "keep that version for it, or begin a new folder with --data DIR";
  const unknownFormats: Record<string, [message: string, hint: string]> = {
    "-1": [`has format -1 of Berth 0.2.0 or older; ${READABLE}`, OLD],
    "0": [`has format 0 of Berth 0.2.0 or older; ${READABLE}`, OLD],
    [`${OLD_FORMAT - 1}`]: [
      `has format ${OLD_FORMAT - 1} of Berth 0.2.0 or older; ${READABLE}`,
      OLD,
    ],
    [`${STATE_FORMAT + 1}`]: [`has format ${STATE_FORMAT + 1}; ${READABLE}`, NEW],
    "1000000": [`has format 1000000; ${READABLE}`, NEW],
  };
  for (const [format, [message, hint]] of Object.entries(unknownFormats)) {
    test(`${format} is refused in one line, and the folder is not changed`, async () => {
      const { folder } = await makeOldFolder();
      writeFormat(folder, format);
      const before = contentsOf(folder);
      const path = join(folder, "state.json");
      for (const attempt of [
        readFolderState(folder),
        verifyFolder(folder),
        backUpFolder(folder, newBackupPath()),
        openAndCloseFolder(folder),
      ]) {
        expect(await catchRefusal(attempt)).toEqual({
          name: "FolderRefused",
          message: `${path} ${message}`,
          hint,
        });
      }
      expect(contentsOf(folder)).toEqual(before);
    });
  }

  for (const format of ["null", '"3"', "2.5", "[3]", "{}", "true", "1e400"]) {
    test(`${format}, which is no format number, is refused as a damaged state`, async () => {
      const { folder } = await makeOldFolder();
      writeFormat(folder, format);
      const before = contentsOf(folder);
      const { message, hint } = await catchRefusal(readFolderState(folder));
      expect(message).toBe(`${join(folder, "state.json")} does not have the shape of a state`);
      expect(hint).toStartWith("cp -p ");
      expect(contentsOf(folder)).toEqual(before);
    });
  }

  test("is refused as damaged if its checksum is wrong", async () => {
    const { folder } = await makeOldFolder();
    const path = join(folder, "state.json");
    writeFileSync(path, textOf(folder, "state.json").replace(/"format":\d/, '"format":4'));
    const { message, hint } = await catchFolderRefusal(folder);
    expect(message).toBe(`${path} does not match its checksum`);
    expect(hint).toStartWith("cp -p ");
  });

  test("of an older state prevents a hint to go back to it", async () => {
    const { folder } = await makeOldFolder();
    const older = listStateNames(folder).find((name) => name !== "state.json");
    writeFormat(folder, `${STATE_FORMAT + 1}`, older);
    writeFileSync(join(folder, "state.json"), "");
    expect((await catchRefusal(readFolderState(folder))).hint).toStartWith(
      "this folder has no usable older state",
    );
  });
});

describe("migrate", () => {
  test("applies each step from the format of the data on", () => {
    MIGRATIONS[OLD_FORMAT - 1] = (old) => ({ ...old, purpose: "site" });
    try {
      expect(migrate({ format: OLD_FORMAT - 1, other: [1] })).toEqual({
        format: STATE_FORMAT,
        other: [1],
        kind: "site",
        auditGaps: [],
      });
    } finally {
      delete MIGRATIONS[OLD_FORMAT - 1];
    }
  });

  test("returns a state of the current format, or data that is no state, unchanged", () => {
    for (const data of [{ format: STATE_FORMAT, x: 1 }, null, 7, "x", [], {}, { format: "2" }]) {
      expect(migrate(data)).toBe(data);
    }
  });

  test("does not turn incomplete data into a valid state", async () => {
    const folder = tempFolder();
    const content = `{\n"format":${OLD_FORMAT},\n`;
    writeFileSync(join(folder, "state.json"), `${content}"sum":"${sha256(content)}"\n}\n`);
    expect(new StateFile(realDisk, folder).read()).rejects.toThrow("does not have the shape");
  });
});
