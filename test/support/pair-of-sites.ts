// Two stores with copies of one folder, which share a simulated log.
import { cpSync } from "node:fs";
import { join } from "node:path";
import type { Fault } from "../../src/domain/model/fault.ts";
import type { Result } from "../../src/domain/result.ts";
import { genesisHead } from "../../src/store/journal/journal.ts";
import type { StorageFault } from "../../src/store/journal/storage-fault.ts";
import type { StoreOptions } from "../../src/store/store-options.ts";
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
export async function openPair(
  differing: Readonly<Partial<Record<"alpha" | "beta", Partial<StoreOptions>>>> = {},
): Promise<PairOfSites> {
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
  const open = (host: "alpha" | "beta", folder: string): Promise<OpenSite> =>
    openSite({ folder, openLog: async () => log.connect(host), ...differing[host] });
  return { log, alpha: await open("alpha", first.folder), beta: await open("beta", second) };
}

/** How long a leader of the simulated log leads, by the log's clock. */
const TERM = 10_000;

/** Makes this host the leader, after the term of the one before. */
export async function leadPair(
  log: SimulatedLog,
  { store }: Pick<OpenSite, "store">,
  host: string,
): Promise<Result<unknown, Fault | StorageFault>> {
  log.now += TERM;
  const epoch = (await log.connect(host).claimTerm(TERM))?.epoch ?? NaN;
  const hardware = { hardware: HARDWARE, hardwareId: HARDWARE_ID };
  return store.lead(epoch, {
    type: "ChangeLeader",
    log: "simulated log",
    epoch,
    host,
    ...hardware,
  });
}
