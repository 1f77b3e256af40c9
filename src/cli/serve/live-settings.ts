import { err, type Result } from "../../domain/result.ts";
import type { Environment } from "../../platform/environment.ts";
import {
  refuseEditedSettings,
  type EditedValues,
} from "../../operations/settings/setting-changes.ts";
import type { SetOption } from "../frame/define-command.ts";
import {
  defaultOf,
  parseValue,
  settingsKey,
  type InvalidValue,
  type Option,
} from "../frame/options.ts";
import { settings as settingTable, type ServeSettings } from "./settings.ts";

/** The source of a value that an administrator set while a server ran. */
export const PAGE_SOURCE = "page";
export const DEFAULT_SOURCE = "default";

export interface LiveSettingsOptions {
  /** From flags, environment variables, the settings file and defaults. */
  readonly settings: ServeSettings;
  /** The same as they were written, with their sources. */
  readonly setOptions: readonly SetOption[];
  readonly environment: Environment;
  /** What was edited on the page; default: nothing. */
  readonly edited?: EditedValues;
}

/** A setting as it is now. */
export interface LiveSetting {
  readonly option: Option;
  /** As it was written; null: not set. */
  readonly value: SetOption["value"] | null;
  /** A flag, a variable, a file, `page` or `default`. */
  readonly source: string;
  readonly defaultValue: SetOption["value"] | null;
}

/**
 * The settings of a running server. Administrators can change some of them; code that uses a value
 * reads it from `current` each time.
 */
export class LiveSettings {
  readonly #base: ServeSettings;
  readonly #setOptions: ReadonlyMap<string, SetOption>;
  readonly #environment: Environment;
  readonly #listeners = new Set<() => void>();
  #edited: EditedValues;
  #current: ServeSettings;

  constructor({ settings, setOptions, environment, edited = {} }: LiveSettingsOptions) {
    this.#base = settings;
    this.#setOptions = new Map(setOptions.map((set) => [set.name, set]));
    this.#environment = environment;
    this.#edited = edited;
    this.#current = this.#overlay(edited);
  }

  /** The values in effect now. */
  get current(): ServeSettings {
    return this.#current;
  }

  /** What was edited on the page, also where a flag, a variable or the file has priority. */
  get edited(): EditedValues {
    return this.#edited;
  }

  /** All settings, in the order of the table. */
  list(): LiveSetting[] {
    return Object.values(settingTable).map((option) => this.describe(option));
  }

  describe(option: Option): LiveSetting {
    const set = this.#setOptions.get(option.name);
    if (set !== undefined && set.from !== DEFAULT_SOURCE) {
      const defaultValue = defaultSetting(option, this.#environment);
      return { option, value: set.value, source: set.from, defaultValue };
    }
    // A command may have another default than the table, as a demo has.
    const defaultValue = set?.value ?? defaultSetting(option, this.#environment);
    const edited = option.isEditable === true ? this.#edited[settingsKey(option)] : undefined;
    return edited === undefined
      ? { option, value: defaultValue, source: DEFAULT_SOURCE, defaultValue }
      : { option, value: edited, source: PAGE_SOURCE, defaultValue };
  }

  /** Replaces what was edited on the page, and tells the listeners. Refuses a wrong value. */
  replaceEdited(edited: EditedValues): void {
    this.#current = this.#overlay(edited);
    this.#edited = edited;
    for (const listener of this.#listeners) listener();
  }

  /** The settings that these edits would give. */
  preview(edited: EditedValues): ServeSettings {
    return this.#overlay(edited);
  }

  /** Calls the listener after each change. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  #overlay(edited: EditedValues): ServeSettings {
    const members = Object.entries(edited).flatMap(([key, value]) => {
      const [member, option] = findEditable(key) ?? this.#refuse(`${key} is no editable setting`);
      const parsed = parseEdited(option, value);
      if (!parsed.ok) return this.#refuse(`${key} ${parsed.fault.problem}`);
      const source = this.#setOptions.get(option.name)?.from ?? DEFAULT_SOURCE;
      return source === DEFAULT_SOURCE ? [[member, parsed.value]] : [];
    });
    return { ...this.#base, ...(Object.fromEntries(members) as Partial<ServeSettings>) };
  }

  #refuse(problem: string): never {
    return refuseEditedSettings(this.#base.data, problem);
  }
}

/** The editable setting with this name in the settings file, and its member of the settings. */
function findEditable(key: string): readonly [string, Option] | null {
  const entries: readonly (readonly [string, Option])[] = Object.entries(settingTable);
  const found = entries.find(([, option]) => settingsKey(option) === key);
  return found?.[1].isEditable === true ? found : null;
}

/** Checks a value of the type that the setting has. */
export function parseEdited(
  option: Option,
  value: string | readonly string[],
): Result<unknown, InvalidValue> {
  if ((option.type === "list") !== Array.isArray(value)) {
    const problem = option.type === "list" ? "must be a list of texts" : "must be one text";
    return err({ problem, hint: "" });
  }
  return parseValue(option, value);
}

const defaultSetting = (option: Option, environment: Environment): SetOption["value"] | null =>
  defaultOf(option, environment) ??
  (option.type === "list" ? [] : option.type === "boolean" ? false : null);
