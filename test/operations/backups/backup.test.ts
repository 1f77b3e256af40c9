import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { version } from "../../../src/platform/embedded/version.ts";
import { MANIFEST_FILE } from "../../../src/operations/backups/backup-manifest.ts";
import { makeBackup, openBackup } from "../../../src/operations/backups/backup.ts";
import {
  APPLIANCE_ID,
  backUpFolder,
  openSiteWithKey,
  editFile,
  flipBit,
  readBackupState,
  checkIdentity,
  checkpointKeepingMonths,
  openSiteWithHistory,
  newBackupPath,
  catchRefusal,
  readFolderState,
} from "../../support/backup-site.ts";
import { makeDiskError, failCallAt, FaultyDisk } from "../../support/faulty-disk.ts";
import {
  transactOrThrow,
  readLines,
  openAndCloseFolder,
  readState,
} from "../../support/licensed-store.ts";
import { MONDAY, register, utc } from "../../support/scenario.ts";
import { contentsOf, copyFolder, modeOf, tempFolder } from "../../support/temp-folder.ts";
import { waitUntil } from "../../support/wait-until.ts";

const makeSiteBackup = (folder: string, out: string, disk = realDisk) =>
  makeBackup(disk, folder, out, MONDAY, { identity: checkIdentity });

const STATE_FILES = ["identity.jwk", "state.json", "journal-6.jsonl"];
const AUDIT_FILES = ["history/2026-03.jsonl", "history/2026-04.jsonl"];

