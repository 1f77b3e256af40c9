// The passphrase of a desk's keys, if the command that changes it is interrupted.
import { expect, test } from "bun:test";
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/files/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { isKeyEncrypted, loadDeskRecords } from "../../src/desk/desk-records.ts";
import { makeDiskError, FaultyDisk } from "../support/faulty-disk.ts";
import { hasCompleted, interruptEverywhere } from "../support/interrupted-disk.ts";
import { tempFolder } from "../support/temp-folder.ts";

const DESK_OPTIONS = { name: "Acme", products: ["cad"] };

/** A copy of a desk whose key has this passphrase. */
async function copiesOfDesk(passphrase: string | null): Promise<() => Promise<string>> {
  const original = join(tempFolder(), "desk");
  await Desk.create(realDisk, original, { ...DESK_OPTIONS, passphrase });
  return async () => {
    const folder = join(tempFolder(), "desk");
    cpSync(original, folder, { recursive: true });
    return folder;
  };
}

/** The key files without the id of the key. */
const keysIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((file) => /\.key\.jw[ek]$/.test(file))
    .map((file) => file.slice(file.indexOf(".") + 1))
    .toSorted();

const opens = async (folder: string, passphrase: string | null): Promise<boolean> => {
  try {
    await Desk.open(realDisk, folder, passphrase);
    return true;
  } catch {
    return false;
  }
};

test.each([
  ["setting", null, "new"],
  ["changing", "old", "new"],
  ["removing", "old", null],
])(
  "%s a passphrase leaves a key that opens, if interrupted at any disk call",
  async (_what, old, next) => {
    const attempts = await interruptEverywhere(
      await copiesOfDesk(old),
      (disk, folder) => Desk.changePassphrase(disk, folder, old, next),
      async (folder, isFinished) => {
        // One after the other, because each attempt with a passphrase is slow.
        const opensWithNew = await opens(folder, next);
        expect(opensWithNew || (await opens(folder, old))).toBe(true);
        if (!isFinished) return;
        expect(opensWithNew).toBe(true);
        const form = next === null ? "key.jwk" : "key.jwe";
        expect(keysIn(folder)).toEqual([form]);
      },
    );
    expect(attempts).toBeGreaterThan(3);
  },
);

test("a key stored in both forms opens without a passphrase; setting one removes the plain file", async () => {
  const folder = join(tempFolder(), "desk");
  await Desk.create(realDisk, folder, { ...DESK_OPTIONS, passphrase: null });
  const disk = new FaultyDisk();
  disk.beforeCall = ({ name }) => {
    if (name === "remove") throw makeDiskError("EIO");
  };
  expect(await hasCompleted(Desk.changePassphrase(disk, folder, null, "new"))).toBe(false);
  expect(keysIn(folder)).toEqual(["key.jwe", "key.jwk"]);
  expect(isKeyEncrypted(realDisk, folder, await loadDeskRecords(realDisk, folder))).toBe(false);
  await Desk.changePassphrase(realDisk, folder, null, "newer");
  expect([keysIn(folder), await opens(folder, "newer")]).toEqual([["key.jwe"], true]);
});
