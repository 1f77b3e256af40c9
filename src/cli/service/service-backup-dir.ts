import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";
import { Misuse } from "../frame/options.ts";
import { parseConfig } from "../frame/settings-file.ts";
import { settings } from "../serve/settings.ts";
import { servicePaths } from "./unit.ts";

/**
 * The folder of `backup_dir` in the service's settings, which its unit must let it write to; null:
 * it is in the data folder, or the settings cannot be used, which the start reports.
 */
export function readServiceBackupDir(path: string = servicePaths.settings): string | null {
  if (!existsSync(path)) return null;
  try {
    const { values } = parseConfig(path, readFileSync(path, "utf8"), Object.values(settings));
    const value = values.get("backup_dir");
    const folder = typeof value === "string" ? resolve(dirname(path), value) : null;
    return folder === null || `${folder}${sep}`.startsWith(`${servicePaths.data}${sep}`)
      ? null
      : folder;
  } catch (error) {
    if (error instanceof Misuse) return null;
    throw error;
  }
}
