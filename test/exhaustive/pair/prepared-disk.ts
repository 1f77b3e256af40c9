// The disk that both hosts of a pair begin with: a data folder with one license.
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import { genesisHead } from "../../../src/store/journal/journal.ts";
import { generationName } from "../../../src/store/folder/files.ts";
import { emptyAuditLogEnd } from "../../../src/store/state/snapshot.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";
import { encodeSnapshot } from "../../../src/store/state/state-rows.ts";
import type { LogEnd } from "../../../src/store/log/shared-log.ts";
import { Store } from "../../../src/store/store.ts";
import type { StoreOptions } from "../../../src/store/store-options.ts";
import { SimulatedDisk } from "../../faults/simulation/simulated-disk.ts";
import { SimulatedFolder } from "../../faults/simulation/simulated-folder.ts";
import { SIMULATED_FOLDER } from "../../faults/simulation/simulated-server.ts";
import { HARDWARE, HARDWARE_ID, makeNewSite } from "../../support/new-site.ts";
import { licenseInstalled, MONDAY } from "../../support/scenario.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

export const HOSTS = ["alpha", "beta"] as const;

export interface PreparedDisk {
  readonly disk: SimulatedDisk;
  /** The last line, with which the shared log begins. */
  readonly end: LogEnd;
}

/** What both hosts have in common. */
export const storeOptions = (disk: SimulatedDisk): StoreOptions => ({
  disk: disk.startProcess("server"),
  folder: SIMULATED_FOLDER,
  kind: "site",
  create: true,
  uid: 0,
  clock: () => MONDAY,
  checkpoint: async () => {},
  onFatal: (error) => {
    throw error;
  },
});

export async function prepareDisk(): Promise<PreparedDisk> {
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.root.add("srv", new SimulatedFolder());
  disk.root.stage()();
  disk.holdsSyncs = false;
  await (await Store.open(storeOptions(disk))).close();
  disk.killAll("server");
  const state = makeNewSite();
  evolve(state, licenseInstalled(1, { slots: 99, borrowHours: null }));
  const snapshot = encodeSnapshot(state, genesisHead, emptyAuditLogEnd);
  for (const name of [undefined, generationName(0)])
    await new StateFile(disk.startProcess("tool"), SIMULATED_FOLDER, name).write(snapshot, null);
  const store = await Store.open(storeOptions(disk));
  for (const host of HOSTS) {
    const names = { log: "simulated log", host, hardwareId: HARDWARE_ID, hardware: HARDWARE };
    await store.transact({ type: "AdmitHost", ...names, peer: "" }, () => null);
  }
  const end = store.status().head;
  await store.close();
  disk.killAll("server");
  return { disk, end };
}