describe("backup", () => {
  test("contains only the key, the state, the journal since it and the audit log", async () => {
    const { folder, store } = await openSiteWithHistory();
    for (const name of ["credentials.sealed", "sealing.key", "journal-1.jsonl.9.torn", "x.json"]) {
      writeFileSync(join(folder, name), "secret");
    }
    const out = newBackupPath();
    const { manifest, verifyReport, size } = await makeSiteBackup(folder, out);
    const { archive } = await openBackup(realDisk, out, { identity: checkIdentity });
    expect(archive.names).toEqual([...STATE_FILES, ...AUDIT_FILES, MANIFEST_FILE]);
    for (const name of [...STATE_FILES, ...AUDIT_FILES]) {
      expect(archive.read(join(out, name))).toEqual(
        new Uint8Array(readFileSync(join(folder, name))),
      );
    }
    expect(size).toBe(readFileSync(out).length);
    expect(readFileSync(out).includes("secret")).toBe(false);
    const { seq, auditSeq } = store.status();
    expect(verifyReport).toMatchObject({
      coveredSeq: 5,
      segments: [6],
      licenses: 1,
      head: { seq },
    });
    expect(manifest).toEqual({
      backup: 1,
      berth: version,
      made_at: "2026-03-02T09:00:00.000Z",
      appliance: APPLIANCE_ID,
      kind: "site",
      seq,
      audit_seq: auditSeq,
      files: [...STATE_FILES, ...AUDIT_FILES].map((name) => {
        const bytes = readFileSync(join(folder, name));
        const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
        return { name, size: bytes.length, sha256 };
      }),
    });
    expect(
      JSON.parse(Buffer.from(archive.read(join(out, MANIFEST_FILE)) ?? []).toString()),
    ).toEqual(manifest);
  });

  test("is accessible only to its owner and does not change the folder", async () => {
    const { folder } = await openSiteWithHistory();
    const copy = copyFolder(folder);
    const before = contentsOf(copy);
    const out = await backUpFolder(copy);
    expect(modeOf(out)).toBe("600");
    expect(readdirSync(dirname(out))).toEqual(["site.berth"]);
    expect(contentsOf(copy)).toEqual(before);
  });

  test("can be made before the first checkpoint and after a clean stop", async () => {
    const { folder, store, stop } = await openSiteWithKey();
    expect(await readBackupState(await backUpFolder(folder))).toMatchObject({ seq: 2 });
    await transactOrThrow(store, register("ada"));
    const state = await readState(store);
    await stop();
    expect(await readBackupState(await backUpFolder(folder))).toEqual({ state, seq: 3 });
  });

  test("contains closed segments that no checkpoint covers yet", async () => {
    const { folder, store } = await openSiteWithKey({ checkpoint: async () => {} });
    for (const user of ["ada", "bob", "cem"]) {
      await transactOrThrow(store, register(user));
      await store.checkpoint();
    }
    const out = await backUpFolder(folder);
    expect(await readBackupState(out)).toEqual({ state: await readState(store), seq: 5 });
    const { verifyReport } = await openBackup(realDisk, out, { identity: checkIdentity });
    expect(verifyReport.segments).toEqual([1, 4, 5, 6]);
  });

  test("leaves out an interrupted write and the leftovers of an unfinished checkpoint", async () => {
    const { folder, store } = await openSiteWithHistory();
    const { seq } = store.status();
    const copy = copyFolder(folder);
    await store.checkpoint();
    editFile(join(copy, "journal-6.jsonl"), (bytes) =>
      Buffer.concat([bytes, Buffer.from('{"seq":')]),
    );
    // As a checkpoint leaves it when it ends after writing the audit log.
    writeFileSync(
      join(copy, "history/2026-04.jsonl"),
      readFileSync(join(folder, "history/2026-04.jsonl")),
    );
    writeFileSync(join(copy, "history/2026-05.jsonl"), "");
    const out = await backUpFolder(copy);
    const { verifyReport, archive } = await openBackup(realDisk, out, {
      identity: checkIdentity,
    });
    expect(verifyReport).toMatchObject({ tornBytes: 0, head: { seq }, auditLog: { leftover: 0 } });
    expect(archive.names).toEqual([...STATE_FILES, ...AUDIT_FILES, MANIFEST_FILE]);
  });

  test("contains only the months that the audit log still has to keep", async () => {
    const { folder, store, clock } = await openSiteWithKey({
      checkpoint: checkpointKeepingMonths(1),
    });
    for (const month of ["03", "04", "05"]) {
      clock.now = utc(`2026-${month}-30T00:00:00Z`);
      await transactOrThrow(store, register("ada"));
      await store.checkpoint();
    }
    // March need not be kept any more; the next checkpoint removes its file.
    expect(readdirSync(join(folder, "history")).toSorted()).toEqual(
      ["03", "04", "05"].map((month) => `2026-${month}.jsonl`),
    );
    const { archive, verifyReport } = await openBackup(realDisk, await backUpFolder(folder), {
      identity: checkIdentity,
    });
    expect(archive.names.filter((name) => name.startsWith("history"))).toEqual([
      "history/2026-04.jsonl",
      "history/2026-05.jsonl",
    ]);
    const [first] = readLines(join(folder, "history/2026-04.jsonl"));
    expect(verifyReport.auditLog).toMatchObject({ from: first?.line.audit_seq, files: 2 });
  });

  test("of a demo has the kind demo", async () => {
    const folder = join(tempFolder(), "data");
    await openAndCloseFolder(folder, { kind: "demo", identify: async () => APPLIANCE_ID });
    writeFileSync(join(folder, "identity.jwk"), `the key of ${APPLIANCE_ID}\n`);
    expect((await makeSiteBackup(folder, newBackupPath())).manifest.kind).toBe("demo");
  });

  test("is synced under its final name before makeBackup resolves", async () => {
    const { folder } = await openSiteWithHistory();
    const disk = new FaultyDisk();
    const out = newBackupPath();
    await makeSiteBackup(folder, out, disk);
    const calls = disk.listCalls("open", "sync", "close", "rename", "link", "syncFolder", "remove");
    // It has a temporary name until it is complete.
    expect(calls.map((call) => call.replace(/\.[0-9a-f]{16}\.new$/, ".*.new"))).toEqual([
      "open site.berth.*.new",
      "sync site.berth.*.new",
      "close site.berth.*.new",
      "link site.berth",
      "remove site.berth.*.new",
      `syncFolder ${dirname(out).split("/").at(-1)}`,
    ]);
  });
});

