import type { ChainHead } from "../../../src/store/journal/journal.ts";

/** The promises that a simulation checks. */
export type SimulationPromise =
  | "kept"
  | "starts"
  | "hidden"
  | "answers"
  | "files"
  | "disk space"
  | "leases"
  | "stopped"
  | "audit log"
  | "damage"
  | "recovery";

/** Thrown when a promise is broken; the message says what was found instead. */
export class SimulationViolation extends Error {
  override readonly name = "SimulationViolation";
  readonly promise: SimulationPromise;

  constructor(promise: SimulationPromise, found: string) {
    super(found);
    this.promise = promise;
  }
}

export function assertPromise(
  promise: SimulationPromise,
  isKept: boolean,
  found: () => string,
): void {
  if (!isKept) throw new SimulationViolation(promise, found());
}

export const isSameHead = (a: ChainHead, b: ChainHead): boolean =>
  a.sum === b.sum && a.seq === b.seq && a.auditSum === b.auditSum && a.auditSeq === b.auditSeq;

/** Shows where two long texts begin to differ. */
export function describeDifference(found: string, expected: string): string {
  let at = 0;
  while (at < found.length && found[at] === expected[at]) at += 1;
  const excerpt = (text: string): string => text.slice(Math.max(0, at - 80), at + 120);
  return `found …${excerpt(found)}…, expected …${excerpt(expected)}…`;
}

/** Counts of what happened in a run; added up over all seeds. */
export const emptyFigures = () => ({
  operations: 0,
  done: 0,
  refused: 0,
  reads: 0,
  failed: 0,
  cuts: 0,
  kills: 0,
  stops: 0,
  diskFailures: 0,
  full: 0,
  shortWrites: 0,
  jumps: 0,
  leases: 0,
  starts: 0,
  startsCutShort: 0,
  tornTails: 0,
  checkpoints: 0,
  checkpointsFailed: 0,
  flips: 0,
  staleBlocks: 0,
  damageRefused: 0,
  recoveries: 0,
  auditLogBytes: 0,
});

export type SimulationFigures = ReturnType<typeof emptyFigures>;
