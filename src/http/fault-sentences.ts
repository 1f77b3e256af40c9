import type { Instant } from "../domain/time.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import type { WireFault } from "./faults.ts";

export const NOT_HELD = {
  license: "the user holds no slot of the license; call register first",
  feature: "the user holds no slot of the feature",
};

export const BUSY = {
  requests: "too many requests at once; try again",
  streams: "too many open status streams; close one of them",
};

export function wrongTypes({
  fields,
  numbers = [],
  booleans = [],
}: Extract<WireFault, { readonly code: "invalid_type" }>): string {
  const kinds: [readonly string[], string][] = [
    [fields, "a string"],
    [numbers, "a whole number"],
    [booleans, "true or false"],
  ];
  const wrong = kinds.filter(([names]) => names.length > 0);
  return wrong.map(([names, kind]) => `${list(names)} must be ${kind}`).join("; ");
}

export function noSlot(slots: number, nextFree: Instant | null): string {
  const taken = slots === 1 ? "the only slot is taken" : `all ${slots} slots are taken`;
  if (slots === 0) return "the license has no slots";
  return nextFree === null ? taken : `${taken}; the next one comes free by ${rfc3339(nextFree)}`;
}

export const list = (words: readonly string[]): string =>
  words.length < 2 ? (words[0] ?? "") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
