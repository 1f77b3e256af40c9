import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runAsFolderOwner } from "../../src/platform/owner.ts";
import { tempFolder } from "../support/temp-folder.ts";

const NOBODY = 65_534;

const currentIds = () => ({
  uid: process.geteuid?.(),
  gid: process.getegid?.(),
  groups: process.getgroups?.().toSorted(),
});

describe.skipIf(process.getuid?.() !== 0)("root, in a folder of somebody else", () => {
  function foreign(): string {
    const parent = tempFolder();
    chmodSync(parent, 0o755);
    const folder = join(parent, "data");
    mkdirSync(folder, { mode: 0o700 });
    chownSync(folder, NOBODY, NOBODY);
    return folder;
  }

  test("writes as its owner, and is itself again afterwards", async () => {
    const [folder, before] = [foreign(), currentIds()];
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

  test("is itself again after a failure, and may do no more than the owner meanwhile", async () => {
    const [folder, before] = [foreign(), currentIds()];
    const secret = join(tempFolder(), "secret");
    writeFileSync(secret, "", { mode: 0o600 });
    const reading = runAsFolderOwner(folder, () => Bun.file(secret).text());
    expect(reading).rejects.toThrow();
    await reading.catch(() => {});
    expect(currentIds()).toEqual(before);
  });

  test("stays itself in its own folder, and where there is none", async () => {
    for (const folder of [tempFolder(), "/nowhere/at/all"]) {
      expect(await runAsFolderOwner(folder, async () => currentIds())).toEqual(currentIds());
    }
  });
});
