// The results of the kills: counts for every promise, and the violations.

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
  | "orphans"
  | "journals";

/** What the server is doing when it is killed. */
export const KILL_POINTS = [
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
  /** Of a pair: a busy machine did not renew a term in time. */
  "endedTerms",
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

  violationsOf(promise: KillPromise): string[] {
    return this.violations.filter(({ kind }) => kind === promise).map(({ detail }) => detail);
  }

  /** What was tried. */
  get figures(): string {
    const kills = KILL_POINTS.map((point) => `${point} ${this.killsByPoint[point]}`);
    const counts = COUNT_NAMES.map((name) => `${name} ${this.counts[name]}`);
    return `${this.killCount} kills: ${kills.join(", ")}; ${counts.join(", ")}`;
  }
}

/** The promises that are tested under load; those of orphans and of a pair are tested elsewhere. */
export const LOAD_PROMISES: Readonly<Record<Exclude<KillPromise, "orphans" | "journals">, string>> =
  {
    slots: "no acknowledged slot, borrow or feature is lost, and none is added",
    counts: "no consumption is lost or counted twice",
    reads: "everything that a read had shown is there",
    repeats: "a call repeated with the same idempotency key counts once",
    answers: "every answer agrees with the changes answered before it",
    starts: "every start becomes ready",
    requests: "no license request is lost",
    stops: "every clean stop writes the complete state to state.json",
    auditLog: "the audit log is one chain and adds up to the consumption and slots in the state",
  };
