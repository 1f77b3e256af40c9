import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import {
  SEALED_FILE,
  SealedFile,
  SEALING_KEY_FILE,
  type Credentials,
} from "../../../src/store/secrets/sealed-file.ts";
import { makeDiskError, failCallAt, FaultyDisk, isPending } from "../../support/faulty-disk.ts";
import { contentsOf, modeOf, tempFolder } from "../../support/temp-folder.ts";

const OLD: Credentials = { apiKey: "canary-old-api", sharedKey: "canary-old-shared-ä\u2028" };
const NEW: Credentials = { apiKey: "canary-new-api", sharedKey: "canary-new-shared" };
const NONE: Credentials = { apiKey: null, sharedKey: null };
const CHANGES = ["write", "sync", "close", "rename", "remove", "setMode", "syncFolder"] as const;

function makeSealedFile(key: Uint8Array | null = null) {
  const disk = new FaultyDisk();
  const folder = tempFolder();
  const paths = { sealed: join(folder, SEALED_FILE), key: join(folder, SEALING_KEY_FILE) };
  return { disk, folder, paths, file: new SealedFile(disk, folder, { key }) };
}

async function makeSealedFileWithOld(key: Uint8Array | null = null) {
  const fixture = makeSealedFile(key);
  await fixture.file.change(OLD);
  fixture.disk.calls.length = 0;
  return fixture;
}

/** The credentials that a starting server reads. */
async function readPair(folder: string, key: Uint8Array | null = null): Promise<Credentials> {
  const { apiKey, sharedKey } = await new SealedFile(new FaultyDisk(), folder, { key }).read();
  return { apiKey, sharedKey };
}

const catchError = (work: Promise<unknown>): Promise<unknown> =>
  work.then(() => null).catch((error: unknown) => error);

const expectNoCanary = (text: string): void => expect(text).not.toContain("canary");

