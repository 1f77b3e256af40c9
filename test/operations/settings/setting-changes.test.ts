import { describe, expect, test } from "bun:test";
import { SettingChanges } from "../../../src/operations/settings/setting-changes.ts";
import { EditedSettingsFile } from "../../../src/store/folder/edited-settings-file.ts";
import { FaultyDisk } from "../../support/faulty-disk.ts";
import { openLicensedSite, readJournal, unwrap } from "../../support/licensed-store.ts";

const CHANGE = { name: "site_name", from: "vm", to: "Plant 4" };

async function openChanges() {
  const { store, folder } = await openLicensedSite();
  const disk = new FaultyDisk();
  const changes = new SettingChanges(store, new EditedSettingsFile(disk, folder));
  const save = () => changes.save({ site_name: "Plant 4" }, [CHANGE], "test");
  const countRecorded = () =>
    readJournal(folder)
      .flatMap(({ line }) => line.events)
      .filter(({ type }) => type === "SettingChanged").length;
  return { disk, changes, save, countRecorded };
}

describe("SettingChanges", () => {
  test("saves the values and one event for each change", async () => {
    const { changes, save, countRecorded } = await openChanges();
    unwrap(await save());
    expect([changes.read(), countRecorded()]).toEqual([{ site_name: "Plant 4" }, 1]);
  });

  test.each(["open", "write", "sync"] as const)(
    "saves and records nothing when %s fails for lack of disk space",
    async (name) => {
      const { disk, changes, save, countRecorded } = await openChanges();
      disk.beforeCall = (call) => {
        if (call.name === name) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
      };
      expect(await save()).toEqual({ ok: false, fault: { code: "storage_full" } });
      disk.clearFaults();
      expect([changes.read(), countRecorded()]).toEqual([{}, 0]);
      unwrap(await save());
      expect([changes.read(), countRecorded()]).toEqual([{ site_name: "Plant 4" }, 1]);
    },
  );
});
