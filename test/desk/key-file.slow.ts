// The passphrase of a desk's keys, if the command that changes it is interrupted.
import { expect, test } from "bun:test";
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/files/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { makeDiskError, FaultyDisk, type DiskCallName } from "../support/faulty-disk.ts";
import { tempFolder } from "../support/temp-folder.ts";

const DESK_OPTIONS = { name: "Acme", products: ["cad"] };

/** Whether the action completed; false: the disk failed with EIO. */
async function hasCompleted(action: Promise<unknown>): Promise<boolean> {
  try {
    await action;
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code !== "EIO") throw error;
    return false;
  }
}

/** Only calls that change the folder: a failing read leaves the folder as the call before did. */
const CHANGING_CALLS = new Set<DiskCallName>([
  "open",
  "write",
  "sync",
  "rename",
  "remove",
  "syncFolder",
]);

/**
 * Interrupts `act` at each of its changes to the disk in turn, on a new copy of a desk each time.
 * Returns the number of tries.
 */
async function interruptEverywhere(
  before: string | null,
  act: (disk: FaultyDisk, folder: string) => Promise<unknown>,
  check: (folder: string, isFinished: boolean) => Promise<void>,
): Promise<number> {
  const original = join(tempFolder(), "desk");
  await Desk.create(realDisk, original, { ...DESK_OPTIONS, passphrase: before });
  for (let attempt = 1; ; attempt += 1) {
    const folder = join(tempFolder(), "desk");
    cpSync(original, folder, { recursive: true });
    const disk = new FaultyDisk();
    let changes = 0;
    disk.beforeCall = ({ name }) => {
      if (!CHANGING_CALLS.has(name)) return;
      changes += 1;
      // Every later change fails too, as after a crash.
      if (changes >= attempt) throw makeDiskError("EIO");
    };
    const isFinished = await hasCompleted(act(disk, folder));
    disk.clearFaults();
    await check(folder, isFinished);
    if (isFinished) return attempt;
  }
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
      old,
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
  expect(await Desk.needsPassphrase(realDisk, folder)).toBe(false);
  await Desk.changePassphrase(realDisk, folder, null, "newer");
  expect([keysIn(folder), await opens(folder, "newer")]).toEqual([["key.jwe"], true]);
});
