import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import {
  SEALED_FILE,
  SealedFile,
  SEALING_KEY_FILE,
  type Credentials,
} from "../../src/store/sealed-file.ts";
import { makeDiskError, failCallAt, FaultyDisk, isPending } from "../support/faulty-disk.ts";
import { contentsOf, modeOf, tempFolder } from "../support/temp-folder.ts";

const OLD: Credentials = { apiKey: "canary-old-api", sharedKey: "canary-old-shared-ä\u2028" };
const NEW: Credentials = { apiKey: "canary-new-api", sharedKey: "canary-new-shared" };
const NONE: Credentials = { apiKey: null, sharedKey: null };
const CHANGES = ["write", "sync", "close", "rename", "remove", "setMode", "syncFolder"] as const;

function unsealed(key: Uint8Array | null = null) {
  const disk = new FaultyDisk();
  const folder = tempFolder();
  const paths = { sealed: join(folder, SEALED_FILE), key: join(folder, SEALING_KEY_FILE) };
  return { disk, folder, paths, file: new SealedFile(disk, folder, { key }) };
}

async function sealed(key: Uint8Array | null = null) {
  const made = unsealed(key);
  await made.file.change(OLD);
  made.disk.calls.length = 0;
  return made;
}

/** As a server that starts now finds them. */
async function pairIn(folder: string, key: Uint8Array | null = null): Promise<Credentials> {
  const { apiKey, sharedKey } = await new SealedFile(new FaultyDisk(), folder, { key }).read();
  return { apiKey, sharedKey };
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(() => null).catch((error: unknown) => error);

const expectNoCanary = (text: string): void => expect(text).not.toContain("canary");

describe("sealed credentials", () => {
  test("are read as they were set, and are in no file in clear, nor open to others", async () => {
    const { file, folder, paths } = await sealed();
    expect(await file.read()).toEqual({ ...OLD, status: "opened", problem: null });
    expect(await pairIn(folder)).toEqual(OLD);
    expectNoCanary(JSON.stringify(contentsOf(folder)));
    expect(readdirSync(folder).toSorted()).toEqual([SEALED_FILE, SEALING_KEY_FILE]);
    expect([modeOf(paths.sealed), modeOf(paths.key)]).toEqual(["600", "600"]);
  });

  test("are not set where there is no file, and looking or taking away makes none", async () => {
    const { file, folder } = unsealed();
    expect(await file.change(NONE)).toEqual([]);
    expect(await file.read()).toMatchObject({ ...NONE, note: "credentials.sealed does not exist" });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("are sealed under another nonce each time, with a key that stays in its folder", async () => {
    const { file, paths } = await sealed();
    const key = readFileSync(paths.key);
    const nonces = new Set<string>();
    for (let round = 0; round < 20; round += 1) {
      await file.change(round % 2 === 0 ? NEW : OLD);
      nonces.add(readFileSync(paths.sealed).subarray(1, 13).toString("hex"));
    }
    expect(nonces.size).toBe(20);
    expect(key).toHaveLength(32);
    expect(readFileSync(paths.key)).toEqual(key);
    expect(readFileSync((await sealed()).paths.key)).not.toEqual(key);
  });
});

describe("a change", () => {
  test("names what changed and leaves the rest as it was", async () => {
    const { file } = unsealed();
    expect(await file.change({ sharedKey: "canary-1" })).toEqual(["sharedKey"]);
    expect(await file.change({ apiKey: "canary-2", sharedKey: "canary-1" })).toEqual(["apiKey"]);
    expect(await file.read()).toMatchObject({ apiKey: "canary-2", sharedKey: "canary-1" });
    expect(await file.change(NEW)).toEqual(["apiKey", "sharedKey"]);
    expect(await file.change({ apiKey: null })).toEqual(["apiKey"]);
    expect(await file.read()).toMatchObject({ ...NEW, apiKey: null });
  });

  test("of nothing writes nothing, but waits until what is there is durable", async () => {
    const { file, disk, folder } = await sealed();
    const before = contentsOf(folder);
    expect(await file.change({})).toEqual([]);
    expect(await file.change(OLD)).toEqual([]);
    expect(disk.listCalls("open", "write", "rename", "remove")).toEqual([]);
    expect(contentsOf(folder)).toEqual(before);
    const folders = disk.block("syncFolder");
    const changing = file.change(OLD);
    expect(await isPending(changing)).toBe(true);
    await folders.releaseOne();
    expect(await changing).toEqual([]);
  });

  test("is written beside the old file, synced, renamed over it, and the folder synced", async () => {
    const { file, disk, folder } = unsealed();
    const steps = ["write *.new", "sync *.new", "close *.new", "rename *", "syncFolder "];
    const replaced = (name: string): string[] =>
      steps.map((step) => step.replace("*", name).replace(/ $/, ` ${basename(folder)}`));
    await file.change(OLD);
    expect(disk.listCalls(...CHANGES)).toEqual([
      ...replaced(SEALING_KEY_FILE),
      ...replaced(SEALED_FILE),
    ]);
    disk.calls.length = 0;
    await file.change(NEW);
    expect(disk.listCalls(...CHANGES)).toEqual(replaced(SEALED_FILE));
  });

  test("is done, and shown, only when both syncs returned", async () => {
    const { file, disk, folder } = await sealed();
    const [syncs, folders] = [disk.block("sync"), disk.block("syncFolder")];
    const changing = file.change(NEW);
    const reading = file.read();
    expect(await isPending(changing)).toBe(true);
    expect(await pairIn(folder)).toEqual(OLD);
    await syncs.releaseOne();
    expect(await isPending(Promise.race([changing, reading]))).toBe(true);
    await folders.releaseOne();
    await changing;
    expect(await reading).toMatchObject(NEW);
  });

  test("does not lose another one made at the same time", async () => {
    const { file, folder } = await sealed();
    const { apiKey, sharedKey } = NEW;
    const changes = [file.change({ apiKey }), file.change({ sharedKey })];
    expect(await Promise.all(changes)).toEqual([["apiKey"], ["sharedKey"]]);
    expect(await pairIn(folder)).toEqual(NEW);
  });
});

describe("when the disk fails", () => {
  const HALF: Partial<Credentials> = { apiKey: "canary-new-api" };
  const starts = [
    { name: "the first pair", start: unsealed, old: NONE, update: NEW, least: 14 },
    { name: "a new pair", start: sealed, old: OLD, update: NEW, least: 7 },
    { name: "half of a pair", start: sealed, old: OLD, update: HALF, least: 9 },
  ];
  test.each(starts)("at any call of $name, the old or the new is there", async (row) => {
    const { old, update } = row;
    let failed = 0;
    for (let place = 1, finished = false; !finished; place += 1) {
      const { file, disk, folder } = await row.start();
      failCallAt(disk, place, "EIO");
      const error = await failureOf(file.change(update));
      finished = disk.calls.length < place;
      disk.clearFaults();
      expect([old, { ...old, ...update }]).toContainEqual(await pairIn(folder));
      if (error === null) expect(await pairIn(folder)).toEqual({ ...old, ...update });
      expectNoCanary(Bun.inspect(error) + JSON.stringify(contentsOf(folder)));
      const again = await file.change(update);
      // Nobody was told of the one that failed, wherever it got to.
      expect(again).toHaveLength(error === null ? 0 : Object.keys(update).length);
      expect(await pairIn(folder)).toEqual({ ...old, ...update });
      expect(disk.misuses).toEqual([]);
      if (error !== null) failed += 1;
    }
    expect(failed).toBeGreaterThanOrEqual(row.least);
  });

  test("and is full, the old pair stays; with little at a time, all is written", async () => {
    const { file, disk, folder } = await sealed();
    disk.bytesLeft = 20;
    expect(String(await failureOf(file.change(NEW)))).toContain("ENOSPC");
    expect(await file.read()).toMatchObject(OLD);
    disk.clearFaults();
    disk.maxWriteSize = 7;
    await file.change(NEW);
    expect(await pairIn(folder)).toEqual(NEW);
  });

  test.each([SEALED_FILE, SEALING_KEY_FILE])(
    "to read %s, nothing is set and that is said",
    async (name) => {
      const { file, disk, folder } = await sealed();
      disk.beforeCall = (call) => {
        if (call.name === "read" && call.path.endsWith(name)) throw makeDiskError("EACCES");
      };
      const note = "credentials.sealed cannot be read (EACCES)";
      expect(await file.read()).toEqual({ ...NONE, status: "unusable", problem: note });
      expect(String(await failureOf(file.change({ apiKey: "canary" })))).toContain("EACCES");
      // Both at once need nothing from the old file, but a key that may still be good is kept.
      await failureOf(file.change(NEW));
      disk.clearFaults();
      expect(await pairIn(folder)).toEqual(name === SEALED_FILE ? NEW : OLD);
    },
  );
});

describe("a file that cannot be opened", () => {
  const KEY_GONE = "credentials.sealed cannot be opened: sealing.key is missing or damaged";
  const DAMAGED = "credentials.sealed was damaged or encrypted with another key";
  const damages: [string, string, string, string | null][] = [
    ["empty", "credentials.sealed is incomplete", SEALED_FILE, ""],
    ["zeros", "credentials.sealed has an unknown version", SEALED_FILE, "\0".repeat(99)],
    ["without its key", KEY_GONE, SEALING_KEY_FILE, null],
    ["with a key cut short", KEY_GONE, SEALING_KEY_FILE, "short"],
    ["with another key", DAMAGED, SEALING_KEY_FILE, "k".repeat(32)],
  ];
  test.each(damages)("(%s) is not set, and a change replaces it", async (_, note, name, text) => {
    const { file, folder } = await sealed();
    rmSync(join(folder, name));
    if (text !== null) writeFileSync(join(folder, name), text);
    expect(await file.read()).toEqual({ ...NONE, status: "unusable", problem: note });
    expect(await file.change({ apiKey: null })).toEqual(["apiKey"]);
    expect(await file.change({ sharedKey: "canary" })).toEqual(["sharedKey"]);
    expect(await pairIn(folder)).toEqual({ apiKey: null, sharedKey: "canary" });
  });

  test("is one with any bit changed, cut anywhere or longer", async () => {
    const { file, paths } = await sealed();
    const bytes = readFileSync(paths.sealed);
    const others: Uint8Array[] = [Buffer.concat([bytes, Buffer.of(0)])];
    for (let place = 0; place < bytes.length; place += 1) {
      others.push(bytes.subarray(0, place));
      for (let bit = 0; bit < 8; bit += 1) {
        others.push(bytes.with(place, (bytes[place] ?? 0) ^ (1 << bit)));
      }
    }
    for (const other of others) {
      writeFileSync(paths.sealed, other);
      const { problem, ...rest } = await file.read();
      expect(rest).toEqual({ ...NONE, status: "unusable" });
      expectNoCanary(problem ?? "canary");
    }
  });
});

describe("a key from outside", () => {
  const KEY = new Uint8Array(32).fill(7);

  test("opens what it sealed, and no key file is made", async () => {
    const { folder } = await sealed(KEY);
    expect(readdirSync(folder)).toEqual([SEALED_FILE]);
    const pairs = [await pairIn(folder, KEY), await pairIn(folder, new Uint8Array(32))];
    expect([...pairs, await pairIn(folder)]).toEqual([OLD, NONE, NONE]);
  });

  test("is a plain AES-256-GCM key: version and purpose are signed along", async () => {
    const { paths } = await sealed(KEY);
    const bytes = readFileSync(paths.sealed);
    const additionalData = Buffer.from("\u0001berth credentials.sealed");
    const key = await crypto.subtle.importKey("raw", KEY, "AES-GCM", false, ["decrypt"]);
    const how = { name: "AES-GCM", iv: bytes.subarray(1, 13), additionalData };
    const text = await crypto.subtle.decrypt(how, key, bytes.subarray(13));
    expect([bytes[0], JSON.parse(Buffer.from(text).toString())]).toEqual([1, OLD]);
  });

  test("is refused at once when it has another length, and not shown", () => {
    expect(() => unsealed(Buffer.from("canary"))).toThrow(
      "a sealing key has 32 bytes, and this one has 6",
    );
  });
});
