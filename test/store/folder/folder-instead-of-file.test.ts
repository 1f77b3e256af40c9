// A folder in place of a file of the store, as a failed copy may leave it.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { errorCode } from "../../../src/platform/files/system-error.ts";
import { FolderRefused } from "../../../src/store/folder/refusal.ts";
import { verify } from "../../../src/operations/folder/verify.ts";
import { openSiteWithKey, checkIdentity } from "../../support/backup-site.ts";
import {
  transactOrThrow,
  catchFolderRefusal,
  listSegmentNames,
  openAndCloseFolder,
  readState,
} from "../../support/licensed-store.ts";
import { register } from "../../support/scenario.ts";
import { contentsOf, copyFolder, tempFolder } from "../../support/temp-folder.ts";

async function prepareKilledSite() {
  const { store, folder } = await openSiteWithKey();
  await store.checkpoint();
  await transactOrThrow(store, register("ada"));
  return { folder: copyFolder(folder), state: await readState(store) };
}

function replaceByFolder(path: string): void {
  rmSync(path);
  mkdirSync(path, { mode: 0o700 });
  writeFileSync(join(path, "file"), "content", { mode: 0o600 });
}

const verifyError = (folder: string): Promise<unknown> =>
  verify(realDisk, folder, { identity: checkIdentity }).then(
    () => null,
    (error: unknown) => error,
  );

describe("folder in place of", () => {
  test("state.json is refused with its path and a command that restores the state", async () => {
    const { folder, state } = await prepareKilledSite();
    const path = join(folder, "state.json");
    replaceByFolder(path);
    const before = contentsOf(folder);
    const { message, hint } = await catchFolderRefusal(folder);
    expect(message).toBe(`${path} is a folder instead of a file`);
    expect(await verifyError(folder)).toMatchObject({ name: "FolderRefused", message });
    const { lock: _lock, "checkpoint.lock": _other, ...after } = contentsOf(folder);
    const { lock: _before, "checkpoint.lock": _same, ...unchanged } = before;
    expect(after).toEqual(unchanged);
    expect(Bun.spawnSync(["sh", "-c", hint]).exitCode).toBe(0);
    expect((await openAndCloseFolder(folder)).state).toEqual(state);
    expect(existsSync(join(`${path}.folder`, "file"))).toBe(true);
  });

  test("state.json is refused with another hint when there is no older state", async () => {
    const { folder } = await prepareKilledSite();
    replaceByFolder(join(folder, "state.json"));
    rmSync(join(folder, "state-0.json"));
    const { message, hint } = await catchFolderRefusal(folder);
    expect(message).toContain("state.json is a folder instead of a file");
    expect(hint).toStartWith("this folder has no usable older state");
  });

  test("a journal segment is refused with its path", async () => {
    for (const index of [0, 1]) {
      const { folder } = await prepareKilledSite();
      const path = join(folder, listSegmentNames(folder)[index] ?? "");
      // The first segment is read only from the older state.
      if (index === 0) rmSync(join(folder, "state.json"));
      if (index === 0)
        writeFileSync(
          join(folder, "state.json"),
          await Bun.file(join(folder, "state-0.json")).bytes(),
          { mode: 0o600 },
        );
      replaceByFolder(path);
      const { message, hint } = await catchFolderRefusal(folder);
      expect(message).toBe(`${path} is a folder instead of a file`);
      expect(hint).toContain("backup");
      expect(await verifyError(folder)).toMatchObject({ name: "FolderRefused", message });
    }
  });

  test("the first segment is not treated as a first start when there is no state", async () => {
    const folder = join(tempFolder(), "data");
    await openAndCloseFolder(folder);
    for (const name of ["state.json", "state-0.json"]) rmSync(join(folder, name));
    replaceByFolder(join(folder, "journal-1.jsonl"));
    const { message } = await catchFolderRefusal(folder);
    expect(message).toContain("state.json is missing, but its journal exists");
  });

  test("an older state is refused by verify, but not by a start", async () => {
    const { folder, state } = await prepareKilledSite();
    replaceByFolder(join(folder, "state-0.json"));
    expect(String(await verifyError(folder))).toContain(`${join(folder, "state-0.json")} `);
    expect(await verifyError(folder)).toBeInstanceOf(FolderRefused);
    expect((await openAndCloseFolder(folder)).state).toEqual(state);
  });
});

test("disk read of a folder fails with EISDIR and its path", () => {
  const folder = tempFolder();
  for (const read of [() => realDisk.read(folder), () => realDisk.readPart(folder, 0, 10)]) {
    let thrown: unknown;
    try {
      read();
    } catch (error) {
      thrown = error;
    }
    expect(errorCode(thrown)).toBe("EISDIR");
    expect(thrown).toMatchObject({ path: folder });
  }
});
