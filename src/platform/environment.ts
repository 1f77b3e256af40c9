import { existsSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { errorCode } from "./files/system-error.ts";
import { isCompiled } from "./embedded/version.ts";

/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Files of an installed service. */
export const SERVICE_DATA = "/var/lib/berth";
export const SERVICE_SETTINGS = "/etc/berth/berth.toml";
export const SERVICE_PAIR_LOG_PASSWORD = "/etc/berth/pair-log-password";

/** Not the working folder: the same command must use the same data in every folder. */
export function defaultDataFolder({ STATE_DIRECTORY }: Environment): string {
  if (STATE_DIRECTORY !== undefined && isAbsolute(STATE_DIRECTORY)) return STATE_DIRECTORY;
  const programFolder = isCompiled
    ? dirname(process.execPath)
    : resolve(import.meta.dir, "..", "..");
  const localData = join(programFolder, "data");
  const isInstalled = () => existsSync(SERVICE_DATA) || hasServiceSettings();
  return isCompiled && !existsSync(localData) && isInstalled() ? SERVICE_DATA : localData;
}

/** True also when this user may not access the file: reading it then reports that. */
export function hasServiceSettings(): boolean {
  try {
    statSync(SERVICE_SETTINGS);
    return true;
  } catch (error) {
    return !["ENOENT", "ENOTDIR"].includes(errorCode(error) ?? "");
  }
}
