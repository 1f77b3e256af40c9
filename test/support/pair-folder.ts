// The data folder of a host of a pair, of which host alpha led last.
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import type { HardwareComponent } from "../../src/license/documents/hardware.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { readMachineComponents } from "../../src/platform/system/machine.ts";
import type { LogEnd } from "../../src/store/log/shared-log.ts";
import { readJournal, transactOrThrow } from "./licensed-store.ts";
import { terms } from "./scenario.ts";
import { installNewLicense, openSiteFolder } from "./site-folder.ts";

interface PairFolderOptions {
  /** The id of the log. */
  readonly log?: string;
  readonly hardware?: readonly HardwareComponent[];
}

/** Where a log that continues the folder begins. */
export async function makePairFolder(
  folder: string,
  differing: Partial<Terms>,
  { log = "log of the test", hardware = readMachineComponents() }: PairFolderOptions = {},
): Promise<{ readonly appliance: string; readonly end: LogEnd }> {
  const site = await openSiteFolder(folder, wallClock, hardware);
  await installNewLicense(site, terms(differing));
  const facts = site.identity.hashHardware();
  for (const host of ["alpha", "beta"]) {
    const { hardwareId, hardware: digests } = facts;
    const command = { type: "AdmitHost", log, host, hardwareId, hardware: digests } as const;
    await transactOrThrow(site.store, { ...command, peer: "test" });
  }
  const end = readJournal(folder).at(-1)?.line;
  await site.close();
  if (end === undefined) throw new Error("the journal of the new site is empty");
  return { appliance: site.identity.id, end: { seq: end.seq, sum: end.sum } };
}
