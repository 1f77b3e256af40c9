import type { SeededRandom } from "../../support/seeded-random.ts";
import type { DiskCall, SimulatedDisk } from "./simulated-disk.ts";
import { ProcessKilledError, diskError } from "./simulated-process.ts";
import type { SimulationFigures } from "./promises.ts";

/**
 * What happens at one of the next disk calls: it fails, the power is cut, or a process is killed.
 */
export type InjectedFault = "EIO" | "cut" | "kill" | "kill checkpoint";

/** Injects faults into disk calls, one at a time. */
export class FaultInjector {
  readonly #disk: SimulatedDisk;
  readonly #random: SeededRandom;
  readonly #figures: SimulationFigures;
  #armed: InjectedFault | null = null;
  #countdown = 0;
  readonly #injectedErrors = new Set<unknown>();
  /** Why the server is down; null: it is not. */
  downCause: "cut" | "kill" | null = null;

  constructor(disk: SimulatedDisk, random: SeededRandom, figures: SimulationFigures) {
    this.#disk = disk;
    this.#random = random;
    this.#figures = figures;
    disk.limitWrite = (length) => this.#limitWrite(length);
  }

  arm(fault: InjectedFault, maxCalls: number): void {
    this.#armed = fault;
    this.#countdown = this.#random.intBelow(maxCalls);
  }

  /** The machine is up again; disarms the pending fault. */
  reset(): void {
    this.#armed = null;
    this.downCause = null;
  }

  /** Whether this error was injected. */
  isInjectedError(error: unknown): boolean {
    return this.#injectedErrors.has(error);
  }

  injectIfDue(call: DiskCall): void {
    if (this.#armed === null || this.downCause !== null) return;
    this.#countdown -= 1;
    if (this.#countdown >= 0) return;
    const fault = this.#armed;
    this.#armed = null;
    if (fault === "EIO") {
      const error = diskError("EIO");
      this.#injectedErrors.add(error);
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

  /** Kills the server only: its checkpoint goes on for a while. */
  killServer(): void {
    this.downCause = "kill";
    this.#figures.kills += 1;
    this.#disk.killAll("server");
  }

  #limitWrite(length: number): number {
    if (length < 2 || !this.#random.chance(0.05)) return length;
    this.#figures.shortWrites += 1;
    return this.#random.intBetween(1, length - 1);
  }
}
