// A damaged audit log is not damaged license state: backups, restores and checkpoints still work.
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { AuditMaintenance } from "../../../src/operations/audit/audit-maintenance.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import {
  MANIFEST_FILE,
  type BackupManifest,
} from "../../../src/operations/backups/backup-manifest.ts";
import { makeBackup, openBackup } from "../../../src/operations/backups/backup.ts";
import { writeArchive } from "../../support/archives.ts";
import {
  backUpFolder,
  openSiteWithKey,
  editFile,
  flipBit,
  checkIdentity,
  newBackupPath,
  catchRefusal,
  restoreTo,
  readFolderState,
  verifyFolder,
} from "../../support/backup-site.ts";
import {
  transactOrThrow,
  unwrap,
  openSite,
  listSegmentNames,
} from "../../support/licensed-store.ts";
import { writeMonths } from "../../support/audit-months.ts";
import { consume, MONDAY } from "../../support/scenario.ts";
import { copyFolder, tempFolder } from "../../support/temp-folder.ts";

const APRIL = "history/2026-04.jsonl";
const MAY = "history/2026-05.jsonl";

interface Damage {
  readonly damage: (folder: string) => void;
  readonly expectedDamage: BackupManifest["audit_damage"];
}

const damages: Readonly<Record<string, Damage>> = {
  "a changed byte in an old month": {
    damage: (folder) => flipBit(join(folder, APRIL), 99),
    expectedDamage: { missing: [{ from: 5, to: 5 }], files: ["2026-04.jsonl"] },
  },
  "a missing old month": {
    damage: (folder) => rmSync(join(folder, APRIL)),
    expectedDamage: { missing: [{ from: 5, to: 6 }], files: [] },
  },
  "only zeros in an old month": {
    damage: (folder) => editFile(join(folder, APRIL), (bytes) => bytes.fill(0)),
    expectedDamage: { missing: [{ from: 5, to: 6 }], files: ["2026-04.jsonl"] },
  },
  "repeated lines in an old month": {
    damage: (folder) => editFile(join(folder, APRIL), (bytes) => Buffer.concat([bytes, bytes])),
    expectedDamage: { missing: [], files: ["2026-04.jsonl"] },
  },
  "a truncated newest file": {
    damage: (folder) => truncateSync(join(folder, MAY), 9),
    expectedDamage: { missing: [{ from: 7, to: 8 }], files: ["2026-05.jsonl"] },
  },
  "a missing newest file": {
    damage: (folder) => rmSync(join(folder, MAY)),
    expectedDamage: { missing: [{ from: 7, to: 8 }], files: [] },
  },
};

describe("backup of a folder with a damaged audit log", () => {
  for (const [what, { damage, expectedDamage }] of Object.entries(damages)) {
    test(`with ${what} succeeds, lists the damage, and can be restored`, async () => {
      const site = await openSiteWithKey();
      await writeMonths(site, "03", "04", "05");
      const folder = copyFolder(site.folder);
      damage(folder);
      const out = newBackupPath();
      const { manifest, verifyReport } = await makeBackup(realDisk, folder, out, MONDAY, {
        identity: checkIdentity,
      });
      expect(manifest.audit_damage).toEqual(expectedDamage);
      expect(verifyReport.auditDamage).toMatchObject(expectedDamage ?? {});
      const backup = await openBackup(realDisk, out, { identity: checkIdentity });
      expect(backup.manifest.audit_damage).toEqual(expectedDamage);
      const restoredFolder = join(tempFolder(), "data");
      const restored = await restoreTo(restoredFolder, out);
      expect(restored.verifyReport.auditDamage).toMatchObject(expectedDamage ?? {});
      const { state } = await readFolderState(folder);
      expect((await readFolderState(restoredFolder)).state).toMatchObject({
        licenses: state.licenses,
      });
      await catchRefusal(verifyFolder(restoredFolder));
      // The restored audit log can be repaired, too.
      const reopened = await openSite({ folder: restoredFolder });
      unwrap(await new AuditMaintenance(reopened.store).repair({ note: "x", peer: "x" }));
      await verifyFolder(copyFolder(restoredFolder));
    });
  }

  test("is refused when its manifest does not list the actual damage", async () => {
    const site = await openSiteWithKey();
    await writeMonths(site, "03", "04", "05");
    const folder = copyFolder(site.folder);
    flipBit(join(folder, APRIL), 99);
    const { archive } = await openBackup(realDisk, await backUpFolder(folder), {
      identity: checkIdentity,
    });
    const bytesOf = (name: string): Uint8Array =>
      archive.read(join(archive.path, name)) ?? new Uint8Array();
    const files = Object.fromEntries(archive.names.map((name) => [name, bytesOf(name)]));
    const manifest = JSON.parse(Buffer.from(bytesOf(MANIFEST_FILE)).toString()) as BackupManifest;
    const { audit_damage: _damage, ...withoutDamage } = manifest;
    const manifests = [
      withoutDamage,
      { ...manifest, audit_damage: { missing: [], files: [] } },
      { ...manifest, audit_damage: { missing: [{ from: 4, to: 5 }], files: ["2026-04.jsonl"] } },
    ];
    for (const changedManifest of manifests) {
      const path = writeArchive({
        ...files,
        [MANIFEST_FILE]: Buffer.from(JSON.stringify(changedManifest)),
      });
      const { name } = await catchRefusal(openBackup(realDisk, path, { identity: checkIdentity }));
      expect(name).toBe("BackupRefused");
    }
  });

  test("is refused when the journal is damaged as well", async () => {
    const site = await openSiteWithKey();
    await writeMonths(site, "03", "04", "05");
    // Two batches, because only a second batch proves that the first was safely on disk.
    await transactOrThrow(site.store, consume(1));
    await transactOrThrow(site.store, consume(2));
    const folder = copyFolder(site.folder);
    flipBit(join(folder, APRIL), 99);
    flipBit(join(folder, listSegmentNames(folder).at(-1) ?? ""), 99);
    const out = newBackupPath();
    expect(
      (await catchRefusal(makeBackup(realDisk, folder, out, MONDAY, { identity: checkIdentity })))
        .name,
    ).toBe("FolderRefused");
    expect(existsSync(out)).toBe(false);
  });
});

describe("checkpoint that finds the newest audit file too short", () => {
  for (const [what, damage] of Object.entries<(path: string) => void>({
    "cut in the middle of its last line": (path) =>
      truncateSync(path, readFileSync(path).length - 9),
    "without its last line": (path) =>
      truncateSync(path, readFileSync(path).lastIndexOf(10, readFileSync(path).length - 2) + 1),
    empty: (path) => truncateSync(path),
    missing: (path) => rmSync(path),
  })) {
    test(`writes the missing lines again from the journal when the file is ${what}`, async () => {
      const site = await openSiteWithKey();
      await writeMonths(site, "03", "05");
      const before = readFileSync(join(site.folder, MAY));
      damage(join(site.folder, MAY));
      await transactOrThrow(site.store, consume(3));
      await site.store.checkpoint();
      expect(site.store.status().checkpointError).toBeNull();
      const after = readFileSync(join(site.folder, MAY));
      expect(after.subarray(0, before.length)).toEqual(before);
      await verifyFolder(copyFolder(site.folder));
    });
  }
});
