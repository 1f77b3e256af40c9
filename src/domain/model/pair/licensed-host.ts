import type { HardwareDigest } from "../hardware-digest.ts";
import type { Instant } from "../../time.ts";

/** A host that a license of two hosts names. */
export interface LicensedHost {
  /** As the site calls it; the vendor does not sign it. */
  readonly name: string;
  readonly hardwareId: string;
  readonly hardware: readonly HardwareDigest[];
}

/** Where the journal of a host ended, and when the host reported that. */
export interface ReportedHead {
  readonly host: string;
  readonly seq: number;
  readonly sum: string;
  readonly at: Instant;
}

export interface RequestedHost extends LicensedHost {
  /** Null: the host has not reported it. */
  readonly head: Omit<ReportedHead, "host"> | null;
}

/**
 * What a request for two hosts says of the pair, so that a pair that was split shows. A request for
 * one host has no such member.
 */
export interface RequestedPair {
  readonly log: string;
  readonly epoch: number;
  readonly leader: string;
  readonly hosts: readonly RequestedHost[];
}
