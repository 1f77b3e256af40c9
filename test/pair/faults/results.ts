// What the faults of a pair led to: figures, and the violations of each promise.

type FaultPromise =
  | "slots"
  | "counts"
  | "reads"
  | "answers"
  | "overLent"
  | "oneHost"
  | "oldLeader"
  | "recovery"
  | "journals";

const COUNT_NAMES = [
  "changes",
  "consumptions",
  "reads",
  "refusals",
  /** Calls without an answer, or with a 503. */
  "unanswered",
  "repeats",
  "leaderChanges",
  "oldLeaderWrites",
] as const;

const zeroCounts = <N extends string>(names: readonly N[]): Record<N, number> =>
  Object.fromEntries(names.map((name) => [name, 0])) as Record<N, number>;

export class FaultResults {
  readonly counts = zeroCounts(COUNT_NAMES);
  readonly violations: { readonly kind: FaultPromise; readonly detail: string }[] = [];
  readonly faults = new Map<string, number>();
  readonly #times = new Map<string, FaultTime[]>();
  context = "";

  recordViolation(kind: FaultPromise, detail: string): void {
    // Later violations mostly follow from the first ones.
    if (this.violations.length < 20)
      this.violations.push({ kind, detail: `${this.context}: ${detail}` });
  }

  get hasViolations(): boolean {
    return this.violations.length > 0;
  }

  violationsOf(promise: FaultPromise): string[] {
    return this.violations.filter(({ kind }) => kind === promise).map(({ detail }) => detail);
  }

  recordFault(name: string): void {
    this.faults.set(name, (this.faults.get(name) ?? 0) + 1);
  }

  /** `fault`: after which it was. */
  recordTime(name: string, fault: string, ms: number): void {
    this.#times.set(name, [...(this.#times.get(name) ?? []), { ms, fault }]);
  }

  get faultCount(): number {
    return [...this.faults.values()].reduce((sum, count) => sum + count, 0);
  }

  /** What was tried, and how long it took. */
  get figures(): string {
    const faults = [...this.faults].map(([name, count]) => `${name} ${count}`);
    const counts = COUNT_NAMES.map((name) => `${name} ${this.counts[name]}`);
    const times = [...this.#times].map(([name, all]) => `${name}: ${describeTimes(all)}`);
    return [
      `${this.faultCount} faults: ${faults.toSorted().join(", ")}`,
      counts.join(", "),
      ...times,
    ].join("\n");
  }
}

interface FaultTime {
  readonly ms: number;
  readonly fault: string;
}

function describeTimes(times: readonly FaultTime[]): string {
  const sorted = times.toSorted((a, b) => a.ms - b.ms);
  const seconds = (time: FaultTime | undefined): string => ((time?.ms ?? 0) / 1_000).toFixed(2);
  const worst = sorted.at(-1);
  const median = seconds(sorted[Math.floor(sorted.length / 2)]);
  return `median ${median} s, worst ${seconds(worst)} s (${worst?.fault}) of ${times.length}`;
}

export const FAULT_PROMISES: Readonly<Record<FaultPromise, string>> = {
  slots: "no acknowledged slot or borrow is lost, and none is added",
  counts: "no consumption is lost or counted twice",
  reads: "no read shows less than an earlier answer",
  answers: "every answer agrees with the changes answered before it",
  overLent: "no more slots are held at once than the license has",
  oneHost: "no host answers after the other one began to lead",
  oldLeader: "a resumed leader refuses its first write and its first reads",
  recovery: "the pair recovers by itself after each fault",
  journals: "both hosts have the journal of the database, and berth verify accepts both folders",
};
