import type { SettingChange } from "../domain/appliance/setting-change.ts";
import type { Fault } from "../domain/fault.ts";
import { err, ok, type Result } from "../domain/result.ts";
import { realDisk } from "../platform/files/disk.ts";
import { errorCode } from "../platform/files/system-error.ts";
import { log } from "../platform/log.ts";
import {
  damagedSettings,
  EditedSettingsFile,
  type EditedValues,
} from "../store/folder/edited-settings-file.ts";
import { toStorageFault, type StorageFault } from "../store/journal/storage-fault.ts";
import type { Store } from "../store/store.ts";

export type { EditedValues };

/** The settings that were edited on the page, before a server or a command opens the folder. */
export const readEditedSettings = (folder: string): EditedValues =>
  new EditedSettingsFile(realDisk, folder).read();

/** For a file whose form is right, but not a name or a value in it. */
export function refuseEditedSettings(folder: string, problem: string): never {
  throw damagedSettings(new EditedSettingsFile(realDisk, folder).path, problem);
}

/** Saves settings that an administrator changed, with an entry in the audit log for each. */
export class SettingChanges {
  readonly #store: Store;
  readonly #file: EditedSettingsFile;

  constructor(store: Store, file: EditedSettingsFile) {
    this.#store = store;
    this.#file = file;
  }

  /**
   * Writes the new file beside the old one, writes the audit log, renames the file. So a full disk
   * is noticed before the audit log claims a change. One call at a time.
   */
  async save(
    values: EditedValues,
    changes: readonly SettingChange[],
    peer: string,
  ): Promise<Result<null, Fault | StorageFault>> {
    try {
      const prepared = await this.#file.prepare(values);
      const recorded = await this.#store.transact(
        { type: "ChangeSettings", changes, peer },
        () => null,
      );
      if (!recorded.ok) {
        prepared.discard();
        return recorded;
      }
      await prepared.commit();
      return ok(null);
    } catch (error) {
      if (errorCode(error) === null) throw error;
      log.error("could not save settings", { error });
      return err(toStorageFault(error));
    }
  }

  /** What the file says now, and the next start will use. */
  read(): EditedValues {
    return this.#file.read();
  }
}
