import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asOwnerOf } from "../../src/platform/owner.ts";
import { tempFolder } from "../support/temp-folder.ts";

const NOBODY = 65_534;

const who = () => ({
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
    const [folder, before] = [foreign(), who()];
    const during = await asOwnerOf(folder, async () => {
      writeFileSync(join(folder, "file"), "");
      await Bun.sleep(1);
      return who();
    });
    expect(during).toMatchObject({ uid: NOBODY, gid: NOBODY });
    const { uid, gid } = statSync(join(folder, "file"));
    expect([uid, gid]).toEqual([NOBODY, NOBODY]);
    expect(who()).toEqual(before);
  });

  test("is itself again after a failure, and may do no more than the owner meanwhile", async () => {
    const [folder, before] = [foreign(), who()];
    const secret = join(tempFolder(), "secret");
    writeFileSync(secret, "", { mode: 0o600 });
    const reading = asOwnerOf(folder, () => Bun.file(secret).text());
    expect(reading).rejects.toThrow();
    await reading.catch(() => {});
    expect(who()).toEqual(before);
  });

  test("stays itself in its own folder, and where there is none", async () => {
    for (const folder of [tempFolder(), "/nowhere/at/all"]) {
      expect(await asOwnerOf(folder, async () => who())).toEqual(who());
    }
  });
});
