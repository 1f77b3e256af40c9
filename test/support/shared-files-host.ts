// The files that both hosts of a pair have, as one host uses them, on a simulated log.
import { join } from "node:path";
import { AccessControl } from "../../src/operations/access/access-control.ts";
import { CloudCredentials } from "../../src/operations/appliance/cloud-credentials.ts";
import {
  createSharedFiles,
  type SharedFiles,
  type SharedFilesOptions,
} from "../../src/operations/pair/shared-files.ts";
import {
  SettingChanges,
  type EditedValues,
} from "../../src/operations/settings/setting-changes.ts";
import { EditedSettingsFile } from "../../src/store/folder/edited-settings-file.ts";
import { LogUnavailable } from "../../src/store/log/shared-log.ts";
import { AccessFile } from "../../src/store/secrets/access-file.ts";
import { SealedFile } from "../../src/store/secrets/sealed-file.ts";
import type { PrivateKey } from "../../src/license/documents/keys.ts";
import { FaultyDisk } from "./faulty-disk.ts";
import type { OpenSite } from "./licensed-store.ts";
import { HARDWARE, HARDWARE_ID } from "./new-site.ts";
import type { SimulatedHostLog, SimulatedLog } from "./simulated-log.ts";

type FileLog = SharedFilesOptions["log"];

export class SharedFilesHost {
  readonly disk = new FaultyDisk();
  readonly files: SharedFiles;
  readonly access: AccessControl;
  readonly credentials: CloudCredentials;
  readonly settings: SettingChanges;
  /** What was copied from the other host. */
  edited: EditedValues | null = null;
  /** What happens to the next write: it is lost, or it happens and its answer is lost. */
  writeFault: "lost" | "answer lost" | null = null;
  clock = 1_000_000;
  readonly #site: OpenSite;
  readonly #name: string;
  readonly #log: SimulatedHostLog;
  readonly #shared: SimulatedLog;

  constructor(shared: SimulatedLog, site: OpenSite, name: string, key: PrivateKey) {
    this.#shared = shared;
    this.#site = site;
    this.#name = name;
    this.#log = shared.connect(name);
    const { store, folder } = site;
    this.files = createSharedFiles(this.#createFileLog(), key, this.disk, folder);
    const file = new AccessFile(this.disk, folder);
    const publisher = this.files.publisherOf("access");
    this.access = new AccessControl(store, file, () => this.clock, publisher);
    this.credentials = new CloudCredentials(
      store,
      new SealedFile(this.disk, folder),
      { apiKey: null, sharedKey: null },
      this.files.publisherOf("keys"),
    );
    const settingsFile = new EditedSettingsFile(this.disk, folder);
    this.settings = new SettingChanges(store, settingsFile, this.files.publisherOf("settings"));
    this.settings.onReplace((values) => {
      if ("unknown" in values) throw new Error("unknown is no editable setting");
      this.edited = values;
    });
    this.files.add({
      access: this.access,
      keys: this.credentials,
      settings: this.settings,
    });
  }

  /** Takes over: the term of the other host has ended. */
  async lead(): Promise<void> {
    this.#shared.until = 0;
    const epoch = (await this.#log.claimTerm(Infinity))?.epoch ?? NaN;
    const led = await this.#site.store.lead(epoch, {
      type: "ChangeLeader",
      log: this.#log.id,
      epoch,
      host: this.#name,
      hardwareId: HARDWARE_ID,
      hardware: HARDWARE,
    });
    if (!led.ok) throw new Error(led.fault.code);
    await this.files.begin(epoch);
  }

  get folder(): string {
    return this.#site.folder;
  }

  pathOf(name: string): string {
    return join(this.#site.folder, name);
  }

  #createFileLog(): FileLog {
    const log = this.#log;
    return {
      id: log.id,
      readFileVersions: () => log.readFileVersions(),
      readFile: (name) => log.readFile(name),
      writeFile: async (epoch, name, content) => {
        const fault = this.writeFault;
        this.writeFault = null;
        if (fault === "lost") throw new LogUnavailable("the statement was lost");
        const version = await log.writeFile(epoch, name, content);
        if (fault === "answer lost") throw new LogUnavailable("no answer");
        return version;
      },
    };
  }
}
