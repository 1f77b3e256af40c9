import { describe, expect, test } from "bun:test";
import { backUpFolder, openSiteWithHistory, restoreTo } from "../support/backup-site.ts";
import { makeDiskError, FaultyDisk } from "../support/faulty-disk.ts";
import { transactOrThrow, openAndCloseFolder } from "../support/licensed-store.ts";
import { register } from "../support/scenario.ts";
import { copyFolder } from "../support/temp-folder.ts";

/** A backup, and what has gone on since. */
async function older() {
  const { folder, store } = await openSiteWithHistory();
  const file = await backUpFolder(folder);
  await transactOrThrow(store, register("dua"));
  return { folder: copyFolder(folder), file };
}

describe("a restore makes everything durable before it counts on it", () => {
  test("the copy before it is decided, the old before the new comes, the new before it is done", async () => {
    const { folder, file } = await older();
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
    // Once for its bytes, and the journal once more for its new line.
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
    const rest = calls.slice(staged.length);
    const moves = (part: readonly string[]) => part.filter((call) => call.startsWith("rename "));
    const arrives = rest.indexOf("rename arriving-STAMP");
    const leaving = rest.slice(2, arrives);
    expect(rest.slice(0, 2)).toEqual(["rename restoring-STAMP", "syncFolder data"]);
    expect(leaving.slice(0, -2)).toEqual(moves(leaving));
    expect(leaving.slice(-2)).toEqual(["syncFolder replaced-STAMP", "syncFolder data"]);
    const coming = rest.slice(arrives + 2);
    expect(rest[arrives + 1]).toBe("syncFolder data");
    expect(coming.slice(0, -4)).toEqual(moves(coming));
    expect(coming.slice(-4)).toEqual([
      "syncFolder data",
      "syncFolder arriving-STAMP",
      "removeFolder arriving-STAMP",
      "syncFolder data",
    ]);
  });

  test("also when the sync of what was moved away is what failed", async () => {
    const { folder, file } = await older();
    const disk = new FaultyDisk();
    disk.beforeCall = ({ name, path }) => {
      if (name === "syncFolder" && path.includes("replaced-")) throw makeDiskError("EIO");
    };
    expect(restoreTo(folder, file, { disk, acceptLoss: true })).rejects.toThrow("EIO");
    const next = new FaultyDisk();
    await openAndCloseFolder(folder, { disk: next });
    const calls = next.listCalls("rename", "syncFolder").map((call) => call.replace(/-\d.*$/, ""));
    expect(calls.slice(0, 3)).toEqual([
      "syncFolder replaced",
      "syncFolder data",
      "rename arriving",
    ]);
  });
});
