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

/** The probability that the kernel saves some data without a sync during a call. */
const WRITE_BACK_CHANCE = 0.02;

/** A machine with a clock, a disk and a server, and the reference model for that server. */
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
  /** The last line of the batch that was written last. */
  lastWrittenSeq = 0;
  /** Whether a batch did not fit and the store has refused changes since. */
  isRefusingChanges = false;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    this.disk = new SimulatedDisk(new SeededRandom(~seed));
    this.disk.root.add("srv", new SimulatedFolder());
    this.disk.root.stage()();
    this.faultInjector = new FaultInjector(this.disk, this.random, this.figures);
    this.server = this.newServer();
    this.#observeDisk();
  }

  get isUp(): boolean {
    return this.faultInjector.downCause === null;
  }

  trace(text: string): void {
    this.#hash.update(text);
  }

  /** A hash of everything that happened and of the files on the disk. */
  digest(): string {
    for (const { path, file } of this.disk.root.files("")) {
      // Lock files contain a process id, which does not depend on the seed.
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

  /** Runs everything that can run without a sync, and checks the result. */
  async runPending(): Promise<void> {
    await this.time.runPending();
    if (this.server.violation !== null) throw this.server.violation;
    assertPromise("files", this.disk.misuse === null, () => String(this.disk.misuse));
    if (!this.isUp || !this.server.isOpen) return;
    const isFull = this.server.store.status().fault?.code === "storage_full";
    assertPromise(
      "disk space",
      !isFull || this.isRefusingChanges,
      () => "the store reports a full disk, but every write fitted",
    );
    this.isRefusingChanges = isFull;
  }

  /** Finishes syncs until the work is done, the machine is down, or the work failed. */
  async runUntilDone(work: Promise<unknown>): Promise<"done" | "down" | Error> {
    const outcome: { value: "done" | Error | null } = { value: null };
    work.then(
      () => (outcome.value = "done"),
      (error: unknown) =>
        (outcome.value = error instanceof Error ? error : new Error(String(error))),
    );
    for (let idle = 0; idle < 5; idle += 1) {
      await this.runPending();
      if (!this.isUp) return "down";
      if (outcome.value !== null) return outcome.value;
      if (this.disk.pendingSyncs.length === 0) continue;
      this.disk.finishOneSync();
      idle = 0;
    }
    throw new SimulationViolation("answers", "a call waits although no sync is pending");
  }

  #observeDisk(): void {
    this.disk.onCall = (call) => {
      if (call.name === "write" && isJournal(call.path)) {
        this.lastWrittenSeq = this.reference.closeBatch();
      }
      if (this.random.chance(WRITE_BACK_CHANCE))
        this.disk.findFile(call.path)?.writeBack(this.random);
      this.faultInjector.injectIfDue(call);
    };
    this.disk.onDiskFull = (path) => {
      if (isJournal(path)) this.#refuseBatch();
    };
    this.disk.onSynced = ({ name, path }) => {
      const isJournalSync = name !== "syncFolder" && isJournal(path) && this.server.isOpen;
      if (isJournalSync) this.reference.markSynced(this.lastWrittenSeq);
    };
  }

  /**
   * The store drops the batch that it could not write and all lines collected since; the reference
   * must do so at the same time.
   */
  #refuseBatch(): void {
    const { promisedSeq, syncedSeq } = this.reference;
    this.isRefusingChanges = true;
    this.lastWrittenSeq = syncedSeq;
    this.trace(`full, back to ${syncedSeq}\n`);
    if (promisedSeq <= syncedSeq) this.reference.refuseUnsynced();
    else
      this.server.violation ??= new SimulationViolation(
        "kept",
        "a change that was answered did not fit on the disk",
      );
  }
}

const isJournal = (path: string): boolean => /journal-\d+\.jsonl$/.test(path);
