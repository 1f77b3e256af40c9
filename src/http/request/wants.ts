import { limits } from "../../domain/model/limits.ts";
import type { WantedHosts } from "../../domain/licenses/requested-pair.ts";
import type { RequestWants } from "../../domain/model/state.ts";
import { DAY, type Instant } from "../../domain/time.ts";
import { INVISIBLE } from "../../domain/text/invisible-characters.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { refuse } from "../faults.ts";
import { parseTimestamp } from "../timestamps.ts";

interface WantedFields {
  readonly wanted_slots?: string | undefined;
  readonly wanted_until?: string | undefined;
  readonly note?: string | undefined;
}

/** What a request asks for; without members if it asks for nothing. */
export function readWants(
  { wanted_slots, wanted_until, note }: WantedFields,
  now: Instant,
): RequestWants {
  return {
    ...(hasValue(wanted_slots) && { slots: readSlots(wanted_slots) }),
    ...(hasValue(wanted_until) && { until: readLastDay(wanted_until, now) }),
    ...(hasValue(note) && { note: readNote(note) }),
  };
}

/** How many hosts the license is to be for; null: as many as the installed one. */
export function readHosts(text: string | undefined): WantedHosts | null {
  if (!hasValue(text)) return null;
  if (text === "1" || text === "2") return text === "1" ? 1 : 2;
  return refuse({ code: "invalid_parameter", field: "hosts", expected: "1 or 2" });
}

const hasValue = (value: string | undefined): value is string =>
  value !== undefined && value.trim() !== "";

function readSlots(text: string): number {
  const slots = /^[1-9]\d{0,12}$/.test(text) ? Number(text) : Number.NaN;
  if (slots <= limits.wantedSlots) return slots;
  return refuse({
    code: "invalid_parameter",
    field: "wanted_slots",
    expected: `a whole number from 1 to ${limits.wantedSlots}`,
  });
}

/** A license is valid to the end of its last day in UTC, so the current day is the first one. */
function readLastDay(text: string, now: Instant): string {
  const start = parseTimestamp(`${text}T00:00:00Z`);
  if (start !== null && start + DAY > now) return text;
  const today = rfc3339(now).slice(0, "2027-12-31".length);
  const expected = start === null ? "a day such as 2027-12-31" : `${today} or a later day`;
  return refuse({ code: "invalid_parameter", field: "wanted_until", expected });
}

/** One line: the desk shows it within a line. */
function readNote(text: string): string {
  if (!text.isWellFormed() || INVISIBLE.test(text))
    refuse({ code: "invalid_characters", field: "note" });
  const note = text.trim().normalize("NFC");
  if (note.length <= limits.requestNoteLength) return note;
  const expected = `at most ${limits.requestNoteLength} characters`;
  return refuse({ code: "invalid_parameter", field: "note", expected });
}
