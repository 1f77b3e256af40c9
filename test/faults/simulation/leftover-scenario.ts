import { instant } from "../../../src/domain/time.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import { Store } from "../../../src/store/store.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { SimulatedDisk } from "./simulated-disk.ts";
import { SECTOR } from "./simulated-file.ts";
import { SimulatedFolder } from "./simulated-folder.ts";
import { assertPromise } from "./promises.ts";
import { SIMULATED_FOLDER } from "./simulated-server.ts";
import { SimulatedTime } from "./simulated-time.ts";

/**
 * A case that random runs would take years to hit: a batch that did not fit is cut off, lines of
 * the next batch end exactly at the end of a sector, and the power is cut before they are synced.
 * The mix of the two batches on the disk must not look like damage.
 */
export async function runLeftoverScenario(seed: number): Promise<void> {
  const site = new LeftoverSite(seed);
  site.time.replaceGlobals();
  let store = await site.open();
  await site.write(store, [0]);
  const before = site.journalSize;
  await site.write(store, [0]);
  const shortest = site.journalSize - before;
  // From here on each line fills one sector, as long as its number has one digit.
  await site.write(store, [(SECTOR - ((site.journalSize + shortest) % SECTOR)) % SECTOR]);
  const sectorLength = SECTOR - shortest;

  site.disk.freeBytes = site.random.intBetween(SECTOR, 4 * SECTOR - 1);
  site.disk.onCall = ({ name, path }) => {
    // Most of the batch that did not fit has reached the disk by then.
    if (name !== "truncate") return;
    for (let times = 0; times < 3; times += 1) {
      site.disk.findFile(path)?.writeBack(site.random);
    }
  };
  const refused = await site.write(store, [sectorLength, sectorLength, sectorLength, sectorLength]);
  assertPromise(
    "disk space",
    refused === 4,
    () => `${refused} of 4 changes were refused on a full disk`,
  );
  site.disk.freeBytes = Infinity;
  site.time.fireIntervals();
  await site.time.runPending();

  site.disk.holdsSyncs = true;
  void site.write(store, [sectorLength, sectorLength, sectorLength]);
  await site.time.runPending();
  site.disk.cutPower();
  await site.time.runPending();
  site.disk.holdsSyncs = false;
  store = await site.open().catch((error: unknown) => {
    assertPromise(
      "starts",
      false,
      () => `start after a full disk and a power cut: ${String(error)}`,
    );
    throw error;
  });
  const { seq } = store.status();
  assertPromise(
    "kept",
    seq >= 4,
    () => `the last line after a full disk and a power cut is ${seq}, expected 4 or later`,
  );
}

class LeftoverSite {
  readonly time = new SimulatedTime();
  readonly random: SeededRandom;
  readonly disk: SimulatedDisk;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    this.disk = new SimulatedDisk(this.random);
    this.disk.holdsSyncs = false;
    this.disk.root.add("srv", new SimulatedFolder());
    this.disk.root.stage()();
  }

  get journalSize(): number {
    return this.disk.findFile(`${SIMULATED_FOLDER}/journal-1.jsonl`)?.size ?? 0;
  }

  open(): Promise<Store> {
    this.time.clearTimers();
    return Store.open({
      disk: this.disk.startProcess("server"),
      folder: SIMULATED_FOLDER,
      kind: "site",
      create: true,
      uid: 0,
      clock: () => instant(this.time.wall),
      checkpoint: (folder, open) => checkpoint(this.disk.startProcess("checkpoint"), folder, open),
      onFatal: () => {},
    });
  }

  /** Writes one line per length, that many bytes longer than the shortest; returns the refusals. */
  async write(store: Store, lengths: readonly number[]): Promise<number> {
    this.time.advance(1);
    const writes = lengths.map((length) =>
      store.transact({ type: "SetKeys", changed: ["x".repeat(length)], peer: "" }, () => null),
    );
    await this.time.runPending();
    return (await Promise.all(writes)).filter(({ ok }) => !ok).length;
  }
}
