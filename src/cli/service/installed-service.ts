import { existsSync } from "node:fs";
import { realDisk } from "../../platform/disk.ts";
import { systemctl } from "../../platform/systemd.ts";
import { rollbackBinaryPath } from "./steps.ts";
import { parseBinaryPath, servicePaths, SERVICE_UNIT } from "./unit.ts";

/** The service as it is on this machine before anything is done. */
export interface InstalledService {
  readonly unit: string;
  readonly binary: string;
  readonly wasRunning: boolean;
  /** By somebody, and not for good: it is to start with the machine. */
  readonly isStoppedByOperator: boolean;
  /** Not running, nor to start with the machine: an installation that was never finished. */
  readonly isIncomplete: boolean;
  /** An upgrade was interrupted before it was known to run. */
  readonly isUpgradeInterrupted: boolean;
}

/** Null: there is none. */
export function readInstalledService(): InstalledService | null {
  const unit = realDisk.read(servicePaths.unit);
  if (unit === null) return null;
  const text = Buffer.from(unit).toString();
  const binary = parseBinaryPath(text);
  const state = systemctl("is-active", SERVICE_UNIT).output;
  const isEnabled = systemctl("is-enabled", SERVICE_UNIT).ok;
  const isUnderWay = existsSync(rollbackBinaryPath(binary));
  return {
    unit: text,
    binary,
    wasRunning: state === "active" || state === "reloading" || state === "activating",
    isStoppedByOperator: state === "inactive" && isEnabled && !isUnderWay,
    isIncomplete: state === "inactive" && !isEnabled,
    isUpgradeInterrupted: isUnderWay,
  };
}
