import type { BaseEvent } from "../event-base.ts";
import type { HardwareDigest } from "../hardware-digest.ts";

/** A host may serve this appliance; the first one forms the pair. */
export interface HostAdmitted extends BaseEvent<"HostAdmitted"> {
  readonly log: string;
  readonly host: string;
  readonly hardwareId: string;
  readonly hardware: readonly HardwareDigest[];
  readonly peer: string;
}

/** The first line of a leader: no reply of an epoch is sent before it is durable. */
export interface LeaderChanged extends BaseEvent<"LeaderChanged"> {
  readonly epoch: number;
  readonly host: string;
  readonly hardwareId: string;
}

/** The pair ended: from here on the host serves alone, without the log. */
export interface PairLeft extends BaseEvent<"PairLeft"> {
  readonly log: string;
  readonly host: string;
  readonly hardware: readonly HardwareDigest[];
  /** The log was not reached: lines that this host had not copied are lost. */
  readonly withoutLog?: true;
  readonly peer: string;
}
