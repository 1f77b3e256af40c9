// Input and result of every part of the benchmark.
import type { Figure } from "./goals.ts";
import type { StallSize } from "./stalls.ts";

export interface BenchSize {
  readonly starts: number;
  /** Rounds of each comparison: every server runs once in each round. */
  readonly rounds: number;
  /** Length of one run. */
  readonly seconds: number;
  /** Heartbeats that a server answers before it is measured. */
  readonly warmUpAnswers: number;
  readonly connections: readonly number[];
  readonly registrations: readonly number[];
  /** Checkpoints to wait for, by registrations. */
  readonly checkpoints: readonly (readonly [registrations: number, count: number])[];
  readonly stalls: StallSize;
  /** Usage statements of a vendor's desk, one size after the other. */
  readonly deskStatements: readonly number[];
}

export const FULL_SIZE: BenchSize = {
  starts: 15,
  rounds: 5,
  seconds: 0.8,
  warmUpAnswers: 50_000,
  connections: [1, 16, 64, 256],
  registrations: [100, 10_000, 100_000, 1_000_000],
  checkpoints: [
    [100_000, 4],
    [1_000_000, 1],
  ],
  stalls: { holders: 100_000, auditLines: 440_000, secondsPerCall: 20 },
  deskStatements: [72_000, 360_000],
};

export const QUICK_SIZE: BenchSize = {
  starts: 5,
  rounds: 3,
  seconds: 0.4,
  warmUpAnswers: 20_000,
  connections: [64, 256],
  registrations: [100, 100_000],
  checkpoints: [[100_000, 1]],
  stalls: { holders: 20_000, auditLines: 100_000, secondsPerCall: 4 },
  deskStatements: [72_000],
};

export interface PartResult {
  readonly figures: readonly Figure[];
  /** The other results, as text for people. */
  readonly text: string;
  /** Failed checks of the run itself; if there are any, its figures are invalid. */
  readonly wrong: readonly string[];
}

/** Why something that the options name cannot be measured, in one line. */
export class CannotMeasure extends Error {
  readonly hint: string | null;

  constructor(reason: string, hint: string | null) {
    super(reason);
    this.hint = hint;
  }
}