describe("backup", () => {
  test("refuses to overwrite a file that already exists", async () => {
    const { folder } = await openSiteWithHistory();
    const out = newBackupPath();
    writeFileSync(out, "older");
    expect(await catchRefusal(makeSiteBackup(folder, out))).toEqual({
      name: "BackupRefused",
      message: `${out} already exists`,
      hint: "choose a new file name; backups are not overwritten",
    });
    expect(readFileSync(out, "utf8")).toBe("older");
    expect(readdirSync(dirname(out))).toEqual(["site.berth"]);
  });

  test("refuses an empty folder", async () => {
    const folder = tempFolder();
    const out = newBackupPath();
    expect(await catchRefusal(makeSiteBackup(folder, out))).toEqual({
      name: "FolderRefused",
      message: `${folder} is not a data folder`,
      hint: "specify another folder with --data DIR",
    });
    expect(readdirSync(dirname(out))).toEqual([]);
  });

  type Damage = (folder: string) => void;
  const damages: Record<string, [damage: Damage, expectedMessage: string | RegExp]> = {
    "a damaged state": [
      (folder) => flipBit(join(folder, "state.json"), 99),
      "state.json does not match its checksum",
    ],
    "a damaged journal": [
      (folder) => flipBit(join(folder, "journal-6.jsonl"), 99),
      /^journal-6\.jsonl is damaged at byte 0, where line 6 is expected/,
    ],
    "a missing journal": [
      (folder) => rmSync(join(folder, "journal-6.jsonl")),
      /^does not continue its state: everything from line 6 on is missing \(no file/,
    ],
    "the key of another appliance": [
      (folder) => writeFileSync(join(folder, "identity.jwk"), "other"),
      "identity.jwk is another appliance's key",
    ],
    "a missing key": [
      (folder) => rmSync(join(folder, "identity.jwk")),
      "identity.jwk is another appliance's key",
    ],
  };
  for (const [damageName, [damage, expectedMessage]] of Object.entries(damages)) {
    test(`refuses a folder with ${damageName} and names the folder, not the copy`, async () => {
      const { folder, store } = await openSiteWithHistory();
      await transactOrThrow(store, register("dua"));
      const copy = copyFolder(folder);
      damage(copy);
      const before = contentsOf(copy);
      const out = newBackupPath();
      const { name, message } = await catchRefusal(makeSiteBackup(copy, out));
      const [prefix, ...rest] = message.split(copy);
      expect([name, prefix]).toEqual([
        "FolderRefused",
        expect.stringMatching(/^(?:the \w+ in )?$/),
      ]);
      expect(rest.join(copy).slice(1)).toEqual(
        typeof expectedMessage === "string"
          ? expectedMessage
          : expect.stringMatching(expectedMessage),
      );
      expect(readdirSync(dirname(out))).toEqual([]);
      expect(contentsOf(copy)).toEqual(before);
    });
  }
});

describe("backup that fails", () => {
  test("at any disk call leaves no partial file, and the next backup succeeds", async () => {
    const { folder } = await openSiteWithHistory();
    const copy = copyFolder(folder);
    const before = contentsOf(copy);
    const expectedState = await readFolderState(copy);
    let failureCount = 0;
    for (let callNumber = 1; ; callNumber += 1) {
      const disk = new FaultyDisk();
      disk.hasRealSync = false;
      failCallAt(disk, callNumber, "EIO");
      const out = newBackupPath();
      const hasSucceeded = await makeSiteBackup(copy, out, disk).then(
        () => true,
        (error: unknown) => {
          expect([callNumber, String(error)]).toEqual([callNumber, expect.stringContaining("EIO")]);
          return false;
        },
      );
      const leftovers = readdirSync(dirname(out));
      expect([callNumber, leftovers]).toEqual([callNumber, existsSync(out) ? ["site.berth"] : []]);
      // A file with the final name is always a complete backup.
      if (existsSync(out)) expect(await readBackupState(out)).toEqual(expectedState);
      else await makeSiteBackup(copy, out);
      expect(disk.misuses).toEqual([]);
      if (hasSucceeded) break;
      failureCount += 1;
    }
    expect(failureCount).toBeGreaterThan(60);
    expect(contentsOf(copy)).toEqual(before);
  });

  test("because the disk is full leaves no file", async () => {
    const { folder } = await openSiteWithHistory();
    const out = newBackupPath();
    const size = (await makeSiteBackup(folder, newBackupPath())).size;
    for (let freeBytes = 0; freeBytes < size; freeBytes += 401) {
      const disk = new FaultyDisk();
      disk.bytesLeft = freeBytes;
      expect(makeSiteBackup(folder, out, disk)).rejects.toThrow("ENOSPC");
      expect([freeBytes, readdirSync(dirname(out))]).toEqual([freeBytes, []]);
    }
  });

  test("because the disk is full names its own file, not the temporary one", async () => {
    const { folder } = await openSiteWithHistory();
    const out = newBackupPath();
    const disk = new FaultyDisk();
    disk.beforeCall = ({ name, path }) => {
      if (name === "write") throw Object.assign(makeDiskError("ENOSPC"), { path });
    };
    const error = await makeSiteBackup(folder, out, disk).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "ENOSPC", path: out });
  });

  test("when killed leaves a partial file that the next backup neither uses nor removes", async () => {
    const { folder } = await openSiteWithHistory();
    const out = newBackupPath();
    const leftover = `${out}.0a1b2c3d.new`;
    writeFileSync(leftover, "half of one");
    await makeSiteBackup(folder, out);
    expect(await readBackupState(out)).toEqual(await readFolderState(folder));
    expect(readFileSync(leftover, "utf8")).toBe("half of one");
    // The partial file is not accepted as a backup either.
    expect(
      (await catchRefusal(openBackup(realDisk, leftover, { identity: checkIdentity }))).name,
    ).toBe("BackupRefused");
  });
});

