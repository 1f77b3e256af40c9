import { describe, expect, test } from "bun:test";
import { backUpFolder, openSiteWithHistory, restoreTo } from "../../support/backup-site.ts";
import { makeDiskError, FaultyDisk } from "../../support/faulty-disk.ts";
import { transactOrThrow, openAndCloseFolder } from "../../support/licensed-store.ts";
import { register } from "../../support/scenario.ts";
import { copyFolder } from "../../support/temp-folder.ts";

/** A backup, and a copy of its folder with one more line since then. */
async function prepareOlderBackup() {
  const { folder, store } = await openSiteWithHistory();
  const file = await backUpFolder(folder);
  await transactOrThrow(store, register("dua"));
  return { folder: copyFolder(folder), file };
}

describe("restore", () => {
  test("syncs the staged copy, the replaced files and the new files, each before the next step", async () => {
    const { folder, file } = await prepareOlderBackup();
    const disk = new FaultyDisk();
    await restoreTo(folder, file, { disk, acceptLoss: true });
    const stamp = /-\d{8}T\d{6}Z-[0-9a-f]{8}/;
    const calls = disk
      .listCalls("sync", "rename", "syncFolder", "removeFolder")
      .map((call) => call.replace(stamp, "-STAMP"));
    const staged = calls.slice(0, calls.indexOf("rename restoring-STAMP"));
    expect(staged.filter((call) => !call.startsWith("sync "))).toEqual([
      "syncFolder history",
      "syncFolder restore.new",
    ]);
    expect(staged.slice(-2)).toEqual(["syncFolder history", "syncFolder restore.new"]);
    // Each file is synced once, and the journal a second time for its new line.
    expect(staged.filter((call) => call.startsWith("sync ")).toSorted()).toEqual(
      [
        "identity.jwk",
        "state.json",
        "state-5.json",
        "journal-6.jsonl",
        "journal-6.jsonl",
        "2026-03.jsonl",
        "2026-04.jsonl",
      ]
        .map((name) => `sync ${name}`)
        .toSorted(),
    );
    const afterStaging = calls.slice(staged.length);
    const renames = (list: readonly string[]) => list.filter((call) => call.startsWith("rename "));
    const arrivalIndex = afterStaging.indexOf("rename arriving-STAMP");
    const replaceCalls = afterStaging.slice(2, arrivalIndex);
    expect(afterStaging.slice(0, 2)).toEqual(["rename restoring-STAMP", "syncFolder data"]);
    expect(replaceCalls.slice(0, -2)).toEqual(renames(replaceCalls));
    expect(replaceCalls.slice(-2)).toEqual(["syncFolder replaced-STAMP", "syncFolder data"]);
    const arrivalCalls = afterStaging.slice(arrivalIndex + 2);
    expect(afterStaging[arrivalIndex + 1]).toBe("syncFolder data");
    expect(arrivalCalls.slice(0, -4)).toEqual(renames(arrivalCalls));
    expect(arrivalCalls.slice(-4)).toEqual([
      "syncFolder data",
      "syncFolder arriving-STAMP",
      "removeFolder arriving-STAMP",
      "syncFolder data",
    ]);
  });

  test("that failed to sync the replaced files is finished by a start that syncs them first", async () => {
    const { folder, file } = await prepareOlderBackup();
    const disk = new FaultyDisk();
    disk.beforeCall = ({ name, path }) => {
      if (name === "syncFolder" && path.includes("replaced-")) throw makeDiskError("EIO");
    };
    expect(restoreTo(folder, file, { disk, acceptLoss: true })).rejects.toThrow("EIO");
    const startDisk = new FaultyDisk();
    await openAndCloseFolder(folder, { disk: startDisk });
    const calls = startDisk
      .listCalls("rename", "syncFolder")
      .map((call) => call.replace(/-\d.*$/, ""));
    expect(calls.slice(0, 3)).toEqual([
      "syncFolder replaced",
      "syncFolder data",
      "rename arriving",
    ]);
  });
});
