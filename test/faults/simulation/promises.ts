import type { ChainHead } from "../../../src/store/journal.ts";

/** What a simulation can find broken. */
export type SimulationPromise =
  | "kept"
  | "starts"
  | "unseen"
  | "answers"
  | "files"
  | "room"
  | "leases"
  | "stopped"
  | "record"
  | "damage"
  | "way back";

/** A promise of the store that did not hold, with what was found instead. */
export class SimulationViolation extends Error {
  override readonly name = "Broken";
  readonly promise: SimulationPromise;

  constructor(promise: SimulationPromise, found: string) {
    super(found);
    this.promise = promise;
  }
}

export function assertPromise(
  promise: SimulationPromise,
  holds: boolean,
  found: () => string,
): void {
  if (!holds) throw new SimulationViolation(promise, found());
}

export const isSameHead = (a: ChainHead, b: ChainHead): boolean =>
  a.sum === b.sum && a.seq === b.seq && a.auditSum === b.auditSum && a.auditSeq === b.auditSeq;

/** Where two long texts part. */
export function describeDifference(found: string, wanted: string): string {
  let at = 0;
  while (at < found.length && found[at] === wanted[at]) at += 1;
  const about = (text: string): string => text.slice(Math.max(0, at - 80), at + 120);
  return `found …${about(found)}… and not …${about(wanted)}…`;
}

/** How often what was done and what came of it; added up over all seeds. */
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
  waysBack: 0,
  recordBytes: 0,
});

export type SimulationFigures = ReturnType<typeof emptyFigures>;
