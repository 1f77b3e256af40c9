import type { AuditEntryReply } from "../../http/routes/audit/audit-entry.ts";

export interface AuditDay {
  readonly day: string;
  /** Its first entry, which distinguishes two groups of the same day. */
  readonly from: string;
  readonly events: readonly AuditEntryReply[];
}

const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });

/**
 * Groups consecutive events of one day and keeps their order. The end of a slot is logged after it
 * happened, so a day can occur twice.
 */
export function groupByDay(events: readonly AuditEntryReply[]): AuditDay[] {
  const days: { day: string; from: string; events: AuditEntryReply[] }[] = [];
  for (const entry of events) {
    const day = dayFormat.format(new Date(entry.at));
    const last = days.at(-1);
    if (last?.day === day) last.events.push(entry);
    else days.push({ day, from: `${entry.seq}.${entry.event_index}`, events: [entry] });
  }
  return days;
}
