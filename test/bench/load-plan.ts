// Input and result of the load generator: one run against one server.
import type { PeerRequest } from "./peer-options.ts";

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
 * heartbeat: users who hold a slot register again, one after the other. cycle: a new user registers,
 * sends one heartbeat and unregisters. denial: a user registers for a full license. contest: cycles of
 * more users at once than there are slots.
 */
export type LoadKind = (typeof LOAD_KINDS)[number];

export interface LoadPlan {
  readonly url: string;
  readonly kind: LoadKind;
  readonly connections: number;
  readonly seconds: number;
  /** How many users of the populated site hold a slot. */
  readonly users: number;
  /** For heartbeats of another server; without it, the request is that of Berth. */
  readonly peerRequest?: PeerRequest;
}

/** Totals of all answers, also of those during the warm-up. */
export interface AcknowledgedTotals {
  readonly granted: number;
  readonly released: number;
  readonly consumed: number;
}

export interface LoadOutcome extends AcknowledgedTotals {
  /** All answers, also those during the warm-up. */
  readonly answered: number;
  /** Answers within the measured time. */
  readonly requests: number;
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** The most slots that were certainly held at once: granted, and release not requested yet. */
  readonly mostHeld: number;
  /** Share of the time in which the generator's process used a processor. */
  readonly generatorCpuShare: number;
  /** By description, how often a request was not answered correctly. */
  readonly errors: Readonly<Record<string, number>>;
}

/** One line for each error of a run. */
export const describeErrors = (run: string, { errors }: LoadOutcome): string[] =>
  Object.entries(errors).map(([error, count]) => `${run}: ${count} times ${error}`);
