import { expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { openBackup } from "../../../src/operations/backups/backup.ts";
import {
  backUpFolder,
  openSiteWithKey,
  readBackupState,
  checkIdentity,
  restoreTo,
  verifyFolder,
} from "../../support/backup-site.ts";
import {
  transactOrThrow,
  transactInOneBatch,
  openAndCloseFolder,
  readState,
} from "../../support/licensed-store.ts";
import { CONTACT, register, unregister } from "../../support/scenario.ts";
import { tempFolder } from "../../support/temp-folder.ts";

test("backup and restore keep files that are larger than one read", async () => {
  const { folder, store } = await openSiteWithKey();
  const info = "x".repeat(60_001);
  const contact = { ...CONTACT, info };
  const users = Array.from({ length: 40 }, (_, user) => `user ${user}`);
  const registrations = users.map((user) => register(user, { contact }));
  await transactInOneBatch(store, ...registrations);
  await store.checkpoint();
  await transactInOneBatch(store, ...users.map((user) => unregister(user)));
  for (const command of registrations) await transactOrThrow(store, command);
  const state = await readState(store);
  const { seq } = store.status();

  const out = await backUpFolder(folder);
  expect(await readBackupState(out)).toEqual({ state, seq });
  const { manifest } = await openBackup(realDisk, out, { identity: checkIdentity });
  for (const { name, size, sha256 } of manifest.files) {
    const bytes = readFileSync(join(folder, name));
    expect([name, size]).toEqual([name, bytes.length]);
    expect([name, sha256]).toEqual([
      name,
      new Bun.CryptoHasher("sha256").update(bytes).digest("hex"),
    ]);
  }
  expect(manifest.files.filter(({ size }) => size > 2 * 1024 * 1024).length).toBe(3);

  const newFolder = join(tempFolder(), "data");
  await restoreTo(newFolder, out);
  expect((await openAndCloseFolder(newFolder)).seq).toBe(seq + 1);
  const report = await verifyFolder(newFolder);
  expect(report.generations).toEqual([report.coveredSeq]);
  for (const { name, size } of manifest.files) {
    if (!name.startsWith("journal")) expect(statSync(join(newFolder, name)).size).toBe(size);
  }
});
