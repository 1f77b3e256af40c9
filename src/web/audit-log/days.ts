import type { AuditEntryReply } from "../../http/audit-entry.ts";

export interface AuditDay {
  readonly day: string;
  /** The line it begins with, which tells it from another day of the same name. */
  readonly from: string;
  readonly events: readonly AuditEntryReply[];
}

const long = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });

/**
 * Runs of events of one day, in the order they have: a slot's end is told after it came, so a day
 * may turn up twice.
 */
export function groupByDay(events: readonly AuditEntryReply[]): AuditDay[] {
  const days: { day: string; from: string; events: AuditEntryReply[] }[] = [];
  for (const entry of events) {
    const day = long.format(new Date(entry.at));
    const last = days.at(-1);
    if (last?.day === day) last.events.push(entry);
    else days.push({ day, from: `${entry.seq}.${entry.event_index}`, events: [entry] });
  }
  return days;
}
