// A folder where a file of the store should be, as a copy that went wrong makes it.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode, realDisk } from "../../src/platform/disk.ts";
import { FolderRefused } from "../../src/store/refusal.ts";
import { verify } from "../../src/store/verify.ts";
import { openSiteWithKey, checkIdentity } from "../support/backup-site.ts";
import {
  transactOrThrow,
  catchFolderRefusal,
  listSegmentNames,
  openAndCloseFolder,
  readState,
} from "../support/licensed-store.ts";
import { register } from "../support/scenario.ts";
import { contentsOf, copyFolder, tempFolder } from "../support/temp-folder.ts";

async function killed() {
  const { store, folder } = await openSiteWithKey();
  await store.checkpoint();
  await transactOrThrow(store, register("ada"));
  return { folder: copyFolder(folder), state: await readState(store) };
}

function asFolder(path: string): void {
  rmSync(path);
  mkdirSync(path, { mode: 0o700 });
  writeFileSync(join(path, "file"), "content", { mode: 0o600 });
}

const verifying = (folder: string): Promise<unknown> =>
  verify(realDisk, folder, { identity: checkIdentity }).then(
    () => null,
    (error: unknown) => error,
  );

describe("a folder in the place of", () => {
  test("state.json is refused with its path, and the command that is named brings it back", async () => {
    const { folder, state } = await killed();
    const path = join(folder, "state.json");
    asFolder(path);
    const before = contentsOf(folder);
    const { message, hint } = await catchFolderRefusal(folder);
    expect(message).toBe(`${path} is a folder instead of a file`);
    expect(await verifying(folder)).toMatchObject({ name: "FolderRefused", message });
    const { lock: _lock, "checkpoint.lock": _other, ...after } = contentsOf(folder);
    const { lock: _before, "checkpoint.lock": _same, ...was } = before;
    expect(after).toEqual(was);
    expect(Bun.spawnSync(["sh", "-c", hint]).exitCode).toBe(0);
    expect((await openAndCloseFolder(folder)).state).toEqual(state);
    expect(existsSync(join(`${path}.folder`, "file"))).toBe(true);
  });

  test("state.json without another generation is refused with what helps then", async () => {
    const { folder } = await killed();
    asFolder(join(folder, "state.json"));
    rmSync(join(folder, "state-0.json"));
    const { message, hint } = await catchFolderRefusal(folder);
    expect(message).toContain("state.json is a folder instead of a file");
    expect(hint).toStartWith("this folder has no usable older state");
  });

  test("any segment of the journal is refused with its path", async () => {
    for (const place of [0, 1]) {
      const { folder } = await killed();
      const path = join(folder, listSegmentNames(folder)[place] ?? "");
      // The first one is read from the generation before.
      if (place === 0) rmSync(join(folder, "state.json"));
      if (place === 0)
        writeFileSync(
          join(folder, "state.json"),
          await Bun.file(join(folder, "state-0.json")).bytes(),
          { mode: 0o600 },
        );
      asFolder(path);
      const { message, hint } = await catchFolderRefusal(folder);
      expect(message).toBe(`${path} is a folder instead of a file`);
      expect(hint).toContain("backup");
      expect(await verifying(folder)).toMatchObject({ name: "FolderRefused", message });
    }
  });

  test("a first segment without any state is no first start", async () => {
    const folder = join(tempFolder(), "data");
    await openAndCloseFolder(folder);
    for (const name of ["state.json", "state-0.json"]) rmSync(join(folder, name));
    asFolder(join(folder, "journal-1.jsonl"));
    const { message } = await catchFolderRefusal(folder);
    expect(message).toContain("state.json is missing, but its journal exists");
  });

  test("a kept generation is refused by verify alone", async () => {
    const { folder, state } = await killed();
    asFolder(join(folder, "state-0.json"));
    expect(String(await verifying(folder))).toContain(`${join(folder, "state-0.json")} `);
    expect(await verifying(folder)).toBeInstanceOf(FolderRefused);
    expect((await openAndCloseFolder(folder)).state).toEqual(state);
  });
});

test("reading a folder as a file fails with its path", () => {
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
