// What every part of the benchmark is given and gives.
import type { Figure } from "./goals.ts";

export interface BenchSize {
  readonly starts: number;
  /** How often each comparison is made: every server once in each round. */
  readonly rounds: number;
  /** Of one run. */
  readonly seconds: number;
  readonly connections: readonly number[];
  readonly registrations: readonly number[];
  /** Checkpoints to wait for, by registrations. */
  readonly checkpoints: readonly (readonly [registrations: number, count: number])[];
}

export const FULL_SIZE: BenchSize = {
  starts: 15,
  rounds: 5,
  seconds: 0.8,
  connections: [1, 16, 64, 256],
  registrations: [100, 10_000, 100_000, 1_000_000],
  checkpoints: [
    [100_000, 4],
    [1_000_000, 1],
  ],
};

export const QUICK_SIZE: BenchSize = {
  starts: 5,
  rounds: 3,
  seconds: 0.4,
  connections: [64, 256],
  registrations: [100, 100_000],
  checkpoints: [[100_000, 1]],
};

export interface PartResult {
  readonly figures: readonly Figure[];
  /** Everything beside the figures, to be read. */
  readonly text: string;
  /** Checks of the run itself that failed; nothing of it can be believed then. */
  readonly wrong: readonly string[];
}
