// What the generator is told and what it tells: one run against one server.

export const LOAD_KINDS = [
  "heartbeat",
  "cycle",
  "borrow",
  "consumption",
  "denial",
  "health",
  "contest",
] as const;

/**
 * heartbeat: users who hold a slot register again, one after the other. cycle: a new user claims a
 * slot, keeps it once and gives it back. denial: somebody asks a full license. contest: cycles of
 * more at once than there are slots.
 */
export type LoadKind = (typeof LOAD_KINDS)[number];

export interface LoadPlan {
  readonly url: string;
  readonly kind: LoadKind;
  readonly connections: number;
  readonly seconds: number;
  /** How many users hold a slot: those of a crowd, from the first on. */
  readonly users: number;
}

/** Of all that was answered, also before the time that counts began. */
export interface AcknowledgedTotals {
  readonly granted: number;
  readonly released: number;
  readonly consumed: number;
}

export interface LoadOutcome extends AcknowledgedTotals {
  /** Answered, with what was answered before the time that counts. */
  readonly answered: number;
  /** Within the time that counts. */
  readonly requests: number;
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** The most slots that were surely held at once: granted, and not yet asked to be given back. */
  readonly mostHeld: number;
  /** What share of the time the generator's own process was at work. */
  readonly generatorCpuShare: number;
  /** Anything that was not answered as it should be, by what was wrong. */
  readonly errors: Readonly<Record<string, number>>;
}