describe("sealed credentials", () => {
  test("are read as they were set, encrypted on disk, and accessible only to their owner", async () => {
    const { file, folder, paths } = await makeSealedFileWithOld();
    expect(await file.read()).toEqual({ ...OLD, status: "opened", problem: null });
    expect(await readPair(folder)).toEqual(OLD);
    expectNoCanary(JSON.stringify(contentsOf(folder)));
    expect(readdirSync(folder).toSorted()).toEqual([SEALED_FILE, SEALING_KEY_FILE]);
    expect([modeOf(paths.sealed), modeOf(paths.key)]).toEqual(["600", "600"]);
  });

  test("are absent without a file, and reading or removing them creates none", async () => {
    const { file, folder } = makeSealedFile();
    expect(await file.change(NONE)).toEqual([]);
    expect(await file.read()).toMatchObject({
      ...NONE,
      problem: "credentials.sealed does not exist",
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("are sealed with a new nonce each time and with the same key of the folder", async () => {
    const { file, paths } = await makeSealedFileWithOld();
    const key = readFileSync(paths.key);
    const nonces = new Set<string>();
    for (let round = 0; round < 20; round += 1) {
      await file.change(round % 2 === 0 ? NEW : OLD);
      nonces.add(readFileSync(paths.sealed).subarray(1, 13).toString("hex"));
    }
    expect(nonces.size).toBe(20);
    expect(key).toHaveLength(32);
    expect(readFileSync(paths.key)).toEqual(key);
    expect(readFileSync((await makeSealedFileWithOld()).paths.key)).not.toEqual(key);
  });
});

describe("change of sealed credentials", () => {
  test("returns the names that changed and keeps the others", async () => {
    const { file } = makeSealedFile();
    expect(await file.change({ sharedKey: "canary-1" })).toEqual(["sharedKey"]);
    expect(await file.change({ apiKey: "canary-2", sharedKey: "canary-1" })).toEqual(["apiKey"]);
    expect(await file.read()).toMatchObject({ apiKey: "canary-2", sharedKey: "canary-1" });
    expect(await file.change(NEW)).toEqual(["apiKey", "sharedKey"]);
    expect(await file.change({ apiKey: null })).toEqual(["apiKey"]);
    expect(await file.read()).toMatchObject({ ...NEW, apiKey: null });
  });

  test("to the same values writes nothing, but waits until the file is durable", async () => {
    const { file, disk, folder } = await makeSealedFileWithOld();
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

  test("writes a new file, syncs it, renames it over the old one and syncs the folder", async () => {
    const { file, disk, folder } = makeSealedFile();
    const steps = ["write *.new", "sync *.new", "close *.new", "rename *", "syncFolder "];
    const replaceCalls = (name: string): string[] =>
      steps.map((step) => step.replace("*", name).replace(/ $/, ` ${basename(folder)}`));
    await file.change(OLD);
    expect(disk.listCalls(...CHANGES)).toEqual([
      ...replaceCalls(SEALING_KEY_FILE),
      ...replaceCalls(SEALED_FILE),
    ]);
    disk.calls.length = 0;
    await file.change(NEW);
    expect(disk.listCalls(...CHANGES)).toEqual(replaceCalls(SEALED_FILE));
  });

  test("resolves and is visible to reads only after both syncs", async () => {
    const { file, disk, folder } = await makeSealedFileWithOld();
    const [syncs, folders] = [disk.block("sync"), disk.block("syncFolder")];
    const changing = file.change(NEW);
    const reading = file.read();
    expect(await isPending(changing)).toBe(true);
    expect(await readPair(folder)).toEqual(OLD);
    await syncs.releaseOne();
    expect(await isPending(Promise.race([changing, reading]))).toBe(true);
    await folders.releaseOne();
    await changing;
    expect(await reading).toMatchObject(NEW);
  });

  test("does not lose a concurrent change", async () => {
    const { file, folder } = await makeSealedFileWithOld();
    const { apiKey, sharedKey } = NEW;
    const changes = [file.change({ apiKey }), file.change({ sharedKey })];
    expect(await Promise.all(changes)).toEqual([["apiKey"], ["sharedKey"]]);
    expect(await readPair(folder)).toEqual(NEW);
  });
});

describe("sealed credentials on a failing disk", () => {
  const HALF: Partial<Credentials> = { apiKey: "canary-new-api" };
  const cases = [
    {
      name: "setting the first pair",
      start: makeSealedFile,
      old: NONE,
      update: NEW,
      minFailures: 14,
    },
    {
      name: "setting a new pair",
      start: makeSealedFileWithOld,
      old: OLD,
      update: NEW,
      minFailures: 7,
    },
    {
      name: "setting half of a pair",
      start: makeSealedFileWithOld,
      old: OLD,
      update: HALF,
      minFailures: 9,
    },
  ];
  test.each(cases)("are the old or the new ones when any call of $name fails", async (row) => {
    const { old, update } = row;
    let failureCount = 0;
    for (let callNumber = 1, isFinished = false; !isFinished; callNumber += 1) {
      const { file, disk, folder } = await row.start();
      failCallAt(disk, callNumber, "EIO");
      const error = await catchError(file.change(update));
      isFinished = disk.calls.length < callNumber;
      disk.clearFaults();
      expect([old, { ...old, ...update }]).toContainEqual(await readPair(folder));
      if (error === null) expect(await readPair(folder)).toEqual({ ...old, ...update });
      expectNoCanary(Bun.inspect(error) + JSON.stringify(contentsOf(folder)));
      const changedNames = await file.change(update);
      // The failed change was not reported as done, so this one must report all names.
      expect(changedNames).toHaveLength(error === null ? 0 : Object.keys(update).length);
      expect(await readPair(folder)).toEqual({ ...old, ...update });
      expect(disk.misuses).toEqual([]);
      if (error !== null) failureCount += 1;
    }
    expect(failureCount).toBeGreaterThanOrEqual(row.minFailures);
  });

  test("stay unchanged when it is full, and are complete with 7 bytes per write", async () => {
    const { file, disk, folder } = await makeSealedFileWithOld();
    disk.bytesLeft = 20;
    expect(String(await catchError(file.change(NEW)))).toContain("ENOSPC");
    expect(await file.read()).toMatchObject(OLD);
    disk.clearFaults();
    disk.maxWriteSize = 7;
    await file.change(NEW);
    expect(await readPair(folder)).toEqual(NEW);
  });

  test.each([SEALED_FILE, SEALING_KEY_FILE])(
    "are unusable, with the reason, when %s cannot be read",
    async (name) => {
      const { file, disk, folder } = await makeSealedFileWithOld();
      disk.beforeCall = (call) => {
        if (call.name === "read" && call.path.endsWith(name)) throw makeDiskError("EACCES");
      };
      const problem = "credentials.sealed cannot be read (EACCES)";
      expect(await file.read()).toEqual({ ...NONE, status: "unusable", problem });
      expect(String(await catchError(file.change({ apiKey: "canary" })))).toContain("EACCES");
      // Setting both needs nothing from the old file, but a key that may still be good is kept.
      await catchError(file.change(NEW));
      disk.clearFaults();
      expect(await readPair(folder)).toEqual(name === SEALED_FILE ? NEW : OLD);
    },
  );
});

describe("sealed credentials file", () => {
  const KEY_GONE = "credentials.sealed cannot be opened: sealing.key is missing or damaged";
  const DAMAGED = "credentials.sealed was damaged or encrypted with another key";
  const damages: [string, string, string, string | null][] = [
    ["empty", "credentials.sealed is incomplete", SEALED_FILE, ""],
    ["all zeros", "credentials.sealed has an unknown version", SEALED_FILE, "\0".repeat(99)],
    ["missing its key", KEY_GONE, SEALING_KEY_FILE, null],
    ["stored with a truncated key", KEY_GONE, SEALING_KEY_FILE, "short"],
    ["sealed with another key", DAMAGED, SEALING_KEY_FILE, "k".repeat(32)],
  ];
  test.each(damages)(
    "that is %s is unusable, and a change replaces it",
    async (_, problem, name, text) => {
      const { file, folder } = await makeSealedFileWithOld();
      rmSync(join(folder, name));
      if (text !== null) writeFileSync(join(folder, name), text);
      expect(await file.read()).toEqual({ ...NONE, status: "unusable", problem });
      expect(await file.change({ apiKey: null })).toEqual(["apiKey"]);
      expect(await file.change({ sharedKey: "canary" })).toEqual(["sharedKey"]);
      expect(await readPair(folder)).toEqual({ apiKey: null, sharedKey: "canary" });
    },
  );

  test("is unusable with any bit changed, truncated anywhere or extended", async () => {
    const { file, paths } = await makeSealedFileWithOld();
    const bytes = readFileSync(paths.sealed);
    const others: Uint8Array[] = [Buffer.concat([bytes, Buffer.of(0)])];
    for (let offset = 0; offset < bytes.length; offset += 1) {
      others.push(bytes.subarray(0, offset));
      for (let bit = 0; bit < 8; bit += 1) {
        others.push(bytes.with(offset, (bytes[offset] ?? 0) ^ (1 << bit)));
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

describe("external sealing key", () => {
  const KEY = new Uint8Array(32).fill(7);

  test("opens what it sealed, and no key file is created", async () => {
    const { folder } = await makeSealedFileWithOld(KEY);
    expect(readdirSync(folder)).toEqual([SEALED_FILE]);
    const pairs = [await readPair(folder, KEY), await readPair(folder, new Uint8Array(32))];
    expect([...pairs, await readPair(folder)]).toEqual([OLD, NONE, NONE]);
  });

  test("is a plain AES-256-GCM key, with version and purpose as additional data", async () => {
    const { paths } = await makeSealedFileWithOld(KEY);
    const bytes = readFileSync(paths.sealed);
    const additionalData = Buffer.from("\u0001berth credentials.sealed");
    const key = await crypto.subtle.importKey("raw", KEY, "AES-GCM", false, ["decrypt"]);
    const algorithm = { name: "AES-GCM", iv: bytes.subarray(1, 13), additionalData };
    const text = await crypto.subtle.decrypt(algorithm, key, bytes.subarray(13));
    expect([bytes[0], JSON.parse(Buffer.from(text).toString())]).toEqual([1, OLD]);
  });

  test("is refused when its length is not 32 bytes, without showing it", () => {
    expect(() => makeSealedFile(Buffer.from("canary"))).toThrow(
      "a sealing key has 32 bytes, and this one has 6",
    );
  });
});