/** The file system of most USB sticks has no hard links. */
function diskWithoutLinks(): FaultyDisk {
  const disk = new FaultyDisk();
  disk.beforeCall = ({ name }) => {
    if (name === "link") throw makeDiskError("EPERM");
  };
  return disk;
}

describe.each([
  ["a disk with hard links", () => new FaultyDisk()],
  ["a disk without hard links", diskWithoutLinks],
])("a backup on %s", (_name, makeDisk) => {
  test("does not replace a file that appears while it is written", async () => {
    const { folder } = await openSiteWithHistory();
    const disk = makeDisk();
    const out = newBackupPath();
    const syncs = disk.block("sync");
    const backup = makeSiteBackup(folder, out, disk);
    await waitUntil(() => syncs.count === 1);
    writeFileSync(out, "another file");
    syncs.releaseAll();
    expect((await catchRefusal(backup)).message).toBe(`${out} already exists`);
    expect(readFileSync(out, "utf8")).toBe("another file");
    expect(readdirSync(dirname(out))).toEqual(["site.berth"]);
    // The refusal is final: the folder is not copied again.
    expect(disk.listCalls("open").filter((call) => call.endsWith(".new"))).toHaveLength(1);
  });

  test("has its final name alone, and is complete", async () => {
    const { folder } = await openSiteWithHistory();
    const out = newBackupPath();
    await makeSiteBackup(folder, out, makeDisk());
    expect(readdirSync(dirname(out))).toEqual(["site.berth"]);
    expect(await readBackupState(out)).toEqual(await readFolderState(folder));
  });
});

describe("two concurrent backups to one file", () => {
  test("leave one complete backup, and the other one is refused", async () => {
    const { folder } = await openSiteWithHistory();
    const disk = new FaultyDisk();
    const out = newBackupPath();
    const syncs = disk.block("sync");
    const backups = [makeSiteBackup(folder, out, disk), makeSiteBackup(folder, out, disk)];
    // Both are written, and neither has its final name yet.
    await waitUntil(() => syncs.count === 2);
    const temporary = readdirSync(dirname(out));
    expect(temporary.map((name) => name.replace(/[0-9a-f]{16}/, "*"))).toEqual([
      "site.berth.*.new",
      "site.berth.*.new",
    ]);
    syncs.releaseAll();
    const outcomes = await Promise.all(
      backups.map((backup) =>
        backup.then(
          () => "written",
          (error: unknown) => (error as Error).message,
        ),
      ),
    );
    expect(outcomes.toSorted()).toEqual([`${out} already exists`, "written"]);
    expect(readdirSync(dirname(out))).toEqual(["site.berth"]);
    expect(await readBackupState(out)).toEqual(await readFolderState(folder));
  });

  test("do not disturb each other when one of them fails", async () => {
    const { folder } = await openSiteWithHistory();
    const disk = new FaultyDisk();
    const out = newBackupPath();
    const syncs = disk.block("sync");
    const [first, second] = [makeSiteBackup(folder, out, disk), makeSiteBackup(folder, out, disk)];
    await waitUntil(() => syncs.count === 2);
    await syncs.releaseOne(makeDiskError("EIO"));
    expect(first).rejects.toThrow("EIO");
    syncs.releaseAll();
    await second;
    expect(readdirSync(dirname(out))).toEqual(["site.berth"]);
    expect(await readBackupState(out)).toEqual(await readFolderState(folder));
  });
});
