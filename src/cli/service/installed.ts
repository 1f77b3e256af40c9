import { existsSync } from "node:fs";
import { realDisk } from "../../platform/disk.ts";
import { systemctl } from "../../platform/systemd.ts";
import { keptOf } from "./steps.ts";
import { binaryIn, places, SERVICE } from "./unit.ts";

/** The service as it is on this machine before anything is done. */
export interface Installed {
  readonly unit: string;
  readonly binary: string;
  readonly wasRunning: boolean;
  /** By somebody, and not for good: it is to start with the machine. */
  readonly isStopped: boolean;
  /** Not running, nor to start with the machine: an installation that was never finished. */
  readonly isNeitherNor: boolean;
  /** An upgrade was interrupted before it was known to run. */
  readonly isUnderWay: boolean;
}

/** Null: there is none. */
export function installedHere(): Installed | null {
  const unit = realDisk.read(places.unit);
  if (unit === null) return null;
  const text = Buffer.from(unit).toString();
  const binary = binaryIn(text);
  const state = systemctl("is-active", SERVICE).text;
  const isEnabled = systemctl("is-enabled", SERVICE).ok;
  const isUnderWay = existsSync(keptOf(binary));
  return {
    unit: text,
    binary,
    wasRunning: state === "active" || state === "reloading" || state === "activating",
    isStopped: state === "inactive" && isEnabled && !isUnderWay,
    isNeitherNor: state === "inactive" && !isEnabled,
    isUnderWay,
  };
}
