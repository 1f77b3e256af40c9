import { describe, expect, test } from "bun:test";
import { existsSync, linkSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DurableFile, FileDamaged } from "../../../src/store/state/durable-file.ts";
import { makeDiskError, failCallAt, FaultyDisk, isPending } from "../../support/faulty-disk.ts";
import { modeOf, tempFolder } from "../../support/temp-folder.ts";

const OLD = { name: "old", rows: [{ user: "__proto__" }, { user: "ä\n\u2028" }], empty: [] };
const NEW = { name: "new", rows: Array.from({ length: 2_345 }, (_, row) => ({ row })) };
const CHANGES = ["write", "sync", "close", "link", "rename", "remove", "syncFolder"] as const;

async function writeOldFile() {
  const disk = new FaultyDisk();
  const folder = tempFolder();
  const path = join(folder, "state.json");
  const file = new DurableFile(disk, path);
  await file.write(OLD);
  disk.calls.length = 0;
  return { disk, path, folder, file, olderPath: join(folder, "state-0.json") };
}

/** The content of the file without its checksum. */
async function contentOf(path: string): Promise<unknown> {
  const read = await new DurableFile(new FaultyDisk(), path).read();
  const { sum, ...content } = read as Record<string, unknown>;
  expect(sum).toMatch(/^[0-9a-f]{64}$/);
  return content;
}

describe("durable file", () => {
  test("writes a new file, syncs it, renames it over the old one and syncs the folder", async () => {
    const { disk, path, file, olderPath, folder } = await writeOldFile();
    file.keepPreviousAs = olderPath;
    await file.write(NEW);
    const calls = disk.listCalls(...CHANGES);
    const writes = calls.filter((call) => call.startsWith("write "));
    expect(new Set(writes)).toEqual(new Set(["write state.json.new"]));
    expect(calls.slice(writes.length)).toEqual([
      "sync state.json.new",
      "close state.json.new",
      "link state-0.json",
      "rename state.json",
      `syncFolder ${folder.slice(folder.lastIndexOf("/") + 1)}`,
    ]);
    expect(await contentOf(path)).toEqual(NEW);
    expect(await contentOf(olderPath)).toEqual(OLD);
    expect([modeOf(path), modeOf(olderPath)]).toEqual(["600", "600"]);
  });

  test("write resolves only after both syncs", async () => {
    const { disk, file, path } = await writeOldFile();
    const syncs = disk.block("sync");
    const folders = disk.block("syncFolder");
    const writing = file.write(NEW);
    expect(await isPending(writing)).toBe(true);
    expect(await contentOf(path)).toEqual(OLD);
    expect(disk.listCalls("rename")).toEqual([]);
    await syncs.releaseOne();
    expect(await isPending(writing)).toBe(true);
    await folders.releaseOne();
    await writing;
  });

  test("is plain JSON with one row per line", async () => {
    const { path } = await writeOldFile();
    const text = readFileSync(path, "utf8");
    expect(JSON.parse(text)).toMatchObject(OLD);
    expect(text).toStartWith('{\n"name":"old",\n"rows":[\n{"user":"__proto__"},\n{"user":');
    expect(text).toEndWith('"empty":[],\n' + text.slice(text.indexOf('"sum"')));
  });

  test("is completely the old or the new one when any call fails", async () => {
    let failureCount = 0;
    for (let callNumber = 1; ; callNumber += 1) {
      const { disk, path, file, olderPath } = await writeOldFile();
      file.keepPreviousAs = olderPath;
      failCallAt(disk, callNumber, "EIO");
      const hasSucceeded = await file.write({ ...NEW, rows: [] }).then(
        () => true,
        () => false,
      );
      const { name } = (await contentOf(path)) as { name: string };
      expect(["old", "new"]).toContain(name);
      expect([callNumber, existsSync(`${path}.new`)]).toEqual([callNumber, false]);
      if (hasSucceeded) expect(name).toBe("new");
      await new DurableFile(new FaultyDisk(), path).write(NEW);
      expect(await contentOf(path)).toEqual(NEW);
      if (existsSync(olderPath)) expect(await contentOf(olderPath)).toEqual(OLD);
      if (hasSucceeded) break;
      failureCount += 1;
    }
    expect(failureCount).toBeGreaterThan(8);
  });

  test("is complete with 11 bytes per write, and unchanged when the disk is full", async () => {
    const { disk, path, file } = await writeOldFile();
    disk.maxWriteSize = 11;
    await file.write(NEW);
    expect(await contentOf(path)).toEqual(NEW);
    disk.bytesLeft = 50;
    expect(file.write(OLD)).rejects.toThrow("ENOSPC");
    expect(await contentOf(path)).toEqual(NEW);
  });

  test("leaves no temporary file when the disk is full", async () => {
    const { disk, path, file, folder } = await writeOldFile();
    for (const freeBytes of [0, 1, 5_000]) {
      disk.bytesLeft = freeBytes;
      expect(file.write(NEW)).rejects.toThrow("ENOSPC");
      await Bun.sleep(0);
      expect([freeBytes, readdirSync(folder)]).toEqual([freeBytes, ["state.json"]]);
    }
    expect(await contentOf(path)).toEqual(OLD);
  });

  test("reports the first error when the temporary file cannot be removed either", async () => {
    const { disk, file } = await writeOldFile();
    disk.beforeCall = ({ name }) => {
      if (name === "write") throw makeDiskError("ENOSPC");
      if (name === "remove") throw makeDiskError("EIO");
    };
    expect(file.write(NEW)).rejects.toThrow("ENOSPC");
  });

  test("does not use the temporary file of an interrupted write", async () => {
    const { path, file } = await writeOldFile();
    writeFileSync(`${path}.new`, "x".repeat(100_000));
    await file.write(OLD);
    expect(await contentOf(path)).toEqual(OLD);
    expect(existsSync(`${path}.new`)).toBe(false);
  });

  test("keeps an older file that already has the name for it", async () => {
    const { path, file, olderPath } = await writeOldFile();
    linkSync(path, olderPath);
    const { ino } = statSync(path);
    file.keepPreviousAs = olderPath;
    await file.write(NEW);
    expect(statSync(olderPath).ino).toBe(ino);
    expect(await contentOf(olderPath)).toEqual(OLD);
  });

  test("reads as null only when it does not exist", async () => {
    const missing = new DurableFile(new FaultyDisk(), join(tempFolder(), "state.json"));
    expect(await missing.read()).toBeNull();
    const { path, file } = await writeOldFile();
    for (const text of ["", "null", "{}", "0", "\0\0\0"]) {
      writeFileSync(path, text);
      expect(file.read()).rejects.toBeInstanceOf(FileDamaged);
    }
  });

  test("is refused when any byte is changed, missing or added", async () => {
    const { path, file } = await writeOldFile();
    const bytes = readFileSync(path);
    const expectDamaged = async (other: Uint8Array): Promise<void> => {
      writeFileSync(path, other);
      expect(await file.read().catch((error: unknown) => error)).toBeInstanceOf(FileDamaged);
    };
    for (let offset = 0; offset < bytes.length; offset += 1) {
      const other = Buffer.from(bytes);
      other[offset] = (bytes[offset] ?? 0) ^ 1;
      await expectDamaged(other);
      await expectDamaged(Buffer.concat([bytes.subarray(0, offset), bytes.subarray(offset + 1)]));
    }
    await expectDamaged(Buffer.concat([bytes, Buffer.from("\n")]));
  });
});
