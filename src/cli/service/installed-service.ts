import { existsSync } from "node:fs";
import { realDisk } from "../../platform/files/disk.ts";
import { systemctl } from "../../platform/system/systemd.ts";
import { rollbackBinaryPath } from "./steps.ts";
import { parseBinaryPath, servicePaths, SERVICE_UNIT } from "./unit.ts";

/** The service as it is on this machine before anything is done. */
export interface InstalledService {
  readonly unit: string;
  readonly binary: string;
  readonly wasRunning: boolean;
  /** It does not run, but is enabled at boot: an operator stopped it, but not permanently. */
  readonly isStoppedByOperator: boolean;
  /** It neither runs nor is enabled at boot: the installation was never finished. */
  readonly isIncomplete: boolean;
  /** An upgrade was interrupted before the new version was known to run. */
  readonly isUpgradeInterrupted: boolean;
}

/** Null: no service is installed. */
export function readInstalledService(): InstalledService | null {
  const unit = realDisk.read(servicePaths.unit);
  if (unit === null) return null;
  const text = Buffer.from(unit).toString();
  const binary = parseBinaryPath(text);
  const state = systemctl("is-active", SERVICE_UNIT).output;
  const isEnabled = systemctl("is-enabled", SERVICE_UNIT).ok;
  const isUpgradeInterrupted = existsSync(rollbackBinaryPath(binary));
  return {
    unit: text,
    binary,
    wasRunning: state === "active" || state === "reloading" || state === "activating",
    isStoppedByOperator: state === "inactive" && isEnabled && !isUpgradeInterrupted,
    isIncomplete: state === "inactive" && !isEnabled,
    isUpgradeInterrupted,
  };
}
