import { expect, test } from "bun:test";
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { keyIdOf } from "../../src/license/keys.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { Desk } from "../../src/desk/desk.ts";
import { makeDiskError, FaultyDisk, type DiskCallName } from "../support/faulty-disk.ts";
import { tempFolder } from "../support/temp-folder.ts";

const NEW = { name: "Acme", products: ["cad"] };

/** Whether the act ran to its end although the disk fails at the call with this number. */
async function isDone(act: Promise<unknown>): Promise<boolean> {
  try {
    await act;
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code !== "EIO") throw error;
    return false;
  }
}

/** Reading changes nothing: where it fails, the folder is as it was one step earlier. */
const CHANGING = new Set<DiskCallName>(["open", "write", "sync", "rename", "remove", "syncFolder"]);

/** Interrupts `act` at each of its changes to the disk in turn, on a fresh copy of a desk each time. */
async function interruptEverywhere(
  before: string | null,
  act: (disk: FaultyDisk, folder: string) => Promise<unknown>,
  check: (folder: string, isFinished: boolean) => Promise<void>,
): Promise<number> {
  const origin = join(tempFolder(), "desk");
  await Desk.create(realDisk, origin, { ...NEW, passphrase: before });
  for (let place = 1; ; place += 1) {
    const folder = join(tempFolder(), "desk");
    cpSync(origin, folder, { recursive: true });
    const disk = new FaultyDisk();
    let changes = 0;
    disk.beforeCall = ({ name }) => {
      if (!CHANGING.has(name)) return;
      changes += 1;
      // And at every later one, as after a crash.
      if (changes >= place) throw makeDiskError("EIO");
    };
    const isFinished = await isDone(act(disk, folder));
    disk.clearFaults();
    await check(folder, isFinished);
    if (isFinished) return place;
  }
}

test("a desk that was interrupted while it was made can be made again", async () => {
  for (let place = 1, isFinished = false; !isFinished; place += 1) {
    const folder = join(tempFolder(), "desk");
    const disk = new FaultyDisk();
    let changes = 0;
    disk.beforeCall = ({ name }) => {
      changes += CHANGING.has(name) ? 1 : 0;
      if (changes >= place) throw makeDiskError("EIO");
    };
    const made = { ...NEW, passphrase: null };
    isFinished = await isDone(Desk.create(disk, folder, made));
    disk.clearFaults();
    const isDesk = await opens(folder, null);
    if (!isDesk) await Desk.create(realDisk, folder, made);
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
])("%s a passphrase leaves a key that opens, wherever it stops", async (_what, old, next) => {
  const places = await interruptEverywhere(
    old,
    (disk, folder) => Desk.changePassphrase(disk, folder, old, next),
    async (folder, isFinished) => {
      // One after the other: each try of a passphrase takes its time.
      const withNew = await opens(folder, next);
      expect(withNew || (await opens(folder, old))).toBe(true);
      if (!isFinished) return;
      expect(withNew).toBe(true);
      const form = next === null ? "vendor.jwk" : "vendor.jwe";
      expect(readdirSync(folder).filter((file) => file.startsWith("vendor."))).toEqual([form]);
    },
  );
  expect(places).toBeGreaterThan(3);
});

test("a successor that stops anywhere leaves a desk that opens with its current key", async () => {
  const places = await interruptEverywhere(
    null,
    async (disk, folder) => (await Desk.open(disk, folder, null)).rotateKey(disk, folder, null),
    async (folder) => {
      const { vendor, key } = await Desk.open(realDisk, folder, null);
      expect(vendor.keys.map(keyIdOf)[0]).toBe(keyIdOf(key));
    },
  );
  expect(places).toBeGreaterThan(8);
});

test("a key stored both ways opens without a passphrase, and setting one removes the plain file", async () => {
  const folder = join(tempFolder(), "desk");
  await Desk.create(realDisk, folder, { ...NEW, passphrase: null });
  const disk = new FaultyDisk();
  disk.beforeCall = ({ name }) => {
    if (name === "remove") throw makeDiskError("EIO");
  };
  expect(await isDone(Desk.changePassphrase(disk, folder, null, "new"))).toBe(false);
  const keys = () => readdirSync(folder).filter((file) => file.startsWith("vendor."));
  expect(keys()).toEqual(["vendor.jwe", "vendor.jwk"]);
  expect(await Desk.needsPassphrase(realDisk, folder)).toBe(false);
  await Desk.changePassphrase(realDisk, folder, null, "newer");
  expect([keys(), await opens(folder, "newer")]).toEqual([["vendor.jwe"], true]);
});

test("a new key that does not have its names yet gets them only while no other command writes", async () => {
  const folder = join(tempFolder(), "desk");
  const made = await Desk.create(realDisk, folder, { ...NEW, passphrase: null });
  const disk = new FaultyDisk();
  disk.beforeCall = ({ name, path }) => {
    if (name === "rename" && path.includes(`${keyIdOf(made.key)}.`)) throw makeDiskError("EIO");
  };
  expect(await isDone(made.rotateKey(disk, folder, null))).toBe(false);
  const lock = realDisk.lock(join(folder, "ledger.jsonl.lock"));
  const before = readdirSync(folder).toSorted();
  expect(await opens(folder, null)).toBe(false);
  expect(readdirSync(folder).toSorted()).toEqual(before);
  lock?.release();
  const { vendor, key } = await Desk.open(realDisk, folder, null);
  expect([vendor.version, vendor.keys.map(keyIdOf)[0]]).toEqual([2, keyIdOf(key)]);
});
