import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { prepareFile, replaceFile, type PreparedFile } from "../../platform/files/files.ts";
import { FolderRefused } from "./refusal.ts";

/** Not part of a backup: networks and limits belong to the machine, not to its licenses. */
const EDITED_SETTINGS_FILE = "settings.json";

const SettingValue = Type.Union([Type.String(), Type.Array(Type.String())]);

const EditedSettings = Type.Object(
  { settings: Type.Literal(1), values: Type.Record(Type.String(), SettingValue) },
  { additionalProperties: false },
);

/** Values as an administrator wrote them, by the names that the settings file uses. */
export type EditedValues = Static<typeof EditedSettings>["values"];

/** The settings that administrators changed while a server ran. It is replaced as a whole. */
export class EditedSettingsFile {
  readonly #disk: Disk;
  readonly path: string;

  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.path = join(folder, EDITED_SETTINGS_FILE);
  }

  /**
   * Throws if the file cannot be understood: with the defaults instead, the server could accept
   * requests from networks that were excluded.
   */
  read(): EditedValues {
    const bytes = this.#disk.read(this.path);
    return bytes === null ? {} : this.parse(bytes);
  }

  /** Throws as `read` does. */
  parse(bytes: Uint8Array): EditedValues {
    const content = parseEditedSettings(bytes);
    if (content !== null) return content.values;
    throw damagedSettings(this.path, "the settings that were edited on the page cannot be read");
  }

  /** `content`: as `encodeEditedSettings` makes it. */
  prepare(content: Uint8Array): Promise<PreparedFile> {
    return prepareFile(this.#disk, this.path, content);
  }

  /** The same, at once. */
  replace(content: Uint8Array): Promise<void> {
    return replaceFile(this.#disk, this.path, content);
  }
}

export function encodeEditedSettings(values: EditedValues): Uint8Array {
  const content: Static<typeof EditedSettings> = { settings: 1, values };
  return Buffer.from(`${JSON.stringify(content, null, 1)}\n`);
}

export const damagedSettings = (path: string, problem: string): FolderRefused =>
  new FolderRefused(
    `${path} is damaged: ${problem}`,
    "correct it, or delete it and set the values again with berth config set; without it, every " +
      "setting that was edited on the page has its default, client_networks too",
  );

function parseEditedSettings(bytes: Uint8Array): Static<typeof EditedSettings> | null {
  try {
    const content: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return Value.Check(EditedSettings, content) ? content : null;
  } catch {
    return null;
  }
}
