import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runAsFolderOwner } from "../../../src/platform/files/owner.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const NOBODY = 65_534;

const currentIds = () => ({
  uid: process.geteuid?.(),
  gid: process.getegid?.(),
  groups: process.getgroups?.().toSorted(),
});

describe.skipIf(process.getuid?.() !== 0)(
  "runAsFolderOwner, as root and for another user's folder,",
  () => {
    function makeFolderOfNobody(): string {
      const parent = tempFolder();
      chmodSync(parent, 0o755);
      const folder = join(parent, "data");
      mkdirSync(folder, { mode: 0o700 });
      chownSync(folder, NOBODY, NOBODY);
      return folder;
    }

    test("writes as the owner and restores the process's user", async () => {
      const [folder, before] = [makeFolderOfNobody(), currentIds()];
      const during = await runAsFolderOwner(folder, async () => {
        writeFileSync(join(folder, "file"), "");
        await Bun.sleep(1);
        return currentIds();
      });
      expect(during).toMatchObject({ uid: NOBODY, gid: NOBODY });
      const { uid, gid } = statSync(join(folder, "file"));
      expect([uid, gid]).toEqual([NOBODY, NOBODY]);
      expect(currentIds()).toEqual(before);
    });

    test("has only the owner's rights, and restores the process's user after a failure", async () => {
      const [folder, before] = [makeFolderOfNobody(), currentIds()];
      const secret = join(tempFolder(), "secret");
      writeFileSync(secret, "", { mode: 0o600 });
      const attempt = runAsFolderOwner(folder, () => Bun.file(secret).text());
      expect(attempt).rejects.toThrow();
      await attempt.catch(() => {});
      expect(currentIds()).toEqual(before);
    });

    test("does not change the user for its own folder, or for a missing one", async () => {
      for (const folder of [tempFolder(), "/nowhere/at/all"]) {
        expect(await runAsFolderOwner(folder, async () => currentIds())).toEqual(currentIds());
      }
    });
  },
);
