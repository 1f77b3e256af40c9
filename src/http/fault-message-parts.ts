import type { Instant } from "../domain/time.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import type { AnyFault, FaultCode, RequestFault } from "./faults.ts";

export type FaultWithCode<C extends FaultCode> = Extract<AnyFault, { readonly code: C }>;

export interface FaultMessage<C extends FaultCode> {
  readonly status: number;
  /** Says what helps. Never repeats input from the request and never quotes an exception. */
  readonly message: (
    fault: [FaultWithCode<C>] extends [never] ? AnyFault : FaultWithCode<C>,
  ) => string;
}

export type FaultMessages = { readonly [C in FaultCode]: FaultMessage<C> };

export const NO_SLOT_HELD_MESSAGES = {
  license: "the user holds no slot of the license; call register first",
  feature: "the user holds no slot of the feature",
};

export const TOO_MANY_REQUESTS_MESSAGES = {
  requests: "too many requests at once; try again",
  streams: "too many open status streams; close one of them",
};

export function formatWrongTypes({
  fields,
  numbers = [],
  booleans = [],
}: Extract<RequestFault, { readonly code: "invalid_type" }>): string {
  const kinds: [readonly string[], string][] = [
    [fields, "a string"],
    [numbers, "a whole number"],
    [booleans, "true or false"],
  ];
  const violated = kinds.filter(([names]) => names.length > 0);
  return violated.map(([names, kind]) => `${formatList(names)} must be ${kind}`).join("; ");
}

export function formatNoFreeSlot(slots: number, nextFree: Instant | null): string {
  if (slots === 0) return "the license has no slots";
  const reason = slots === 1 ? "the only slot is taken" : `all ${slots} slots are taken`;
  if (nextFree === null) return reason;
  return `${reason}; the next one is free at ${rfc3339(nextFree)} unless it is renewed`;
}

export const formatList = (items: readonly string[]): string =>
  items.length < 2 ? (items[0] ?? "") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
