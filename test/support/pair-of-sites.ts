// Two stores with copies of one folder, which share a simulated log.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { genesisHead } from "../../src/store/journal/journal.ts";
import {
  openLicensedSite,
  openSite,
  readJournal,
  transactOrThrow,
  type OpenSite,
} from "./licensed-store.ts";
import { HARDWARE, HARDWARE_ID } from "./new-site.ts";
import { SimulatedLog } from "./simulated-log.ts";
import { tempFolder } from "./temp-folder.ts";

export interface PairOfSites {
  readonly log: SimulatedLog;
  readonly alpha: OpenSite;
  readonly beta: OpenSite;
}

/** Opens both hosts; none leads yet. */
export async function openPair(): Promise<PairOfSites> {
  const first = await openLicensedSite();
  for (const host of ["alpha", "beta"]) {
    await transactOrThrow(first.store, {
      type: "AdmitHost",
      log: "simulated log",
      host,
      hardwareId: HARDWARE_ID,
      hardware: HARDWARE,
      peer: "10.0.0.1",
    });
  }
  await first.stop();
  const second = join(tempFolder(), "data");
  cpSync(first.folder, second, { recursive: true });
  const log = new SimulatedLog(readJournal(first.folder).at(-1)?.line ?? genesisHead);
  const alpha = await openSite({ folder: first.folder, openLog: async () => log.connect("alpha") });
  const beta = await openSite({ folder: second, openLog: async () => log.connect("beta") });
  return { log, alpha, beta };
}
