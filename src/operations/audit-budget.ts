import type { Command } from "../domain/command.ts";
import type { Fault } from "../domain/fault.ts";
import { HOUR, SECOND, type Instant } from "../domain/time.ts";
import { SOCKET_PEER } from "../platform/networks.ts";
import type { AuditMeter } from "../store/store-options.ts";

const MIB = 1024 * 1024;
/** So many addresses have a budget of their own; any others share one. */
const MOST_PEERS = 10_000;

/** What was left at an instant; less than nothing after a line that was longer than the rest. */
interface Bucket {
  left: number;
  at: Instant;
}

/** The address whose budget pays for a command; null for administration, which is not limited. */
export function findChargedPeer(command: Command): string | null {
  const peer = peerOf(command);
  return peer === SOCKET_PEER ? null : peer;
}

function peerOf(command: Command): string | null {
  switch (command.type) {
    case "Register":
    case "Borrow":
      return command.contact.peer;
    case "Unregister":
      return command.by === "user" ? command.peer : null;
    case "RegisterFeature":
    case "ReleaseFeature":
    case "AddConsumption":
    case "AddFeatureConsumption":
      return command.peer;
    default:
      return null;
  }
}

/**
 * How much the calls of one address may add to the audit log, which is kept for ever: so many MiB
 * an hour, refilled continuously. What a call writes is charged when it is written, so that a
 * refusal changes nothing; a restart forgets it.
 */
export class AuditBudget {
  readonly #mib: number;
  readonly #capacity: number;
  readonly #mostPeers: number;
  /** Those charged last come last. */
  readonly #buckets = new Map<string, Bucket>();
  #others: Bucket | null = null;

  /** `mib` 0: no limit. */
  constructor(mib: number, mostPeers = MOST_PEERS) {
    this.#mib = mib;
    this.#capacity = mib * MIB;
    this.#mostPeers = mostPeers;
  }

  /** Whose memory is taken. */
  get trackedPeerCount(): number {
    return this.#buckets.size;
  }

  /** Null: nothing limits it. */
  meterFor(peer: string | null): AuditMeter | null {
    if (this.#mib === 0 || peer === null) return null;
    return {
      checkBudget: (at) => this.#refusal(peer, at),
      charge: (bytes, at) => this.#charge(peer, bytes, at),
    };
  }

  #refusal(peer: string, at: Instant): Fault | null {
    const bucket = this.#buckets.get(peer) ?? (this.#isFull(at) ? this.#others : null);
    if (bucket === null) return null;
    const left = this.#leftIn(bucket, at);
    if (left > 0) return null;
    const retryAfter = Math.ceil(((1 - left) * HOUR) / this.#capacity / SECOND);
    return { code: "audit_budget_exhausted", mibPerHour: this.#mib, retryAfterSeconds: retryAfter };
  }

  #charge(peer: string, bytes: number, at: Instant): void {
    const known = this.#buckets.get(peer);
    if (known === undefined && this.#isFull(at)) {
      this.#others = { left: this.#leftIn(this.#others, at) - bytes, at };
      return;
    }
    this.#buckets.delete(peer);
    this.#buckets.set(peer, { left: this.#leftIn(known ?? null, at) - bytes, at });
  }

  /** No room for another peer. One that has its whole budget back needs no memory any more. */
  #isFull(at: Instant): boolean {
    if (this.#buckets.size < this.#mostPeers) return false;
    const [oldest] = this.#buckets;
    if (oldest === undefined || this.#leftIn(oldest[1], at) < this.#capacity) return true;
    this.#buckets.delete(oldest[0]);
    return false;
  }

  #leftIn(bucket: Bucket | null, at: Instant): number {
    if (bucket === null) return this.#capacity;
    // A clock that was set back gives nothing, and goes on from there.
    if (at < bucket.at) bucket.at = at;
    const refilled = ((at - bucket.at) / HOUR) * this.#capacity;
    return Math.min(this.#capacity, bucket.left + refilled);
  }
}
