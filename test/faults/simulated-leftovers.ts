import { instant } from "../../src/domain/time.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { Store } from "../../src/store/store.ts";
import { Dice } from "./dice.ts";
import { SimulatedDisk } from "./simulated-disk.ts";
import { SECTOR } from "./simulated-file.ts";
import { SimulatedFolder } from "./simulated-folder.ts";
import { demand } from "./simulated-promises.ts";
import { FOLDER } from "./simulated-server.ts";
import { SimulatedTime } from "./simulated-time.ts";

/**
 * What chance alone would take years to hit: a batch that did not fit is cut off, lines of the next
 * one end exactly where a sector does, and the power goes before they are synced. What the disk then
 * holds of the two must not look like damage.
 */
export async function leaveLeftovers(seed: number): Promise<void> {
  const site = new Site(seed);
  site.time.takeOver();
  let store = await site.open();
  await site.write(store, [0]);
  const before = site.journalSize;
  await site.write(store, [0]);
  const shortest = site.journalSize - before;
  // Lines of a sector each from here on, and as long as there is a digit in their number.
  await site.write(store, [(SECTOR - ((site.journalSize + shortest) % SECTOR)) % SECTOR]);
  const whole = SECTOR - shortest;

  site.disk.room = site.dice.between(SECTOR, 4 * SECTOR - 1);
  site.disk.before = ({ name, path }) => {
    // Most of what did not fit had reached the disk by then.
    if (name !== "truncate") return;
    for (let times = 0; times < 3; times += 1) {
      site.disk.file(path)?.writeBack(site.dice);
    }
  };
  const refused = await site.write(store, [whole, whole, whole, whole]);
  demand("room", refused === 4, () => `${refused} of 4 were told that they do not fit`);
  site.disk.room = Infinity;
  site.time.tick();
  await site.time.settle();

  site.disk.holds = true;
  void site.write(store, [whole, whole, whole]);
  await site.time.settle();
  site.disk.cut();
  await site.time.settle();
  site.disk.holds = false;
  store = await site.open().catch((error: unknown) => {
    demand("starts", false, () => `after a full disk and a cut: ${String(error)}`);
    throw error;
  });
  const { seq } = store.health();
  demand("kept", seq >= 4, () => `after a full disk and a cut it starts with line ${seq}, not 4`);
}

class Site {
  readonly time = new SimulatedTime();
  readonly dice: Dice;
  readonly disk: SimulatedDisk;

  constructor(seed: number) {
    this.dice = new Dice(seed);
    this.disk = new SimulatedDisk(this.dice);
    this.disk.holds = false;
    this.disk.root.add("srv", new SimulatedFolder());
    this.disk.root.stage()();
  }

  get journalSize(): number {
    return this.disk.file(`${FOLDER}/journal-1.jsonl`)?.size ?? 0;
  }

  open(): Promise<Store> {
    this.time.forgetTimers();
    return Store.open({
      disk: this.disk.start("server"),
      folder: FOLDER,
      kind: "site",
      create: true,
      uid: 0,
      clock: () => instant(this.time.wall),
      checkpoint: (folder, open) => checkpoint(this.disk.start("checkpoint"), folder, open),
      onFatal: () => {},
    });
  }

  /** A line for each, so much longer than the shortest; says how many were refused. */
  async write(store: Store, lengths: readonly number[]): Promise<number> {
    this.time.pass(1);
    const writing = lengths.map((length) =>
      store.transact({ type: "SetKeys", changed: ["x".repeat(length)], peer: "" }, () => null),
    );
    await this.time.settle();
    return (await Promise.all(writing)).filter(({ ok }) => !ok).length;
  }
}
