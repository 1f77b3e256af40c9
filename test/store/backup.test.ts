import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { realDisk } from "../../src/platform/disk.ts";
import { version } from "../../src/platform/version.ts";
import { makeBackup, MANIFEST_FILE, openBackup } from "../../src/store/backup.ts";
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
} from "../support/backup-site.ts";
import { makeDiskError, failCallAt, FaultyDisk, waitUntil } from "../support/faulty-disk.ts";
import {
  transactOrThrow,
  readLines,
  openAndCloseFolder,
  readState,
} from "../support/licensed-store.ts";
import { MONDAY, register, utc } from "../support/scenario.ts";
import { contentsOf, copyFolder, modeOf, tempFolder } from "../support/temp-folder.ts";

const make = (folder: string, out: string, disk = realDisk) =>
  makeBackup(disk, folder, out, MONDAY, { identity: checkIdentity });

const PLAIN = ["identity.jwk", "state.json", "journal-6.jsonl"];
const RECORD = ["history/2026-03.jsonl", "history/2026-04.jsonl"];

describe("a backup", () => {
  test("holds the key, the state, the journal since and the record, and nothing else", async () => {
    const { folder, store } = await openSiteWithHistory();
    for (const name of ["credentials.sealed", "sealing.key", "journal-1.jsonl.9.torn", "x.json"]) {
      writeFileSync(join(folder, name), "secret");
    }
    const out = newBackupPath();
    const { manifest, verifyReport, size } = await make(folder, out);
    const { archive } = await openBackup(realDisk, out, { identity: checkIdentity });
    expect(archive.names).toEqual([...PLAIN, ...RECORD, MANIFEST_FILE]);
    for (const name of [...PLAIN, ...RECORD]) {
      expect(archive.read(join(out, name))).toEqual(
        new Uint8Array(readFileSync(join(folder, name))),
      );
    }
    expect(size).toBe(readFileSync(out).length);
    expect(readFileSync(out).includes("secret")).toBe(false);
    const { seq, auditSeq } = store.health();
    expect(verifyReport).toMatchObject({ covers: 5, segments: [6], licenses: 1, head: { seq } });
    expect(manifest).toEqual({
      backup: 1,
      berth: version,
      made_at: "2026-03-02T09:00:00.000Z",
      appliance: APPLIANCE_ID,
      kind: "site",
      seq,
      audit_seq: auditSeq,
      files: [...PLAIN, ...RECORD].map((name) => {
        const bytes = readFileSync(join(folder, name));
        const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
        return { name, size: bytes.length, sha256 };
      }),
    });
    expect(
      JSON.parse(Buffer.from(archive.read(join(out, MANIFEST_FILE)) ?? []).toString()),
    ).toEqual(manifest);
  });

  test("is for its owner alone, and leaves the folder as it was", async () => {
    const { folder } = await openSiteWithHistory();
    const copy = copyFolder(folder);
    const before = contentsOf(copy);
    const out = await backUpFolder(copy);
    expect(modeOf(out)).toBe("600");
    expect(readdirSync(dirname(out))).toEqual(["site.berth"]);
    expect(contentsOf(copy)).toEqual(before);
  });

  test("of a folder without a checkpoint yet, and of one after a clean stop", async () => {
    const { folder, store, stop } = await openSiteWithKey();
    expect(await readBackupState(await backUpFolder(folder))).toMatchObject({ seq: 2 });
    await transactOrThrow(store, register("ada"));
    const state = await readState(store);
    await stop();
    expect(await readBackupState(await backUpFolder(folder))).toEqual({ state, seq: 3 });
  });

  test("takes closed segments that no checkpoint folded yet", async () => {
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

  test("leaves an interrupted write and an unfinished fold behind", async () => {
    const { folder, store } = await openSiteWithHistory();
    const { seq } = store.health();
    const copy = copyFolder(folder);
    await store.checkpoint();
    editFile(join(copy, "journal-6.jsonl"), (bytes) =>
      Buffer.concat([bytes, Buffer.from('{"seq":')]),
    );
    // As a checkpoint leaves it that got no further than the record.
    writeFileSync(
      join(copy, "history/2026-04.jsonl"),
      readFileSync(join(folder, "history/2026-04.jsonl")),
    );
    writeFileSync(join(copy, "history/2026-05.jsonl"), "");
    const out = await backUpFolder(copy);
    const { verifyReport, archive } = await openBackup(realDisk, out, {
      identity: checkIdentity,
    });
    expect(verifyReport).toMatchObject({ torn: 0, head: { seq }, record: { leftover: 0 } });
    expect(archive.names).toEqual([...PLAIN, ...RECORD, MANIFEST_FILE]);
  });

  test("takes only what is left of a record that was let go of in part", async () => {
    const { folder, store, clock } = await openSiteWithKey({
      checkpoint: checkpointKeepingMonths(1),
    });
    for (const month of ["03", "04", "05"]) {
      clock.now = utc(`2026-${month}-30T00:00:00Z`);
      await transactOrThrow(store, register("ada"));
      await store.checkpoint();
    }
    // Let go of, and there until the next checkpoint.
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

  test("of a demo is one", async () => {
    const folder = join(tempFolder(), "data");
    await openAndCloseFolder(folder, { kind: "demo", identify: async () => APPLIANCE_ID });
    writeFileSync(join(folder, "identity.jwk"), `the key of ${APPLIANCE_ID}\n`);
    expect((await make(folder, newBackupPath())).manifest.kind).toBe("demo");
  });

  test("is on disk with its name before it is said to be made", async () => {
    const { folder } = await openSiteWithHistory();
    const disk = new FaultyDisk();
    const out = newBackupPath();
    await make(folder, out, disk);
    const calls = disk.listCalls("open", "sync", "close", "rename", "syncFolder", "remove");
    // Under a name of its own until then.
    expect(calls.map((call) => call.replace(/\.[0-9a-f]{16}\.new$/, ".*.new"))).toEqual([
      "open site.berth.*.new",
      "sync site.berth.*.new",
      "close site.berth.*.new",
      "rename site.berth",
      `syncFolder ${dirname(out).split("/").at(-1)}`,
    ]);
  });
});

describe("a backup is refused", () => {
  test("over a file that already exists, which stays as it is", async () => {
    const { folder } = await openSiteWithHistory();
    const out = newBackupPath();
    writeFileSync(out, "older");
    expect(await catchRefusal(make(folder, out))).toEqual({
      name: "BackupRefused",
      message: `${out} already exists`,
      hint: "choose a new file name; backups are not overwritten",
    });
    expect(readFileSync(out, "utf8")).toBe("older");
    expect(readdirSync(dirname(out))).toEqual(["site.berth"]);
  });

  test("of a folder that holds nothing", async () => {
    const folder = tempFolder();
    const out = newBackupPath();
    expect(await catchRefusal(make(folder, out))).toEqual({
      name: "FolderRefused",
      message: `${folder} is not a data folder`,
      hint: "specify another folder with --data DIR",
    });
    expect(readdirSync(dirname(out))).toEqual([]);
  });

  type Damage = (folder: string) => void;
  const damages: Record<string, [damage: Damage, said: string | RegExp]> = {
    "its state": [
      (folder) => flipBit(join(folder, "state.json"), 99),
      "state.json does not match its checksum",
    ],
    "its journal": [
      (folder) => flipBit(join(folder, "journal-6.jsonl"), 99),
      /^journal-6\.jsonl is damaged at byte 0, where line 6 is expected/,
    ],
    "its journal, which is gone": [
      (folder) => rmSync(join(folder, "journal-6.jsonl")),
      /^does not continue its state: everything from line 6 on is missing \(no file/,
    ],
    "its key": [
      (folder) => writeFileSync(join(folder, "identity.jwk"), "other"),
      "identity.jwk is another appliance's key",
    ],
    "its key, which is gone": [
      (folder) => rmSync(join(folder, "identity.jwk")),
      "identity.jwk is another appliance's key",
    ],
  };
  for (const [what, [damage, said]] of Object.entries(damages)) {
    test(`of a folder with damage to ${what}; the folder is blamed, not the copy`, async () => {
      const { folder, store } = await openSiteWithHistory();
      await transactOrThrow(store, register("dua"));
      const copy = copyFolder(folder);
      damage(copy);
      const before = contentsOf(copy);
      const out = newBackupPath();
      const { name, message } = await catchRefusal(make(copy, out));
      const [about, ...rest] = message.split(copy);
      expect([name, about]).toEqual(["FolderRefused", expect.stringMatching(/^(?:the \w+ in )?$/)]);
      expect(rest.join(copy).slice(1)).toEqual(
        typeof said === "string" ? said : expect.stringMatching(said),
      );
      expect(readdirSync(dirname(out))).toEqual([]);
      expect(contentsOf(copy)).toEqual(before);
    });
  }
});

describe("a backup that fails", () => {
  test("at any call leaves no half of it, and the next one is made", async () => {
    const { folder } = await openSiteWithHistory();
    const copy = copyFolder(folder);
    const before = contentsOf(copy);
    const standing = await readFolderState(copy);
    let failed = 0;
    for (let place = 1; ; place += 1) {
      const disk = new FaultyDisk();
      disk.hasRealSync = false;
      failCallAt(disk, place, "EIO");
      const out = newBackupPath();
      const made = await make(copy, out, disk).then(
        () => true,
        (error: unknown) => {
          expect([place, String(error)]).toEqual([place, expect.stringContaining("EIO")]);
          return false;
        },
      );
      const left = readdirSync(dirname(out));
      expect([place, left]).toEqual([place, existsSync(out) ? ["site.berth"] : []]);
      // Whatever has the name of a backup is one.
      if (existsSync(out)) expect(await readBackupState(out)).toEqual(standing);
      else await make(copy, out);
      expect(disk.misuses).toEqual([]);
      if (made) break;
      failed += 1;
    }
    expect(failed).toBeGreaterThan(60);
    expect(contentsOf(copy)).toEqual(before);
  });

  test("for want of room leaves nothing", async () => {
    const { folder } = await openSiteWithHistory();
    const out = newBackupPath();
    const size = (await make(folder, newBackupPath())).size;
    for (let room = 0; room < size; room += 401) {
      const disk = new FaultyDisk();
      disk.bytesLeft = room;
      expect(make(folder, out, disk)).rejects.toThrow("ENOSPC");
      expect([room, readdirSync(dirname(out))]).toEqual([room, []]);
    }
  });

  test("is not disturbed by what one left that was killed, and leaves it alone", async () => {
    const { folder } = await openSiteWithHistory();
    const out = newBackupPath();
    const leftover = `${out}.0a1b2c3d.new`;
    writeFileSync(leftover, "half of one");
    await make(folder, out);
    expect(await readBackupState(out)).toEqual(await readFolderState(folder));
    expect(readFileSync(leftover, "utf8")).toBe("half of one");
    // It does not pass for a backup either.
    expect(
      (await catchRefusal(openBackup(realDisk, leftover, { identity: checkIdentity }))).name,
    ).toBe("BackupRefused");
  });
});

describe("two backups to one file at once", () => {
  test("both succeed, and what is left is one backup", async () => {
    const { folder } = await openSiteWithHistory();
    const disk = new FaultyDisk();
    const out = newBackupPath();
    const syncs = disk.block("sync");
    const both = [make(folder, out, disk), make(folder, out, disk)];
    // Both have been written, and neither has its name yet.
    await waitUntil(() => syncs.count === 2);
    const temporary = readdirSync(dirname(out));
    expect(temporary.map((name) => name.replace(/[0-9a-f]{16}/, "*"))).toEqual([
      "site.berth.*.new",
      "site.berth.*.new",
    ]);
    syncs.releaseAll();
    for (const { manifest } of await Promise.all(both)) {
      expect(manifest.seq).toBe((await readFolderState(folder)).seq);
    }
    expect(readdirSync(dirname(out))).toEqual(["site.berth"]);
    expect(await readBackupState(out)).toEqual(await readFolderState(folder));
  });

  test("one that fails leaves the other's work alone", async () => {
    const { folder } = await openSiteWithHistory();
    const disk = new FaultyDisk();
    const out = newBackupPath();
    const syncs = disk.block("sync");
    const [first, second] = [make(folder, out, disk), make(folder, out, disk)];
    await waitUntil(() => syncs.count === 2);
    await syncs.releaseOne(makeDiskError("EIO"));
    expect(first).rejects.toThrow("EIO");
    syncs.releaseAll();
    await second;
    expect(readdirSync(dirname(out))).toEqual(["site.berth"]);
    expect(await readBackupState(out)).toEqual(await readFolderState(folder));
  });
});
