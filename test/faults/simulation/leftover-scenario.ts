import { instant } from "../../../src/domain/time.ts";
import { checkpoint } from "../../../src/store/checkpoint.ts";
import { Store } from "../../../src/store/store.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { SimulatedDisk } from "./simulated-disk.ts";
import { SECTOR } from "./simulated-file.ts";
import { SimulatedFolder } from "./simulated-folder.ts";
import { assertPromise } from "./promises.ts";
import { SIMULATED_FOLDER } from "./simulated-server.ts";
import { SimulatedTime } from "./simulated-time.ts";

/**
 * What chance alone would take years to hit: a batch that did not fit is cut off, lines of the next
 * one end exactly where a sector does, and the power goes before they are synced. What the disk then
 * holds of the two must not look like damage.
 */
export async function runLeftoverScenario(seed: number): Promise<void> {
  const site = new LeftoverSite(seed);
  site.time.replaceGlobals();
  let store = await site.open();
  await site.write(store, [0]);
  const before = site.journalSize;
  await site.write(store, [0]);
  const shortest = site.journalSize - before;
  // Lines of a sector each from here on, and as long as there is a digit in their number.
  await site.write(store, [(SECTOR - ((site.journalSize + shortest) % SECTOR)) % SECTOR]);
  const whole = SECTOR - shortest;

  site.disk.freeBytes = site.random.intBetween(SECTOR, 4 * SECTOR - 1);
  site.disk.onCall = ({ name, path }) => {
    // Most of what did not fit had reached the disk by then.
    if (name !== "truncate") return;
    for (let times = 0; times < 3; times += 1) {
      site.disk.findFile(path)?.writeBack(site.random);
    }
  };
  const refused = await site.write(store, [whole, whole, whole, whole]);
  assertPromise("room", refused === 4, () => `${refused} of 4 were told that they do not fit`);
  site.disk.freeBytes = Infinity;
  site.time.fireIntervals();
  await site.time.runPending();

  site.disk.holdsSyncs = true;
  void site.write(store, [whole, whole, whole]);
  await site.time.runPending();
  site.disk.cutPower();
  await site.time.runPending();
  site.disk.holdsSyncs = false;
  store = await site.open().catch((error: unknown) => {
    assertPromise("starts", false, () => `after a full disk and a cut: ${String(error)}`);
    throw error;
  });
  const { seq } = store.health();
  assertPromise(
    "kept",
    seq >= 4,
    () => `after a full disk and a cut it starts with line ${seq}, not 4`,
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

  /** A line for each, so much longer than the shortest; says how many were refused. */
  async write(store: Store, lengths: readonly number[]): Promise<number> {
    this.time.advance(1);
    const writing = lengths.map((length) =>
      store.transact({ type: "SetKeys", changed: ["x".repeat(length)], peer: "" }, () => null),
    );
    await this.time.runPending();
    return (await Promise.all(writing)).filter(({ ok }) => !ok).length;
  }
}
