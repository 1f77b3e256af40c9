import type { SettingsReply } from "../../http/running-server.ts";
import { settingForm } from "./setting-texts.ts";

export type Setting = SettingsReply["settings"][number];

type Value = Setting["value"];

/** A setting that the reader changed, with both values as texts. */
export interface SettingDifference {
  readonly setting: Setting;
  readonly from: string;
  readonly to: string;
}

/** The text of a field; a setting that is not set has an empty one. */
export const textOfSetting = (value: Value): string =>
  Array.isArray(value) ? value.join(", ") : value === null ? "" : String(value);

/** A value for readers. */
export function formatSettingValue({ name, type }: Setting, value: Value): string {
  const text = textOfSetting(value);
  if (text !== "") return text;
  const isNetworks = type === "list" && name === "client_networks";
  return isNetworks ? settingForm.privateNetworks : settingForm.notSet;
}

/** What a field's text means for the server; null: the default. */
export function toSettingValue({ type }: Setting, text: string): string | string[] | null {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  if (type !== "list") return trimmed;
  return trimmed.split(/[\s,]+/).filter((part) => part !== "");
}

/** The settings whose draft means another value than the current one. */
export const differencesOf = (
  settings: readonly Setting[],
  drafts: Readonly<Record<string, string>>,
): SettingDifference[] =>
  settings.flatMap((setting) => {
    const draft = drafts[setting.name];
    if (draft === undefined) return [];
    const value = toSettingValue(setting, draft);
    const isDefault = value === null;
    const next = value ?? setting.default;
    if (textOfSetting(next) === textOfSetting(setting.value)) return [];
    const text = formatSettingValue(setting, next);
    const from = formatSettingValue(setting, setting.value);
    return [{ setting, from, to: isDefault ? settingForm.theDefault(text) : text }];
  });
