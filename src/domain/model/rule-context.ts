import type { License } from "./state.ts";
import type { Instant } from "../time.ts";

/**
 * What the rules know besides the state: the time, facts of the machine, and the operator's
 * settings. None of it is in the journal. `evolve` does not get it, so a replay cannot depend on
 * it.
 */
export interface RuleContext {
  readonly at: Instant;
  /** How far the system clock is behind `at` (milliseconds). */
  readonly clockBehind: number;
  /** Whether a license is signed for this machine. */
  readonly isSignedForThisMachine: (license: License) => boolean;
  /** Whether this host leads a pair by its log; absent: it serves alone. */
  readonly hasLog?: boolean;
  readonly slotCaps: SlotCaps;
  /** Places in all queues that one address, and one person, may have; absent: the default. */
  readonly maxPlacesPerCaller?: number;
}

/** The maximum number of slots that one user, and one address, may hold at once; null: no limit. */
export interface SlotCaps {
  readonly perUser: number | null;
  readonly perPeer: number | null;
}
