import type { Dice } from "./dice.ts";
import type { Call, SimulatedDisk } from "./simulated-disk.ts";
import { Dead, diskError } from "./simulated-process.ts";
import type { Figures } from "./simulated-promises.ts";

/** A call of some kind, soon: the disk fails it, the power goes, or a process is ended there. */
export type Fault = "EIO" | "cut" | "kill" | "kill checkpoint";

/** What goes wrong with a disk while it is used, one thing at a time. */
export class Faults {
  readonly #disk: SimulatedDisk;
  readonly #dice: Dice;
  readonly #figures: Figures;
  #armed: Fault | null = null;
  #countdown = 0;
  readonly #errors = new Set<unknown>();
  /** The power is gone, or the server was killed; null: neither. */
  down: "cut" | "kill" | null = null;

  constructor(disk: SimulatedDisk, dice: Dice, figures: Figures) {
    this.#disk = disk;
    this.#dice = dice;
    this.#figures = figures;
    disk.taken = (wanted) => this.#taken(wanted);
  }

  arm(fault: Fault, within: number): void {
    this.#armed = fault;
    this.#countdown = this.#dice.below(within);
  }

  /** The machine is up again, and nothing is about to go wrong. */
  reset(): void {
    this.#armed = null;
    this.down = null;
  }

  /** Whether this is what a call was told to fail with. */
  failed(error: unknown): boolean {
    return this.#errors.has(error);
  }

  strike(call: Call): void {
    if (this.#armed === null || this.down !== null) return;
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
    if (fault === "cut") this.cut();
    else if (fault === "kill") this.kill();
    else if (call.by.name === "checkpoint") this.#disk.kill(call.by);
    if (!call.by.isAlive) throw new Dead();
  }

  cut(): void {
    this.down = "cut";
    this.#figures.cuts += 1;
    this.#disk.cut();
  }

  /** A checkpoint outlives its server for a while. */
  kill(): void {
    this.down = "kill";
    this.#figures.kills += 1;
    this.#disk.killAll("server");
  }

  #taken(wanted: number): number {
    if (wanted < 2 || !this.#dice.chance(0.05)) return wanted;
    this.#figures.shortWrites += 1;
    return this.#dice.between(1, wanted - 1);
  }
}
