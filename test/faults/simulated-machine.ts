import { Dice } from "./dice.ts";
import { SimulatedDisk } from "./simulated-disk.ts";
import { Faults } from "./simulated-faults.ts";
import { SimulatedFolder } from "./simulated-folder.ts";
import { TrueLeases } from "./simulated-leases.ts";
import { Broken, demand, noFigures, type Figures } from "./simulated-promises.ts";
import { Reference } from "./simulated-reference.ts";
import { SimulatedServer } from "./simulated-server.ts";
import { SimulatedTime } from "./simulated-time.ts";

/** How often the kernel saves something unasked while a call is made. */
const WRITE_BACK = 0.02;

/**
 * A machine with a clock, a disk and a server on it, and beside it what that server must be like.
 */
export class SimulatedMachine {
  readonly figures: Figures = noFigures();
  readonly time = new SimulatedTime();
  readonly reference = new Reference();
  readonly leases = new TrueLeases();
  readonly dice: Dice;
  readonly disk: SimulatedDisk;
  readonly faults: Faults;
  readonly #hash = new Bun.CryptoHasher("sha256");
  server: SimulatedServer;
  /** How far the batch goes that was written last. */
  written = 0;
  /** A batch did not fit, and the store has not taken changes since. */
  turnedAway = false;

  constructor(seed: number) {
    this.dice = new Dice(seed);
    this.disk = new SimulatedDisk(new Dice(~seed));
    this.disk.root.add("srv", new SimulatedFolder());
    this.disk.root.stage()();
    this.faults = new Faults(this.disk, this.dice, this.figures);
    this.server = this.newServer();
    this.#watchDisk();
  }

  get isUp(): boolean {
    return this.faults.down === null;
  }

  trace(text: string): void {
    this.#hash.update(text);
  }

  /** Of everything that happened, and of what is on the disk. */
  digest(): string {
    for (const { path, file } of this.disk.root.files("")) {
      // Locks hold the number of a process, which is nobody's seed.
      if (!path.endsWith("lock")) this.#hash.update(path).update(file.view());
    }
    return this.#hash.digest("hex");
  }

  newServer(): SimulatedServer {
    const { disk, reference, dice, figures, leases, time } = this;
    return new SimulatedServer({
      disk,
      reference,
      dice,
      figures,
      leases,
      trueNow: () => time.trueNow,
      trace: (text) => this.trace(text),
    });
  }

  /** Everything happens that can without a sync, and what came of it is looked at. */
  async settle(): Promise<void> {
    await this.time.settle();
    if (this.server.broken !== null) throw this.server.broken;
    demand("files", this.disk.misused === null, () => String(this.disk.misused));
    if (!this.isUp || !this.server.isOpen) return;
    const isFull = this.server.store.health().fault?.code === "storage_full";
    demand("room", !isFull || this.turnedAway, () => "it says full, and nothing failed to fit");
    this.turnedAway = isFull;
  }

  /** Lets syncs return until it is done, the machine is down, or it failed. */
  async pump(work: Promise<unknown>): Promise<"done" | "down" | Error> {
    const came: { of: "done" | Error | null } = { of: null };
    work.then(
      () => (came.of = "done"),
      (error: unknown) => (came.of = error instanceof Error ? error : new Error(String(error))),
    );
    for (let idle = 0; idle < 5; idle += 1) {
      await this.settle();
      if (!this.isUp) return "down";
      if (came.of !== null) return came.of;
      if (this.disk.syncs.length === 0) continue;
      this.disk.finishOne();
      idle = 0;
    }
    throw new Broken("answers", "something waits although nothing is under way");
  }

  #watchDisk(): void {
    this.disk.before = (call) => {
      if (call.name === "write" && isJournal(call.path)) {
        this.written = this.reference.batchIsWritten();
      }
      if (this.dice.chance(WRITE_BACK)) this.disk.file(call.path)?.writeBack(this.dice);
      this.faults.strike(call);
    };
    this.disk.didNotFit = (path) => {
      if (isJournal(path)) this.#turnAway();
    };
    this.disk.synced = ({ name, path }) => {
      const saved = name !== "syncFolder" && isJournal(path) && this.server.isOpen;
      if (saved) this.reference.syncedTo(this.written);
    };
  }

  /**
   * The store goes on without the batch it could not write, and without what gathered meanwhile; so
   * must the reference, at once.
   */
  #turnAway(): void {
    const { promised, synced } = this.reference;
    this.turnedAway = true;
    this.written = synced;
    this.trace(`full, back to ${synced}\n`);
    if (promised <= synced) this.reference.turnAway();
    else this.server.broken ??= new Broken("kept", "what it answered did not fit on the disk");
  }
}

const isJournal = (path: string): boolean => /journal-\d+\.jsonl$/.test(path);
