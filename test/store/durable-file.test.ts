import { describe, expect, test } from "bun:test";
import { existsSync, linkSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DurableFile, FileDamaged } from "../../src/store/durable-file.ts";
import { makeDiskError, failCallAt, FaultyDisk, isPending } from "../support/faulty-disk.ts";
import { modeOf, tempFolder } from "../support/temp-folder.ts";

const OLD = { name: "old", rows: [{ user: "__proto__" }, { user: "ä\n\u2028" }], empty: [] };
const NEW = { name: "new", rows: Array.from({ length: 2_345 }, (_, row) => ({ row })) };
const CHANGES = ["write", "sync", "close", "link", "rename", "remove", "syncFolder"] as const;

async function written() {
  const disk = new FaultyDisk();
  const folder = tempFolder();
  const path = join(folder, "state.json");
  const file = new DurableFile(disk, path);
  await file.write(OLD);
  disk.calls.length = 0;
  return { disk, path, folder, file, kept: join(folder, "state-0.json") };
}

/** As read, without the checksum it ends with. */
async function contentOf(path: string): Promise<unknown> {
  const read = await new DurableFile(new FaultyDisk(), path).read();
  const { sum, ...content } = read as Record<string, unknown>;
  expect(sum).toMatch(/^[0-9a-f]{64}$/);
  return content;
}

describe("a durable file", () => {
  test("is written beside the old one, synced, renamed over it, and the folder synced", async () => {
    const { disk, path, file, kept, folder } = await written();
    file.keepPreviousAs = kept;
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
    expect(await contentOf(kept)).toEqual(OLD);
    expect([modeOf(path), modeOf(kept)]).toEqual(["600", "600"]);
  });

  test("is done only when both syncs returned", async () => {
    const { disk, file, path } = await written();
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

  test("is plain JSON with a row a line", async () => {
    const { path } = await written();
    const text = readFileSync(path, "utf8");
    expect(JSON.parse(text)).toMatchObject(OLD);
    expect(text).toStartWith('{\n"name":"old",\n"rows":[\n{"user":"__proto__"},\n{"user":');
    expect(text).toEndWith('"empty":[],\n' + text.slice(text.indexOf('"sum"')));
  });

  test("is the old or the new one, whole, whichever call fails", async () => {
    let failed = 0;
    for (let place = 1; ; place += 1) {
      const { disk, path, file, kept } = await written();
      file.keepPreviousAs = kept;
      failCallAt(disk, place, "EIO");
      const whole = await file.write({ ...NEW, rows: [] }).then(
        () => true,
        () => false,
      );
      const { name } = (await contentOf(path)) as { name: string };
      expect(["old", "new"]).toContain(name);
      expect([place, existsSync(`${path}.new`)]).toEqual([place, false]);
      if (whole) expect(name).toBe("new");
      await new DurableFile(new FaultyDisk(), path).write(NEW);
      expect(await contentOf(path)).toEqual(NEW);
      if (existsSync(kept)) expect(await contentOf(kept)).toEqual(OLD);
      if (whole) break;
      failed += 1;
    }
    expect(failed).toBeGreaterThan(8);
  });

  test("is written whole though the disk takes little at a time, or not at all", async () => {
    const { disk, path, file } = await written();
    disk.maxWriteSize = 11;
    await file.write(NEW);
    expect(await contentOf(path)).toEqual(NEW);
    disk.bytesLeft = 50;
    expect(file.write(OLD)).rejects.toThrow("ENOSPC");
    expect(await contentOf(path)).toEqual(NEW);
  });

  test("leaves nothing of itself behind where there was no room for it", async () => {
    const { disk, path, file, folder } = await written();
    for (const room of [0, 1, 5_000]) {
      disk.bytesLeft = room;
      expect(file.write(NEW)).rejects.toThrow("ENOSPC");
      await Bun.sleep(0);
      expect([room, readdirSync(folder)]).toEqual([room, ["state.json"]]);
    }
    expect(await contentOf(path)).toEqual(OLD);
  });

  test("keeps the first error when what is left behind cannot be removed either", async () => {
    const { disk, file } = await written();
    disk.beforeCall = ({ name }) => {
      if (name === "write") throw makeDiskError("ENOSPC");
      if (name === "remove") throw makeDiskError("EIO");
    };
    expect(file.write(NEW)).rejects.toThrow("ENOSPC");
  });

  test("takes nothing from what an interrupted write left behind", async () => {
    const { path, file } = await written();
    writeFileSync(`${path}.new`, "x".repeat(100_000));
    await file.write(OLD);
    expect(await contentOf(path)).toEqual(OLD);
    expect(existsSync(`${path}.new`)).toBe(false);
  });

  test("keeps the old one once, under the name it was given", async () => {
    const { path, file, kept } = await written();
    linkSync(path, kept);
    const { ino } = statSync(path);
    file.keepPreviousAs = kept;
    await file.write(NEW);
    expect(statSync(kept).ino).toBe(ino);
    expect(await contentOf(kept)).toEqual(OLD);
  });

  test("reads as null only when it is not there", async () => {
    const missing = new DurableFile(new FaultyDisk(), join(tempFolder(), "state.json"));
    expect(await missing.read()).toBeNull();
    const { path, file } = await written();
    for (const text of ["", "null", "{}", "0", "\0\0\0"]) {
      writeFileSync(path, text);
      expect(file.read()).rejects.toBeInstanceOf(FileDamaged);
    }
  });

  test("is refused with any one of its bytes changed, missing or added", async () => {
    const { path, file } = await written();
    const bytes = readFileSync(path);
    const refused = async (other: Uint8Array): Promise<void> => {
      writeFileSync(path, other);
      expect(await file.read().catch((error: unknown) => error)).toBeInstanceOf(FileDamaged);
    };
    for (let place = 0; place < bytes.length; place += 1) {
      const other = Buffer.from(bytes);
      other[place] = (bytes[place] ?? 0) ^ 1;
      await refused(other);
      await refused(Buffer.concat([bytes.subarray(0, place), bytes.subarray(place + 1)]));
    }
    await refused(Buffer.concat([bytes, Buffer.from("\n")]));
  });
});
