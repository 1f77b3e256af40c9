// The results of the kills: counts for every promise, and the violations.
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
  | "auditLog"
  | "orphans";

/** What the server is doing when it is killed. */
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

const COUNT_NAMES = [
  "starts",
  "firstStarts",
  "tornTails",
  /** Checkpoints that still ran after their server was killed alone. */
  "orphans",
  "changes",
  "counts",
  /** Calls that were unanswered when the server was killed. */
  "unansweredSlots",
  "unansweredCounts",
  "reads",
  /** Reads that showed a change before it was answered. */
  "earlyReads",
  "repeats",
  "requests",
  "cleanStops",
  "auditLines",
] as const;

const zeroCounts = <N extends string>(names: readonly N[]): Record<N, number> =>
  Object.fromEntries(names.map((name) => [name, 0])) as Record<N, number>;

export class KillResults {
  readonly killsByPoint = zeroCounts(KILL_POINTS);
  readonly counts = zeroCounts(COUNT_NAMES);
  readonly violations: { readonly kind: KillPromise; readonly detail: string }[] = [];
  /** The run that a violation belongs to, printed with it. */
  context: string;

  constructor(context: string) {
    this.context = context;
  }

  static sum(all: readonly KillResults[]): KillResults {
    const sum = new KillResults("");
    for (const { killsByPoint, counts, violations } of all) {
      for (const name of KILL_POINTS) sum.killsByPoint[name] += killsByPoint[name];
      for (const name of COUNT_NAMES) sum.counts[name] += counts[name];
      sum.violations.push(...violations);
    }
    return sum;
  }

  recordViolation(kind: KillPromise, detail: string): void {
    // Later violations mostly follow from the first ones.
    if (this.violations.length < 20)
      this.violations.push({ kind, detail: `${this.context}: ${detail}` });
  }

  get hasViolations(): boolean {
    return this.violations.length > 0;
  }

  get killCount(): number {
    return Object.values(this.killsByPoint).reduce((sum, count) => sum + count, 0);
  }

  /** Reports one check for each promise. */
  checkPromises(): void {
    for (const [kind, promise] of Object.entries(this.#promises())) {
      const violations = this.violations.filter((violation) => violation.kind === kind);
      const details = violations.slice(0, 3).map(({ detail }) => detail.slice(0, 2_000));
      check(promise, violations.length === 0, details.join("\n         "));
    }
    const { killsByPoint, counts } = this;
    const coverage = KILL_POINTS.map((point) => `${point} ${killsByPoint[point]}`).join(", ");
    check(
      `the suite killed servers at every kill point and orphaned a checkpoint (${coverage})`,
      this.hasViolations ||
        (KILL_POINTS.every((point) => killsByPoint[point] > 0) && counts.orphans > 0),
      "a kill point that did not occur was not tested",
    );
  }

  #promises(): Readonly<Record<KillPromise, string>> {
    const { counts } = this;
    return {
      slots:
        `after ${this.killCount} kills no acknowledged slot, borrow or feature is lost, and none is added ` +
        `(${counts.changes} acknowledged changes, ${counts.unansweredSlots} unanswered at a kill)`,
      counts:
        "after a kill no consumption is lost or counted twice " +
        `(${counts.counts} acknowledged, ${counts.unansweredCounts} unanswered at a kill)`,
      reads:
        "after a kill everything is there that a read had shown " +
        `(${counts.reads} reads compared, ${counts.earlyReads} of them showed a change before it was answered)`,
      repeats: `a call repeated with the same idempotency key counts once (${counts.repeats} repeats)`,
      answers: "every answer agrees with the changes answered before it",
      starts:
        `all ${counts.starts} starts after a kill become ready, ${counts.firstStarts} of them on new folders ` +
        `(${counts.tornTails} torn tails cut, ${counts.orphans} checkpoints outlived their server)`,
      requests: `no license request is lost by a kill (${counts.requests} requests)`,
      orphans:
        "a checkpoint that outlives its killed server does not change the folder of the next server " +
        `(${this.killsByPoint.late} times)`,
      stops: `all ${counts.cleanStops} clean stops write the complete state to state.json`,
      auditLog:
        "the audit log is one intact chain and adds up to the consumption and slots in the state " +
        `(${counts.auditLines} lines)`,
    };
  }
}
