import { Identity } from "../../operations/identity.ts";
import type { Disk } from "../../platform/disk.ts";

/** The key in a folder must be the appliance's: licenses and leases depend on it. */
export const checkIdentity = (disk: Disk, folder: string, appliance: string): void =>
  new Identity(disk, folder, []).open(appliance);
