// A data folder as a kill leaves it: the last checkpoint does not cover the newest segments.
import { realDisk } from "../../src/platform/files/disk.ts";
import { checkpoint } from "../../src/store/checkpoint/checkpoint.ts";
import {
  openLicensedSite,
  readState,
  transactInOneBatch,
  transactOrThrow,
  type StateDump,
} from "./licensed-store.ts";
import { consume, register, utc } from "./scenario.ts";
import { copyFolder } from "./temp-folder.ts";

export interface UncoveredSite {
  readonly folder: string;
  /** The segment that is being written; the checkpoint covers everything before it. */
  readonly open: number;
  readonly state: StateDump;
}

/** One checkpoint; since then two closed segments, across the end of a month, and a third open. */
export async function prepareUncoveredSite(): Promise<UncoveredSite> {
  let isCheckpointEnabled = true;
  const { store, folder, clock } = await openLicensedSite({
    checkpoint: async (path, open) => {
      if (isCheckpointEnabled) await checkpoint(realDisk, path, open);
    },
  });
  await transactOrThrow(store, register("ada"));
  await store.checkpoint();
  isCheckpointEnabled = false;
  await transactInOneBatch(store, register("bob"), register("ada"));
  await store.checkpoint();
  clock.now = utc("2026-04-01T00:00:00Z");
  await transactInOneBatch(store, register("cem"), consume(2));
  await store.checkpoint();
  const open = store.status().seq + 1;
  await transactOrThrow(store, register("dua"));
  return { folder: copyFolder(folder), open, state: await readState(store) };
}
