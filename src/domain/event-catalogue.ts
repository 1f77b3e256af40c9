import { APPLIANCE_EVENTS } from "./appliance/appliance-events.ts";
import { CLOCK_EVENTS } from "./clock/clock-events.ts";
import { CONSUMPTION_EVENTS } from "./consumption/consumption-events.ts";
import { DEMAND_EVENTS } from "./demand/demand-events.ts";
import type { Event } from "./model/event.ts";
import type { EventDetails, EventKind, EventRow, EventRows } from "./model/event-row.ts";
import { LICENSE_EVENTS } from "./requests/license-events.ts";
import { PAIR_EVENTS } from "./pair/pair-events.ts";
import { QUEUE_EVENTS } from "./queue/queue-events.ts";
import { RULES_EVENTS } from "./rules/rules-events.ts";
import { STATEMENT_EVENTS } from "./statements/statement-events.ts";
import { SLOT_EVENTS } from "./slots/slot-events.ts";

const { Created, RefusalsCounted, ...otherApplianceEvents } = APPLIANCE_EVENTS;

/** One row per event, in the order in which they are listed; one without a row does not compile. */
const EVENT_CATALOGUE: EventRows<Event["type"]> = {
  Created,
  ...LICENSE_EVENTS,
  ...STATEMENT_EVENTS,
  ...SLOT_EVENTS,
  ...QUEUE_EVENTS,
  ...CONSUMPTION_EVENTS,
  ...RULES_EVENTS,
  ...PAIR_EVENTS,
  ...otherApplianceEvents,
  ...CLOCK_EVENTS,
  ...DEMAND_EVENTS,
  RefusalsCounted,
};

/** A map, because a newer version may have written a type such as `constructor`. */
const ROWS: ReadonlyMap<string, EventRow<never>> = new Map(Object.entries(EVENT_CATALOGUE));

/** Undefined for an event that a newer version wrote: its fields can mean anything. */
// The table pairs each event with its own row; the compiler loses this pairing in the lookup.
const findRow = ({ type }: Event): EventRow<Event> | undefined => ROWS.get(type) as never;

/** The names of all event types. */
export const eventTypes: ReadonlySet<string> = new Set(ROWS.keys());

export const isKnownEvent = ({ type }: Event): boolean => ROWS.has(type);

/** Whether the event makes its line part of the audit log. */
export function isAudited(event: Event): boolean {
  const audited = findRow(event)?.isAudited ?? true;
  return typeof audited === "function" ? audited(event) : audited;
}

/** Whether the event grants a slot or a count that was not granted before. */
export const isNewGrant = (event: Event): boolean => findRow(event)?.grants === "new";

/** Whether the event grants a slot or a count, or renews it. */
export const isGrant = (event: Event): boolean => findRow(event)?.grants !== undefined;

/** Describes an event in words, for every view of the audit log. */
export const summarize = (event: Event): string =>
  findRow(event)?.summary(event) ?? `unknown event from a newer version of berth: ${event.type}`;

export const detailsOf = (event: Event): EventDetails => findRow(event)?.details(event) ?? {};

/** An unknown type, from a newer server, counts as `appliance`. */
export const eventKindOf = (type: string): EventKind => ROWS.get(type)?.kind ?? "appliance";

export const eventTypesOf = (kind: EventKind): string[] =>
  [...ROWS].flatMap(([type, row]) => (row.kind === kind ? [type] : []));
