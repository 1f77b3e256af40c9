import type { Fault } from "../../domain/model/fault.ts";
import { limitKeyOf } from "../../domain/model/rules/network.ts";
import { HOUR, SECOND, type Instant } from "../../domain/time.ts";
import { SOCKET_PEER } from "../../platform/network/networks.ts";
import type { AuditMeter } from "../../store/store-options.ts";

const MIB = 1024 * 1024;
/** So many addresses have their own budget; all others share one. */
const MAX_PEERS = 10_000;

/** Bytes left at an instant; negative after a line that was longer than the remaining budget. */
interface Bucket {
  left: number;
  at: Instant;
}

/**
 * Limits how many MiB an hour the requests of one address may add to the audit log, which is kept
 * forever. The budget refills continuously. A request is charged when its line is written, so a
 * refused one costs nothing. A restart resets all budgets.
 */
export class AuditBudget {
  readonly #mibPerHour: () => number;
  readonly #maxPeers: number;
  /** By the peer's key, in the order of the last charge, oldest first. */
  readonly #buckets = new Map<string, Bucket>();
  #sharedBucket: Bucket | null = null;

  /** `mibPerHour` returns the budget that applies now; 0: no limit. */
  constructor(mibPerHour = () => 0, maxPeers = MAX_PEERS) {
    this.#mibPerHour = mibPerHour;
    this.#maxPeers = maxPeers;
  }

  /** Number of addresses with their own budget. */
  get trackedPeerCount(): number {
    return this.#buckets.size;
  }

  /** Null: no limit, as for an operator at the machine, who uses the socket. */
  meterFor(peer: string): AuditMeter | null {
    if (this.#mibPerHour() === 0 || peer === SOCKET_PEER) return null;
    const key = limitKeyOf(peer);
    return {
      checkBudget: (at) => this.#findRefusal(key, at),
      charge: (bytes, at) => this.#charge(key, bytes, at),
    };
  }

  #findRefusal(peer: string, at: Instant): Fault | null {
    const bucket = this.#buckets.get(peer) ?? (this.#isFull(at) ? this.#sharedBucket : null);
    if (bucket === null) return null;
    const left = this.#leftIn(bucket, at);
    if (left > 0) return null;
    const retryAfterSeconds = Math.ceil(((1 - left) * HOUR) / this.#capacity / SECOND);
    return { code: "audit_budget_exhausted", mibPerHour: this.#mibPerHour(), retryAfterSeconds };
  }

  #charge(peer: string, bytes: number, at: Instant): void {
    const bucket = this.#buckets.get(peer);
    if (bucket === undefined && this.#isFull(at)) {
      this.#sharedBucket = { left: this.#leftIn(this.#sharedBucket, at) - bytes, at };
      return;
    }
    this.#buckets.delete(peer);
    this.#buckets.set(peer, { left: this.#leftIn(bucket ?? null, at) - bytes, at });
  }

  /** Whether no further peer can be tracked. A peer whose budget is full again is dropped. */
  #isFull(at: Instant): boolean {
    if (this.#buckets.size < this.#maxPeers) return false;
    const [oldest] = this.#buckets;
    if (oldest === undefined || this.#leftIn(oldest[1], at) < this.#capacity) return true;
    this.#buckets.delete(oldest[0]);
    return false;
  }

  /** Bytes that an address may add at once. */
  get #capacity(): number {
    return this.#mibPerHour() * MIB;
  }

  #leftIn(bucket: Bucket | null, at: Instant): number {
    if (bucket === null) return this.#capacity;
    // When the clock was set back, nothing is refilled, and refilling continues from there.
    if (at < bucket.at) bucket.at = at;
    const refilled = ((at - bucket.at) / HOUR) * this.#capacity;
    return Math.min(this.#capacity, bucket.left + refilled);
  }
}
