import type { SettingChange } from "../../domain/model/setting-change.ts";
import type { Fault } from "../../domain/model/fault.ts";
import { err, type Result } from "../../domain/result.ts";
import { realDisk } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { log } from "../../platform/log.ts";
import { TaskQueue } from "../../platform/schedule/task-queue.ts";
import {
  damagedSettings,
  EditedSettingsFile,
  encodeEditedSettings,
  type EditedValues,
} from "../../store/folder/edited-settings-file.ts";
import { toStorageFault, type StorageFault } from "../../store/journal/storage-fault.ts";
import type { Store } from "../../store/store.ts";
import { commitRecorded, LOCAL_PUBLISHER, type FilePublisher } from "../pair/file-publisher.ts";
import type { SharedFile } from "../pair/shared-files.ts";

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
  readonly #publisher: FilePublisher;
  readonly #queue = new TaskQueue();
  #onReplace: (values: EditedValues) => void = () => {};

  constructor(store: Store, file: EditedSettingsFile, publisher = LOCAL_PUBLISHER) {
    this.#store = store;
    this.#file = file;
    this.#publisher = publisher;
  }

  /** In a pair: the host that leads has the same settings. */
  readonly sharedFile: SharedFile = {
    exclusively: (task) => this.#queue.runTask(task),
    read: async () => encodeEditedSettings(this.#file.read()),
    replace: async (content) => {
      const values = this.#file.parse(content);
      // First: it refuses settings that this version does not know.
      this.#onReplace(values);
      await this.#file.replace(content);
    },
  };

  /** `listener` is called with what the other host of a pair saved; it throws for a wrong value. */
  onReplace(listener: (values: EditedValues) => void): void {
    this.#onReplace = listener;
  }

  /**
   * Writes the new file beside the old one, writes the audit log, renames the file. So a full disk
   * is noticed before the audit log claims a change.
   */
  save(
    values: EditedValues,
    changes: readonly SettingChange[],
    peer: string,
  ): Promise<Result<null, Fault | StorageFault>> {
    return this.#queue.runTask(() => this.#save(values, changes, peer));
  }

  async #save(
    values: EditedValues,
    changes: readonly SettingChange[],
    peer: string,
  ): Promise<Result<null, Fault | StorageFault>> {
    const content = encodeEditedSettings(values);
    const refusal = this.#publisher.findRefusal(content);
    if (refusal !== null) return err(refusal);
    try {
      const prepared = await this.#file.prepare(content);
      const command = { type: "ChangeSettings" as const, changes, peer };
      const record = () => this.#store.transact(command, () => null, null, "outcome");
      return await commitRecorded(this.#publisher, { content, prepared, record });
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
