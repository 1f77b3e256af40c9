import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeBackup, openBackup } from "../../../src/operations/backups/backup.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { dumpStateSorted, transactOrThrow, unwrap } from "../../support/licensed-store.ts";
import { readFolderState } from "../../support/backup-site.ts";
import { leadPair, openPair } from "../../support/pair-of-sites.ts";
import { MONDAY, register } from "../../support/scenario.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const OPTIONS = { identity: () => {} };

describe("a backup of a host of a pair that follows", () => {
  test("has all lines that the host had, also while a checkpoint runs", async () => {
    const { log, alpha, beta } = await openPair();
    unwrap(await leadPair(log, alpha, "alpha"));
    for (const user of ["ada", "bob", "cyd"]) await transactOrThrow(alpha.store, register(user));
    await beta.store.follow();
    writeFileSync(join(beta.folder, "identity.jwk"), "{}", { mode: 0o600 });
    const { seq } = beta.store.status();
    const expected = alpha.store.peek(dumpStateSorted);
    const out = join(tempFolder(), "site.berth");
    const backup = makeBackup(realDisk, beta.folder, out, MONDAY, OPTIONS);
    const checkpoint = beta.store.checkpoint();
    const { manifest } = await backup;
    await checkpoint;
    expect(manifest.seq).toBe(seq);
    const { archive } = await openBackup(realDisk, out, OPTIONS);
    expect((await readFolderState(out, archive)).state).toEqual(expected);
  });
});
