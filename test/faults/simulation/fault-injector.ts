import type { SeededRandom } from "../../support/seeded-random.ts";
import type { DiskCall, SimulatedDisk } from "./simulated-disk.ts";
import { ProcessKilledError, diskError } from "./simulated-process.ts";
import type { SimulationFigures } from "./promises.ts";

/** A call of some kind, soon: the disk fails it, the power goes, or a process is ended there. */
export type InjectedFault = "EIO" | "cut" | "kill" | "kill checkpoint";

/** What goes wrong with a disk while it is used, one thing at a time. */
export class FaultInjector {
  readonly #disk: SimulatedDisk;
  readonly #dice: SeededRandom;
  readonly #figures: SimulationFigures;
  #armed: InjectedFault | null = null;
  #countdown = 0;
  readonly #errors = new Set<unknown>();
  /** The power is gone, or the server was killed; null: neither. */
  downCause: "cut" | "kill" | null = null;

  constructor(disk: SimulatedDisk, dice: SeededRandom, figures: SimulationFigures) {
    this.#disk = disk;
    this.#dice = dice;
    this.#figures = figures;
    disk.limitWrite = (wanted) => this.#taken(wanted);
  }

  arm(fault: InjectedFault, within: number): void {
    this.#armed = fault;
    this.#countdown = this.#dice.intBelow(within);
  }

  /** The machine is up again, and nothing is about to go wrong. */
  reset(): void {
    this.#armed = null;
    this.downCause = null;
  }

  /** Whether this is what a call was told to fail with. */
  isInjectedError(error: unknown): boolean {
    return this.#errors.has(error);
  }

  injectIfDue(call: DiskCall): void {
    if (this.#armed === null || this.downCause !== null) return;
    this.#countdown -= 1;
    if (this.#countdown >= 0) return;
    const fault = this.#armed;
    this.#armed = null;
    if (fault === "EIO") {
      const error = diskError("EIO");
      this.#errors.add(error);
      this.#figures.diskFailures += 1;
      throw error;
    }
    if (fault === "cut") this.cutPower();
    else if (fault === "kill") this.killServer();
    else if (call.process.name === "checkpoint") this.#disk.kill(call.process);
    if (!call.process.isAlive) throw new ProcessKilledError();
  }

  cutPower(): void {
    this.downCause = "cut";
    this.#figures.cuts += 1;
    this.#disk.cutPower();
  }

  /** A checkpoint outlives its server for a while. */
  killServer(): void {
    this.downCause = "kill";
    this.#figures.kills += 1;
    this.#disk.killAll("server");
  }

  #taken(wanted: number): number {
    if (wanted < 2 || !this.#dice.chance(0.05)) return wanted;
    this.#figures.shortWrites += 1;
    return this.#dice.intBetween(1, wanted - 1);
  }
}
