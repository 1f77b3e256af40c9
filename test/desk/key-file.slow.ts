import { expect, test } from "bun:test";
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { keyIdOf } from "../../src/license/documents/keys.ts";
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

test("creating a desk can be repeated after an interruption at any disk call", async () => {
  for (let attempt = 1, isFinished = false; !isFinished; attempt += 1) {
    const folder = join(tempFolder(), "desk");
    const disk = new FaultyDisk();
    let changes = 0;
    disk.beforeCall = ({ name }) => {
      changes += CHANGING_CALLS.has(name) ? 1 : 0;
      if (changes >= attempt) throw makeDiskError("EIO");
    };
    const options = { ...DESK_OPTIONS, passphrase: null };
    isFinished = await hasCompleted(Desk.create(disk, folder, options));
    disk.clearFaults();
    const isDesk = await opens(folder, null);
    if (!isDesk) await Desk.create(realDisk, folder, options);
    expect([isFinished && !isDesk, await opens(folder, null)]).toEqual([false, true]);
  }
});

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
        const form = next === null ? "vendor.jwk" : "vendor.jwe";
        expect(readdirSync(folder).filter((file) => file.startsWith("vendor."))).toEqual([form]);
      },
    );
    expect(attempts).toBeGreaterThan(3);
  },
);

test("rotating the key leaves a desk that opens with its current key, if interrupted anywhere", async () => {
  const attempts = await interruptEverywhere(
    null,
    async (disk, folder) => (await Desk.open(disk, folder, null)).rotateKey(disk, folder, null),
    async (folder) => {
      const { vendor, key } = await Desk.open(realDisk, folder, null);
      expect(vendor.keys.map(keyIdOf)[0]).toBe(keyIdOf(key));
    },
  );
  expect(attempts).toBeGreaterThan(8);
});

test("a key stored in both forms opens without a passphrase; setting one removes the plain file", async () => {
  const folder = join(tempFolder(), "desk");
  await Desk.create(realDisk, folder, { ...DESK_OPTIONS, passphrase: null });
  const disk = new FaultyDisk();
  disk.beforeCall = ({ name }) => {
    if (name === "remove") throw makeDiskError("EIO");
  };
  expect(await hasCompleted(Desk.changePassphrase(disk, folder, null, "new"))).toBe(false);
  const keys = () => readdirSync(folder).filter((file) => file.startsWith("vendor."));
  expect(keys()).toEqual(["vendor.jwe", "vendor.jwk"]);
  expect(await Desk.needsPassphrase(realDisk, folder)).toBe(false);
  await Desk.changePassphrase(realDisk, folder, null, "newer");
  expect([keys(), await opens(folder, "newer")]).toEqual([["vendor.jwe"], true]);
});

test("a pending key is promoted only while no other command holds the desk's lock", async () => {
  const folder = join(tempFolder(), "desk");
  const desk = await Desk.create(realDisk, folder, { ...DESK_OPTIONS, passphrase: null });
  const disk = new FaultyDisk();
  disk.beforeCall = ({ name, path }) => {
    if (name === "rename" && path.includes(`${keyIdOf(desk.key)}.`)) throw makeDiskError("EIO");
  };
  expect(await hasCompleted(desk.rotateKey(disk, folder, null))).toBe(false);
  const lock = realDisk.lock(join(folder, "ledger.jsonl.lock"));
  const before = readdirSync(folder).toSorted();
  expect(await opens(folder, null)).toBe(false);
  expect(readdirSync(folder).toSorted()).toEqual(before);
  lock?.release();
  const { vendor, key } = await Desk.open(realDisk, folder, null);
  expect([vendor.version, vendor.keys.map(keyIdOf)[0]]).toEqual([2, keyIdOf(key)]);
});
