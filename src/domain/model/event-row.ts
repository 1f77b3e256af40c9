import type { Event } from "./event.ts";

/** The groups of events that the audit log can be filtered by, in the order they are offered. */
export const EVENT_KINDS = [
  "slots",
  "queue",
  "licenses",
  "consumption",
  "refusals",
  "administration",
  "appliance",
] as const;

export type EventKind = (typeof EVENT_KINDS)[number];

export type EventDetails = Readonly<
  Record<string, string | number | boolean | null | readonly string[]>
>;

/** All that is said of one type of event, besides what it changes. */
export interface EventRow<E> {
  readonly kind: EventKind;
  /**
   * Whether the event makes its line part of the audit log. All do except renewals, which would
   * fill the disk.
   */
  readonly isAudited: boolean | ((event: E) => boolean);
  /**
   * Whether it grants a slot or a count; absent: it does not. Any caller can cause new grants
   * without limit, and the audit log keeps them. A renewal needs a slot that was granted before.
   */
  readonly grants?: "new" | "renewal";
  /** The text shown for it. User and peer are shown beside it. */
  readonly summary: (event: E) => string;
  /**
   * Its data besides product, license, user and address, under the names of the API. Listed field
   * by field, so that nonces, codes and documents that are still usable stay out.
   */
  readonly details: (event: E) => EventDetails;
}

export type EventRows<T extends Event["type"]> = {
  readonly [K in T]: EventRow<Extract<Event, { readonly type: K }>>;
};

export const NO_DETAILS: EventDetails = {};
