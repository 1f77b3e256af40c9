import type {
  ConsumptionAdded,
  Event,
  SlotExpired,
  SlotReleased,
  SlotTaken,
} from "../domain/model/event.ts";
import type { Contact } from "../domain/model/slots/contact.ts";
import type { Terms } from "../domain/model/licenses/terms.ts";
import type { Instant } from "../domain/time.ts";

/** An event, with as much of the frequent ones as a site record needs. */
export type RecordedEvent =
  | Exclude<Event, SlotTaken | SlotReleased | SlotExpired | ConsumptionAdded>
  | (Pick<SlotTaken, SlotFields | "identity"> & {
      readonly contact: Pick<Contact, "hostname" | "peer">;
    })
  | Pick<SlotReleased, SlotFields | "by">
  | Pick<SlotExpired, SlotFields>
  | Pick<ConsumptionAdded, "type" | "at" | "license" | "user" | "count" | "total">;

type SlotFields = "type" | "at" | "license" | "user" | "slot";

/** A line of the audit log. */
export interface RecordedLine {
  readonly seq: number;
  readonly at: Instant;
  /** Its number in the audit log; lines are missing if it is not the next one. */
  readonly audit_seq?: number;
  readonly events: readonly RecordedEvent[];
}

/** What was known before the first line of a record, besides the slots that were held. */
export interface KnownBefore {
  /** The terms in force, by license. */
  readonly terms: ReadonlyMap<number, KnownTerms>;
  /** The borrows of held slots, by slot. */
  readonly borrows: ReadonlyMap<number, KnownBorrow>;
  /** The numbers of the places in all queues. */
  readonly places: ReadonlySet<number>;
}

export interface KnownBorrow {
  readonly license: number;
  readonly until: Instant;
}

export interface KnownTerms {
  readonly vendor: string;
  readonly terms: Terms;
}

/** Where an event is in a record. */
export interface RecordPosition {
  readonly at: Instant;
  readonly clockPeriod: number;
  readonly seq: number;
}
