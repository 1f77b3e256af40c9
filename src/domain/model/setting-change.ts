import type { Instant } from "../time.ts";

/** As an administrator writes it. An empty list or text means that the default applies. */
export type SettingValue = string | readonly string[];

/** The value in a sentence. */
export const formatSettingValue = (value: SettingValue): string =>
  (typeof value === "string" ? value : value.join(", ")) || "the default";

/** A setting, by its name in the settings file, that has another value than before. */
export interface SettingChange {
  readonly name: string;
  readonly from: SettingValue;
  readonly to: SettingValue;
}

/** The event: an administrator changed a setting while the server ran. */
export interface SettingChanged extends SettingChange {
  readonly type: "SettingChanged";
  readonly at: Instant;
  readonly peer: string;
}
