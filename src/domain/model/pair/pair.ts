import type { HardwareDigest } from "../hardware-digest.ts";
import type { Instant } from "../../time.ts";

/** A host that may serve the appliance. */
export interface PairHost {
  readonly name: string;
  readonly hardwareId: string;
  readonly hardware: readonly HardwareDigest[];
  readonly admittedAt: Instant;
}

/** Two hosts that serve one appliance through a log that they share. */
export interface Pair {
  /** The log that orders their changes: no other one continues this state. */
  readonly log: string;
  /** Raised with each change of the leader. */
  readonly epoch: number;
  /** The host that leads. */
  readonly leader: string;
  readonly leadsSince: Instant;
  /** By their names, in the order in which they were admitted. */
  readonly hosts: ReadonlyMap<string, PairHost>;
}

/** A pair that ended: its log is refused from then on. */
export interface EndedPair {
  readonly log: string;
  /** The host that serves alone since then. */
  readonly host: string;
  readonly hardware: readonly HardwareDigest[];
  readonly at: Instant;
}

/** More hosts would need a vote of their own; the log decides for two. */
export const MAX_HOSTS = 2;
