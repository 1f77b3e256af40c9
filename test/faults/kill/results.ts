// What the kills came to: figures for every promise, and whatever broke one.
import { check } from "../../support/suite-harness.ts";

export type KillPromise =
  | "starts"
  | "slots"
  | "counts"
  | "reads"
  | "repeats"
  | "answers"
  | "requests"
  | "stops"
  | "record"
  | "orphans";

/** The moments a kill can fall into. */
const KILL_POINTS = [
  "load",
  "answer",
  "read",
  "start",
  "stop",
  "orphan",
  "late",
  "rotation",
  "first",
] as const;

export type KillPoint = (typeof KILL_POINTS)[number];

const COUNTED = [
  "starts",
  "firstStarts",
  "tornTails",
  /** Checkpoints that were alive after their server had been killed without them. */
  "orphans",
  "changes",
  "counts",
  /** Unanswered when the server was killed. */
  "openSlots",
  "openCounts",
  "reads",
  /** Reads that showed what was not answered yet. */
  "early",
  "repeats",
  "requests",
  "cleanStops",
  "recorded",
] as const;

const zeroCounts = <N extends string>(names: readonly N[]): Record<N, number> =>
  Object.fromEntries(names.map((name) => [name, 0])) as Record<N, number>;

export class KillResults {
  readonly killsByPoint = zeroCounts(KILL_POINTS);
  readonly counts = zeroCounts(COUNTED);
  readonly violations: { readonly kind: KillPromise; readonly detail: string }[] = [];
  /** Where things stand, for whoever has to find out why. */
  context: string;

  constructor(place: string) {
    this.context = place;
  }

  static sum(all: readonly KillResults[]): KillResults {
    const sum = new KillResults("");
    for (const { killsByPoint, counts, violations } of all) {
      for (const name of KILL_POINTS) sum.killsByPoint[name] += killsByPoint[name];
      for (const name of COUNTED) sum.counts[name] += counts[name];
      sum.violations.push(...violations);
    }
    return sum;
  }

  recordViolation(kind: KillPromise, detail: string): void {
    // What follows from the first ones is of no use.
    if (this.violations.length < 20)
      this.violations.push({ kind, detail: `${this.context}: ${detail}` });
  }

  get hasViolations(): boolean {
    return this.violations.length > 0;
  }

  get killCount(): number {
    return Object.values(this.killsByPoint).reduce((sum, count) => sum + count, 0);
  }

  /** One promise each. */
  checkPromises(): void {
    for (const [kind, promise] of Object.entries(this.#promises())) {
      const found = this.violations.filter((one) => one.kind === kind);
      const details = found.slice(0, 3).map(({ detail }) => detail.slice(0, 2_000));
      check(promise, found.length === 0, details.join("\n         "));
    }
    const { killsByPoint, counts } = this;
    const covered = KILL_POINTS.map((ending) => `${ending} ${killsByPoint[ending]}`).join(", ");
    check(
      `kills fell into every kind of moment: ${covered}`,
      this.hasViolations ||
        (KILL_POINTS.every((ending) => killsByPoint[ending] > 0) && counts.orphans > 0),
      "a kind of kill that did not happen proves nothing",
    );
  }

  #promises(): Readonly<Record<KillPromise, string>> {
    const { counts } = this;
    return {
      slots:
        `${this.killCount} kills: no acknowledged slot, borrow or feature was lost, none invented ` +
        `(${counts.changes} acknowledged changes, ${counts.openSlots} unanswered at a kill)`,
      counts:
        "no count was lost or counted twice " +
        `(${counts.counts} acknowledged, ${counts.openCounts} unanswered at a kill)`,
      reads:
        "what a read had shown was there after the kill " +
        `(${counts.reads} reads compared, ${counts.early} of them showed what was not answered yet)`,
      repeats: `the same call with the same key counted once (${counts.repeats} repeats)`,
      answers: "every answer was one that what is certain allows",
      starts:
        `${counts.starts} starts got ready, ${counts.firstStarts} of them first starts ` +
        `(${counts.tornTails} torn tails cut, ${counts.orphans} orphaned checkpoints outlived)`,
      requests: `no license request that was handed out was forgotten (${counts.requests})`,
      orphans:
        "a checkpoint that wakes up after its server was killed leaves the folder to the next " +
        `(${this.killsByPoint.late})`,
      stops: `${counts.cleanStops} clean stops left everything in state.json`,
      record:
        "the auditor's record is one chain and adds up to what is counted and held " +
        `(${counts.recorded} lines)`,
    };
  }
}
