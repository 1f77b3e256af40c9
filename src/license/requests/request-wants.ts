import { Value } from "@sinclair/typebox/value";
import type { RequestWants } from "../../domain/model/state.ts";
import { RequestWantsDocument } from "./request.ts";

/**
 * What a site asks for, as one line: its own words, which nothing confirms. The note is quoted, so
 * that its end can be seen. Null: the site asks for nothing.
 */
export function describeWants(wants: RequestWants | undefined): string | null {
  if (wants === undefined) return null;
  const { slots, until, note } = wants;
  const parts = [
    slots !== undefined && `${slots} ${slots === 1 ? "slot" : "slots"}`,
    until !== undefined && `until ${until}`,
    note !== undefined && `note: ${JSON.stringify(note)}`,
  ];
  return `the site asks for (not verified): ${parts.filter((part) => part !== false).join(", ")}`;
}

/** The same of a payload that was not checked; null if it has no valid wishes. */
export function describeUncheckedWants(payload: unknown): string | null {
  const wants = (payload as { wants?: unknown } | null)?.wants;
  return Value.Check(RequestWantsDocument, wants) ? describeWants(wants) : null;
}
