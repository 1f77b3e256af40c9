import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { readRegularFile } from "../../../src/platform/files/read-regular-file.ts";
import { tempFolder } from "../../support/temp-folder.ts";

describe("a regular file", () => {
  test("is read completely", async () => {
    const path = join(tempFolder(), "file");
    const bytes = Buffer.alloc(3_000_001, "content ");
    writeFileSync(path, bytes);
    expect(realDisk.isRegularFile(path)).toBe(true);
    const content = await readRegularFile(path);
    expect(bytes.equals(Buffer.from(await new Response(content).bytes()))).toBe(true);
  });

  test("is not a link, a folder, a pipe, nor a file that does not exist", async () => {
    const folder = tempFolder();
    const path = (name: string): string => join(folder, name);
    writeFileSync(path("file"), "secret");
    symlinkSync("file", path("link"));
    symlinkSync("nowhere", path("broken"));
    mkdirSync(path("folder"));
    expect(Bun.spawnSync(["mkfifo", path("pipe")]).exitCode).toBe(0);
    for (const name of ["link", "broken", "folder", "pipe", "absent"]) {
      expect([name, await readRegularFile(path(name))]).toEqual([name, null]);
      expect([name, realDisk.isRegularFile(path(name))]).toEqual([name, false]);
    }
  });
});
