import type { SiteSettings } from "../../http/services.ts";
import { findFolderError } from "../../operations/folder/folder-error.ts";
import { readEditedSettings } from "../../operations/settings/setting-changes.ts";
import type { Environment } from "../../platform/environment.ts";
import { defaultValues, resolveValues } from "../frame/define-command.ts";
import type { ConfigFile } from "../frame/options.ts";
import { printWarning } from "../frame/terminal.ts";
import { LiveSettings } from "./live-settings.ts";
import { settings as settingTable } from "./settings.ts";

const { siteName, expiryWarningDays } = settingTable;

/** For a command that opens the data folder itself: what a server would use for this folder. */
export function readSiteSettings(
  folder: string,
  environment: Environment,
  file: ConfigFile | null,
): SiteSettings {
  const { values, setOptions } = resolveValues({ siteName, expiryWarningDays }, environment, file);
  try {
    const settings = { ...defaultValues(settingTable), ...values, data: folder };
    const edited = readEditedSettings(folder);
    return new LiveSettings({ settings, setOptions, environment, edited }).current;
  } catch (error) {
    // A command that needs no settings must work on a folder whose settings are damaged.
    const refusal = findFolderError(error);
    if (refusal === null) throw error;
    printWarning(`${refusal.message}; the server will not start with it`);
    return values;
  }
}
