import { SeededRandom } from "../../support/seeded-random.ts";
import { SimulatedDisk } from "./simulated-disk.ts";
import { FaultInjector } from "./fault-injector.ts";
import { SimulatedFolder } from "./simulated-folder.ts";
import { TrueLeases } from "./true-leases.ts";
import {
  SimulationViolation,
  assertPromise,
  emptyFigures,
  type SimulationFigures,
} from "./promises.ts";
import { ReferenceModel } from "./reference-model.ts";
import { SimulatedServer } from "./simulated-server.ts";
import { SimulatedTime } from "./simulated-time.ts";

/** How often the kernel saves something unasked while a call is made. */
const WRITE_BACK = 0.02;

/**
 * A machine with a clock, a disk and a server on it, and beside it what that server must be like.
 */
export class SimulatedMachine {
  readonly figures: SimulationFigures = emptyFigures();
  readonly time = new SimulatedTime();
  readonly reference = new ReferenceModel();
  readonly leases = new TrueLeases();
  readonly random: SeededRandom;
  readonly disk: SimulatedDisk;
  readonly faultInjector: FaultInjector;
  readonly #hash = new Bun.CryptoHasher("sha256");
  server: SimulatedServer;
  /** How far the batch goes that was written last. */
  lastWrittenSeq = 0;
  /** A batch did not fit, and the store has not taken changes since. */
  isRefusingChanges = false;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    this.disk = new SimulatedDisk(new SeededRandom(~seed));
    this.disk.root.add("srv", new SimulatedFolder());
    this.disk.root.stage()();
    this.faultInjector = new FaultInjector(this.disk, this.random, this.figures);
    this.server = this.newServer();
    this.#watchDisk();
  }

  get isUp(): boolean {
    return this.faultInjector.downCause === null;
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
    const { disk, reference, random, figures, leases, time } = this;
    return new SimulatedServer({
      disk,
      reference,
      random,
      figures,
      leases,
      trueNow: () => time.trueNow,
      trace: (text) => this.trace(text),
    });
  }

  /** Everything happens that can without a sync, and what came of it is looked at. */
  async runPending(): Promise<void> {
    await this.time.runPending();
    if (this.server.violation !== null) throw this.server.violation;
    assertPromise("files", this.disk.misuse === null, () => String(this.disk.misuse));
    if (!this.isUp || !this.server.isOpen) return;
    const isFull = this.server.store.health().fault?.code === "storage_full";
    assertPromise(
      "room",
      !isFull || this.isRefusingChanges,
      () => "it says full, and nothing failed to fit",
    );
    this.isRefusingChanges = isFull;
  }

  /** Lets syncs return until it is done, the machine is down, or it failed. */
  async runUntilDone(work: Promise<unknown>): Promise<"done" | "down" | Error> {
    const came: { of: "done" | Error | null } = { of: null };
    work.then(
      () => (came.of = "done"),
      (error: unknown) => (came.of = error instanceof Error ? error : new Error(String(error))),
    );
    for (let idle = 0; idle < 5; idle += 1) {
      await this.runPending();
      if (!this.isUp) return "down";
      if (came.of !== null) return came.of;
      if (this.disk.pendingSyncs.length === 0) continue;
      this.disk.finishOneSync();
      idle = 0;
    }
    throw new SimulationViolation("answers", "something waits although nothing is under way");
  }

  #watchDisk(): void {
    this.disk.onCall = (call) => {
      if (call.name === "write" && isJournal(call.path)) {
        this.lastWrittenSeq = this.reference.closeBatch();
      }
      if (this.random.chance(WRITE_BACK)) this.disk.findFile(call.path)?.writeBack(this.random);
      this.faultInjector.injectIfDue(call);
    };
    this.disk.onDiskFull = (path) => {
      if (isJournal(path)) this.#turnAway();
    };
    this.disk.onSynced = ({ name, path }) => {
      const saved = name !== "syncFolder" && isJournal(path) && this.server.isOpen;
      if (saved) this.reference.markSynced(this.lastWrittenSeq);
    };
  }

  /**
   * The store goes on without the batch it could not write, and without what gathered meanwhile; so
   * must the reference, at once.
   */
  #turnAway(): void {
    const { promisedSeq, syncedSeq } = this.reference;
    this.isRefusingChanges = true;
    this.lastWrittenSeq = syncedSeq;
    this.trace(`full, back to ${syncedSeq}\n`);
    if (promisedSeq <= syncedSeq) this.reference.refuseUnsynced();
    else
      this.server.violation ??= new SimulationViolation(
        "kept",
        "what it answered did not fit on the disk",
      );
  }
}

const isJournal = (path: string): boolean => /journal-\d+\.jsonl$/.test(path);
